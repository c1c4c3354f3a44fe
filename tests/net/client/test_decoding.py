"""Content codings for the record: every member, bounded steps, and a sentence for what is not read."""

import gzip
import resource
import zlib

import pytest
import zstandard

from inspector.analysis.audit.verdict import Level
from inspector.capture.bounds import EVENTS
from inspector.capture.capture import Capture, Endpoint, Header
from inspector.files.store import load, open_writer
from inspector.inspection.inspection import inspect
from inspector.net.client.decoding import STEP_BYTES, Undecodable, decoder
from inspector.net.client.recorder import Recorder
from tests.support.answers import DONE_EVENT, STREAM_EVENTS
from tests.support.listening import MemorySink

STREAM_BYTES = b"".join([*STREAM_EVENTS, DONE_EVENT])


def decoded(coding: str, raw: bytes, size: int) -> bytes:
    body_decoder = decoder(coding)
    steps = [step for at in range(0, len(raw), size) for step in body_decoder.receive(raw[at : at + size])]
    assert max(map(len, steps), default=0) <= STEP_BYTES
    return b"".join(steps)


@pytest.mark.parametrize("size", [1, 2, 7, 1000, 10**6])
@pytest.mark.parametrize(
    ("coding", "raw"),
    [
        ("gzip", gzip.compress(STREAM_BYTES)),
        ("x-gzip", gzip.compress(STREAM_BYTES)),
        ("GZip ", gzip.compress(STREAM_BYTES)),
        ("deflate", zlib.compress(STREAM_BYTES)),
        ("gzip", b"".join(gzip.compress(piece) for piece in [*STREAM_EVENTS, DONE_EVENT])),
        ("gzip", gzip.compress(STREAM_BYTES) + bytes(512)),
        ("gzip", STREAM_BYTES),
        ("identity", STREAM_BYTES),
        ("", STREAM_BYTES),
    ],
)
def test_every_member_is_decoded_however_it_is_cut(coding: str, raw: bytes, size: int) -> None:
    assert decoded(coding, raw, size) == STREAM_BYTES


def test_what_cannot_be_decoded_says_so() -> None:
    for coding in ("br", "zstd", "compress", "gzip, br", "\x1b[2J"):
        with pytest.raises(Undecodable):
            decoder(coding)
    packed = gzip.compress(bytes(2**20))
    broken = packed[: len(packed) // 2] + b"\xff" * 200 + packed[len(packed) // 2 + 200 :]
    with pytest.raises(Undecodable, match="its gzip coding is damaged"):
        decoded("gzip", broken, 64)


def recorded(raw: bytes, coding: str = "", kind: str = "text/event-stream", size: int = 4096) -> Capture:
    sink = MemorySink()
    recorder = Recorder(Header(endpoint=Endpoint.CHAT), sink)
    recorder.response(200, {"content-type": kind, "content-encoding": coding})
    for at in range(0, len(raw), size):
        recorder.chunk(raw[at : at + size])
    recorder.close()
    return sink.capture()


@pytest.mark.parametrize("coding", ["br", "zstd"])
def test_a_coding_that_nobody_asked_for_is_not_readable_here_and_accuses_nobody(coding: str) -> None:
    capture = recorded(zstandard.compress(STREAM_BYTES), coding)
    inspection = inspect(capture)
    assert capture.events == []
    assert (inspection.verdict.level, inspection.findings) == (Level.UNKNOWN, [])
    assert inspection.verdict.sentence == f"The response is not readable here: it is coded as '{coding}'."


def test_several_members_are_one_answer() -> None:
    inspection = inspect(
        recorded(b"".join(gzip.compress(piece) for piece in [*STREAM_EVENTS, DONE_EVENT]), "gzip")
    )
    assert (inspection.verdict.level, len(inspection.capture.events)) == (Level.CLEAN, len(STREAM_EVENTS) + 1)


BOMBS = {
    "one line": gzip.compress(b"data: ") + gzip.compress(bytes(2**20)) * 200,
    "comments": gzip.compress(b":\n" * (EVENTS + 1)),
    "blank lines": gzip.compress(b"\n" * 10**6) * 6,
    "long after the member": gzip.compress(STREAM_BYTES) + b"x" * (64 * 2**20),
}


@pytest.mark.slow
@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_is_recorded_to_a_bound_and_says_so(bomb: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF)
    capture = recorded(BOMBS[bomb], "gzip", size=65536)
    after = resource.getrusage(resource.RUSAGE_SELF)
    assert after.ru_utime - before.ru_utime < 60
    assert len(capture.events) <= EVENTS
    inspection = inspect(capture)
    if bomb == "long after the member":
        assert inspection.verdict.level is Level.CLEAN
    elif bomb == "one line":
        assert sum(len(event.data) for event in capture.events) <= 64 * 2**20
    else:
        assert (inspection.verdict.level, inspection.findings) == (Level.UNKNOWN, [])
        assert "the most that is recorded" in inspection.verdict.sentence


def test_a_long_body_that_is_no_stream_is_recorded_to_a_bound() -> None:
    inspection = inspect(recorded(b"x" * (65 * 2**20), kind="application/json", size=2**20))
    assert inspection.verdict.sentence == "The response is longer than 64 MiB, the most that is recorded."


def test_a_file_keeps_why_its_recording_ended(tmp_path: pytest.TempPathFactory) -> None:
    capture = recorded(b"x", "br")
    assert capture.end is not None
    path = f"{tmp_path}/one.jsonl"
    with open_writer(path, capture.header) as writer:
        writer.end(capture.end)
    assert load(path).end == capture.end
