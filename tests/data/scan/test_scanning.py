"""Scans again, after changes, after a kill, and with processes that die."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import count
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from inspector.capture.errors import InspectorError, StoreError
from inspector.data.scan import Library, Progress, folder, pooling, progress_words, scan, summarise
from inspector.data.scan.columns import CAPTURES, Table
from inspector.data.scan.folder import Manifest, ScanFolder, read_manifest
from inspector.data.scan.items import ScanItem
from inspector.data.scan.pooling import Batch, here, pooled
from inspector.data.scan.rows import Rows, rows_of_batch
from inspector.files.store import FIXTURES
from tests.support.archives import id_lists, items_of, rows_in, scanned
from tests.support.command import ROOT


def test_a_second_scan_reads_what_changed_and_drops_what_is_gone(tmp_path: Path) -> None:
    first, second, *_ = paths = id_lists(tmp_path / "in", 5)
    out = tmp_path / "out"
    before = scanned(out, tmp_path / "in")
    assert [row["name"] for row in before] == [path.name for path in paths]
    assert scan([], out, jobs=1).files == 0  # the places of the first scan
    assert rows_in(out) == before

    first.write_text("[200002]")
    second.unlink()
    (tmp_path / "in" / "new.json").write_text("no capture")
    progress = scan([], out, jobs=1)
    assert (progress.files, progress.skipped, progress.removed, progress.unread) == (2, 3, 1, 1)
    after = {row["name"]: row for row in rows_in(out)}
    assert list(after) == ["ids-0000.json", "ids-0002.json", "ids-0003.json", "ids-0004.json", "new.json"]
    assert after["ids-0000.json"]["tokens"] == 1
    assert after["new.json"]["verdict"] == "unread"
    assert [row for row in before if row["name"] > "ids-0001.json"] == [
        row for row in after.values() if "ids-0001.json" < row["name"] < "new.json"
    ]


def test_a_scan_that_was_killed_does_not_look_complete(tmp_path: Path) -> None:
    id_lists(tmp_path / "in", 3)
    out = tmp_path / "out"

    def killed(batches: Iterable[Batch]) -> Iterator[tuple[Batch, Rows]]:
        for batch in batches:
            yield batch[:1], rows_of_batch(batch[:1])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        scan([str(tmp_path / "in")], out, runner=killed)
    with Library(out) as library:
        summary = summarise(library)
    assert (summary.complete, summary.counts.captures) == (False, 1)
    assert summary.sentence.startswith("This scan is not complete")
    scan([], out, jobs=1)
    with Library(out) as library:
        assert summarise(library).complete


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("sizes.txt", "1 2 3", "numbers without a special token"),
        ("job.json", '{"error": "disk full", "job": 7}', "no server of gpt-oss sends"),
        ("job.json", '{"error": {"path": "/tmp"}}', "no server of gpt-oss sends"),
    ],
)
def test_files_that_happen_to_have_numbers_or_an_error_are_no_captures(
    tmp_path: Path, name: str, content: str, why: str
) -> None:
    (tmp_path / name).write_text(content)
    [row] = scanned(tmp_path / "out", tmp_path)
    assert (row["verdict"], why in row["error"]) == ("unread", True)


def test_an_error_of_a_server_is_a_capture(tmp_path: Path) -> None:
    (tmp_path / "e.json").write_text(
        '{"error": {"message": "too long", "type": "BadRequestError", "code": 400}}'
    )
    [row] = scanned(tmp_path / "out", tmp_path)
    assert row["verdict"] == "error"


def test_an_empty_place_is_not_the_working_directory(tmp_path: Path) -> None:
    with pytest.raises(InspectorError, match="a place is empty"):
        scan([""], tmp_path / "out")


def test_findings_go_with_their_captures(tmp_path: Path) -> None:
    for name in ("chat-tool-call-leak-vllm-0.14.1.jsonl", "chat-tool-call-dropped-vllm-0.13.0.jsonl"):
        (tmp_path / name).write_bytes((FIXTURES / name).read_bytes())
    out = tmp_path / "out"
    scanned(out, tmp_path)
    assert len({row["capture"] for row in rows_in(out, Table.FINDINGS)}) == 2
    (tmp_path / "chat-tool-call-leak-vllm-0.14.1.jsonl").unlink()
    [left] = scanned(out, tmp_path)
    assert {row["capture"] for row in rows_in(out, Table.FINDINGS)} == {left["id"]}


def test_again_reads_everything_and_so_does_another_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    id_lists(tmp_path / "in", 3)
    out = tmp_path / "out"
    before = scanned(out, tmp_path / "in")
    assert scan([], out, jobs=1, again=True).files == 3
    assert rows_in(out) == before
    monkeypatch.setattr(folder, "code_hash", lambda: "another")
    assert scan([], out, jobs=1).files == 3
    assert rows_in(out) == before


def test_what_could_not_be_fetched_is_tried_again_and_what_is_broken_is_not(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text("{}")
    (tmp_path / "gone.json").symlink_to(tmp_path / "nothing")
    out = tmp_path / "out"
    assert [row["digest"] is None for row in scanned(out, tmp_path)] == [False, True]
    assert scan([], out, jobs=1).files == 1


def test_small_parts_become_large_ones(tmp_path: Path) -> None:
    paths = id_lists(tmp_path / "in", 6)
    out = tmp_path / "out"
    for number in (2, 4, 6):
        rows = scanned(out, *paths[:number])
        assert len(rows) == number
        assert len(read_manifest(out).parts) == 1
    written = {path.name for path in out.iterdir()}
    [part] = read_manifest(out).parts
    assert written == {"scan.json", "scan.lock", f"captures-{part}.parquet", f"findings-{part}.parquet"}
    assert {path.stat().st_mode & 0o777 for path in out.iterdir()} == {0o600}


def test_the_places_are_those_of_the_folder_where_the_scan_ran(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    id_lists(tmp_path / "in", 2)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    before = scanned(tmp_path / "out", "in/*0.json", "./in")
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert scan([], tmp_path / "out", jobs=1).skipped == 2
    assert rows_in(tmp_path / "out") == before


KILLED = """
import itertools, os, signal, sys
from pathlib import Path
from inspector.data.scan import scan

