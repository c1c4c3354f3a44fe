"""A disk that refuses: the recorded program goes on, and what could not be kept is said."""

import resource
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from inspector.capture.capture import End, Endpoint, Event, Header
from inspector.capture.errors import StoreError
from inspector.files.store import load, open_writer, save
from inspector.net.tap import FolderSink
from tests.support.answers import CHAT, DONE_EVENT, STREAM_EVENTS, answering
from tests.support.command import ROOT
from tests.support.raw_server import raw_server

STREAM_BYTES = b"".join([*STREAM_EVENTS, DONE_EVENT])
PROGRAM = """
import sys, inspector
with inspector.recording_client(sys.argv[1]) as http:
    for _ in range(2):
        sys.stdout.buffer.write(http.post(sys.argv[2], json={"model": "m"}).content)
"""


@pytest.mark.slow
@pytest.mark.parametrize("room_bytes", [0, 1, 100, 700])
def test_a_full_disk_does_not_reach_the_program_that_is_recorded(room_bytes: int, tmp_path: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room_bytes, room_bytes))

    with raw_server(answering([*STREAM_EVENTS, DONE_EVENT])) as server:
        completed = subprocess.run(
            [sys.executable, "-B", "-c", PROGRAM, str(tmp_path / "out.jsonl"), server.address + CHAT],
            capture_output=True,
            cwd=ROOT,
            preexec_fn=limit,
            timeout=180,
            check=False,
        )
    assert (completed.returncode, completed.stdout) == (0, STREAM_BYTES * 2)
    stderr = completed.stderr.decode()
    assert stderr.count("cannot be written") == 2
    assert "Traceback" not in stderr
    for file in tmp_path.iterdir():
        assert load(file).end is None


def test_a_file_without_room_for_its_header_is_not_left_behind(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be written"):
        open_writer("/dev/full/../full/x.jsonl", Header(endpoint=Endpoint.CHAT))
    file = tmp_path / "x.jsonl"
    program = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
        "from inspector.files.store import open_writer; from inspector.capture.capture import *\n"
        f"open_writer({str(file)!r}, Header(endpoint=Endpoint.CHAT))"
    )
    completed = subprocess.run(
        [sys.executable, "-B", "-c", program], capture_output=True, cwd=ROOT, check=False
    )
    assert b"StoreError" in completed.stderr.splitlines()[-1]
    assert not file.exists()


def test_a_folder_that_is_removed_is_not_reported_as_whole(tmp_path: Path) -> None:
    lines: list[str] = []
    sink = FolderSink(tmp_path / "captures", say=lines.append)
    run = sink.opened(Header(endpoint=Endpoint.CHAT))
    sink.event(run, Event("{}"))
    shutil.rmtree(tmp_path / "captures")
    sink.ended(run, End(at_s=1.0, cut=False))
    (line,) = lines
    assert "recording stopped after 1 events" in line
    assert "was removed while it was being written" in line


def test_captures_are_for_their_owner_alone(tmp_path: Path) -> None:
    header = Header(endpoint=Endpoint.CHAT)
    sink = FolderSink(tmp_path / "captures")
    sink.ended(sink.opened(header), End(at_s=1.0, cut=False))
    (recorded,) = (tmp_path / "captures").iterdir()
    capture = load(recorded)
    save(capture, tmp_path / "saved.jsonl")
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (recorded, tmp_path / "saved.jsonl")]
    assert [oct(mode) for mode in modes] == ["0o600", "0o600"]
    assert oct(stat.S_IMODE((tmp_path / "captures").stat().st_mode)) == "0o700"
