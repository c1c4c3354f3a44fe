"""Files that were dropped add up: each is a row of the result, or counted among those left out."""

import zipfile
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.data.scan import Library, scan
from inspector.data.scan.jobs import ScanJobs
from inspector.data.scan.scanning import Progress, ScanStopped
from inspector.files.store import FIXTURES
from inspector.views.delivery import DAMAGED, Delivery
from tests.support.archives import id_lists, rows_in

NESTED = b"PK\x03\x04 an archive in an archive"
CONTENTS = (
    *(
        (FIXTURES / f"{name}.jsonl").read_bytes()
        for name in (
            "chat-tool-call-leak-vllm-0.14.1",
            "chat-whole-vllm-0.14.1",
            "chat-unexpected-token-swallowed-vllm-0.32.0",
            "chat-unexpected-token-200002-vllm-0.13.0",
        )
    ),
    b"[200005, 17196, 200008, 976, 200002]",
    b"1 2 3",
    b"notes",
    b"{}",
    b"",
    NESTED,
)
NAMES = st.from_regex(r"(runs/)?[a-zA-Z.~ é]{1,6}(\.jsonl|\.md|\.zip|\.gz|\.PNG|)", fullmatch=True)


@given(st.dictionaries(NAMES, st.sampled_from(CONTENTS), min_size=1, max_size=8))
def test_every_dropped_file_is_counted_once(files: dict[str, bytes]) -> None:
    with TemporaryDirectory() as folder:
        place, out = Path(folder, "dropped.zip"), Path(folder, "rows")
        with zipfile.ZipFile(place, "w") as archive:
            for name, content in files.items():
                archive.writestr(name, content)
        progress = scan([str(place)], out, jobs=1, every=True)
        with Library(out) as library:
            counts, left_out = library.counts(), library.manifest.ignored
        rows = rows_in(out)
    hidden = [name for name in files if name.rpartition("/")[2].startswith(".")]
    assert {row["member"] for row in rows} == set(files) - set(hidden)
    assert sum(left_out.values()) == len(hidden)
    assert sum(counts.deliveries.values()) + counts.unread == len(rows)
    others = sum(counts.deliveries.get(delivery, 0) for delivery in Delivery if delivery not in DAMAGED)
    assert counts.damaged + others == counts.captures
    assert progress.deliveries == Counter({delivery.value: n for delivery, n in counts.deliveries.items()})
    assert progress.unread == counts.unread
    assert all(row["error"] for row in rows if row["verdict"] == "unread")


def test_a_scan_that_is_stopped_keeps_what_it_has_read_and_goes_on_later(tmp_path: Path) -> None:
    id_lists(tmp_path / "in", 40)

    def stop(progress: Progress) -> None:
        if progress.done >= 10:
            raise ScanStopped

    with pytest.raises(ScanStopped):
        scan([str(tmp_path / "in")], tmp_path / "out", jobs=1, tell=stop)
    with Library(tmp_path / "out") as library:
        assert 10 <= library.counts().captures < 40
        assert library.manifest.finished_at is None
    job = ScanJobs().start((), tmp_path / "out")
    assert job.wait(60)
    with Library(tmp_path / "out") as library:
        assert library.counts().captures == 40


def test_a_job_says_why_it_failed_until_that_is_forgotten(tmp_path: Path) -> None:
    jobs = ScanJobs()
    job = jobs.start([str(tmp_path / "none")], tmp_path / "out")
    assert job.wait(60)
    assert "no such file or folder" in job.trouble
    assert jobs.below(tmp_path) is job
    jobs.forget(job)
    assert jobs.below(tmp_path) is None