def tell(far):
    if far.done >= 128:
        os.kill(os.getpid(), signal.SIGKILL)

if __name__ == "__main__":
    seconds = itertools.count(0, 40)
    scan([sys.argv[1]], Path(sys.argv[2]), jobs=2, tell=tell, clock=lambda: float(next(seconds)))
"""


@pytest.mark.slow
def test_a_scan_that_was_killed_goes_on_and_leaves_no_process(tmp_path: Path) -> None:
    id_lists(tmp_path / "in", 300)
    out, script = tmp_path / "out", tmp_path / "killed.py"
    script.write_text(KILLED)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    completed = subprocess.run(
        [sys.executable, script, tmp_path / "in", out],
        env=environment, capture_output=True, timeout=180, check=False,
    )  # fmt: skip
    # Its processes have standard error too: it is at its end only when all of them have ended.
    assert completed.returncode == -signal.SIGKILL, completed.stderr.decode()
    manifest = read_manifest(out)
    assert manifest.finished_at is None
    stored = len(rows_in(out))
    assert 0 < stored < 300
    (out / "captures-999999.parquet.0a1b2c3d.part").write_bytes(b"PAR1 what a kill cut off")
    (out / "findings-999998.parquet").write_bytes(b"PAR1 what no list names")

    progress = scan([str(tmp_path / "in")], out, jobs=1)
    assert (progress.skipped, progress.files) == (stored, 300 - stored)
    assert rows_in(out) == scanned(tmp_path / "anew", tmp_path / "in")
    assert read_manifest(out).finished_at is not None
    assert not [path for path in out.iterdir() if "99999" in path.name]


def exit_on_bad_item(batch: Sequence[ScanItem]) -> Rows:
    """What the system does to a process that needs too much memory."""
    if any(item.name == "ids-0003.json" for item in batch):
        os.kill(os.getpid(), signal.SIGKILL)
    return rows_of_batch(batch)


@pytest.mark.slow
def test_a_process_that_ends_takes_only_its_file_along(tmp_path: Path) -> None:
    id_lists(tmp_path / "in", 8)
    items = items_of(tmp_path / "in")
    batches = [items[start : start + 4] for start in range(0, 8, 4)]
    rows = [row for _, batch_rows in pooled(batches, 1, exit_on_bad_item) for row in batch_rows.captures]
    expected = [row for _, batch_rows in here(batches) for row in batch_rows.captures]
    assert len(rows) == 8
    alike = {row[0]: row for row in expected}
    differing = [row for row in rows if row != alike[row[0]]]
    assert [row[4] for row in differing] == ["ids-0003.json"]
    error = differing[0][[column.name for column in CAPTURES].index("error")]
    assert "was killed, probably for lack of memory" in error


def test_processes_that_cannot_start_are_no_fault_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pooling, "prepare", partial(os._exit, 1))
    id_lists(tmp_path / "in", 65)
    with pytest.raises(InspectorError, match=r"worker processes fail to start; .* \(--jobs 1\)"):
        scan([str(tmp_path / "in")], tmp_path / "out", jobs=2)
    assert rows_in(tmp_path / "out") == []


def test_an_interrupt_keeps_what_was_read(tmp_path: Path) -> None:
    id_lists(tmp_path / "in", 200)

    def on_progress(progress: Progress) -> None:
        if progress.done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        scan([str(tmp_path / "in")], tmp_path / "out", jobs=1, tell=on_progress)
    read = len(rows_in(tmp_path / "out"))
    assert 0 < read < 200
    assert scan([], tmp_path / "out", jobs=1).skipped == read


def test_rows_reach_the_disk_while_the_scan_goes_on(tmp_path: Path) -> None:
    id_lists(tmp_path / "in", 200)
    out, row_counts = tmp_path / "out", []
    seconds = count(0, 20)

    def on_progress(progress: Progress) -> None:
        if progress.done:
            row_counts.append(len(rows_in(out)))

    scan([str(tmp_path / "in")], out, jobs=1, tell=on_progress, clock=lambda: float(next(seconds)))
    assert row_counts[0] == 0
    assert row_counts[-1] >= 128


def test_two_scans_do_not_write_one_folder(tmp_path: Path) -> None:
    id_lists(tmp_path / "in", 1)
    locked = ScanFolder(tmp_path / "out")
    with pytest.raises(StoreError, match="another scan is writing here"):
        scan([str(tmp_path / "in")], tmp_path / "out", jobs=1)
    locked.close()
    assert len(scanned(tmp_path / "out", tmp_path / "in")) == 1


def test_folders_that_are_no_scan_are_left_alone(tmp_path: Path) -> None:
    foreign_file = tmp_path / "captures-000001.parquet"
    foreign_file.write_bytes(b"another program's")
    with pytest.raises(StoreError, match="Parquet files of another program"):
        scan([str(tmp_path)], tmp_path, jobs=1)
    assert foreign_file.exists()
    with pytest.raises(InspectorError, match="nothing to scan"):
        scan([], tmp_path / "out")
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        scan([str(tmp_path / "file")], tmp_path / "file")


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "null",
        "[" * 100_000,
        '{"harmony_scan": 1, "parts": null}',
        '{"harmony_scan": 2}',
        '{"harmony_scan": 1, "places": [], "code": "", "started_at": "", "finished_at": null, "ignored": {}, '
        '"parts": ["../../x"]}',
    ],
)
def test_a_damaged_list_of_parts_is_said(content: str, tmp_path: Path) -> None:
    (tmp_path / "scan.json").write_text(content)
    with pytest.raises(StoreError, match=r"is not the list of a scan|another version"):
        read_manifest(tmp_path)


def test_a_damaged_part_is_said(tmp_path: Path) -> None:
    id_lists(tmp_path / "in", 1)
    out = tmp_path / "out"
    scanned(out, tmp_path / "in")
    [part] = read_manifest(out).parts
    (out / f"captures-{part}.parquet").write_bytes(b"PAR1")
    with pytest.raises(StoreError, match=r"cannot be compared with the rows .*; scan again with --again"):
        scan([], out, jobs=1)
    assert scan([], out, jobs=1, again=True).files == 1
    assert len(rows_in(out)) == 1


def test_a_part_with_other_columns_is_said(tmp_path: Path) -> None:
    [path] = id_lists(tmp_path / "in", 1)
    out = tmp_path / "out"
    scanned(out, tmp_path / "in")
    [part] = read_manifest(out).parts
    findings = out / f"findings-{part}.parquet"
    pq.write_table(pq.read_table(findings).drop_columns(["capture"]), findings)
    path.write_text("[200002]")
    with pytest.raises(StoreError, match=r"a part cannot be read \(it has other columns\)"):
        scan([], out, jobs=1)


def test_progress_has_a_rate_and_the_time_left() -> None:
    progress = Progress(files=100, skipped=7, removed=0, size=1000)
    assert progress_words(progress) == "0 of 100 files · 0 with errors · 7 unchanged"
    progress.done, progress.done_size, progress.errors, progress.unread, progress.elapsed_s = (
        50,
        250,
        3,
        1,
        2.0,
    )
    assert (
        progress_words(progress)
        == "50 of 100 files · 3 with errors · 1 unreadable · 25 files/s · 6,000 ms left · 7 unchanged"
    )


def test_the_list_of_parts_is_json_that_other_programs_read(tmp_path: Path) -> None:
    id_lists(tmp_path / "in", 1)
    (tmp_path / "in" / "notes.md").write_text("x")
    scanned(tmp_path / "out", tmp_path / "in")
    parts_list = json.loads((tmp_path / "out" / "scan.json").read_text())
    assert parts_list["parts"] == ["000001"]
    assert parts_list["ignored"] == {".md": 1}
    assert read_manifest(tmp_path / "out") != Manifest()
