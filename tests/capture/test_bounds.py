"""Small files that stand for much work: read below a ceiling of CPU time and memory, or refused.

The ceilings are ten times what reading takes: a slow machine passes, work without a bound does not.
"""

import gzip
import json
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import zstandard

from inspector.analysis.audit.verdict import Level
from inspector.capture.bounds import CAPTURES, EVENTS, FINDINGS, LINES, TOKENS
from inspector.capture.capture import Capture, End, Endpoint, Event, Header
from inspector.capture.errors import CaptureError
from inspector.files.store import loads, loads_all
from inspector.inspection.inspection import Inspection, inspect
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.vocab import encode, encode_plain, is_endless

ROOT = Path(__file__).parents[2]
CPU_S = 120
MEMORY_BYTES = 4 * 2**30

CHUNK = "chat.completion.chunk"
FIRST = (
    b'data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"x"},'
    b'"token_ids":[87]}]}\n\n'
)
OWN = b'{"harmony_capture":1,"endpoint":"chat"}\n'


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def chunk(delta: dict[str, Any], ids: Sequence[int] = (), index: int = 0) -> Event:
    choice = {"index": index, "delta": delta, "token_ids": list(ids)}
    return Event(json.dumps({"object": CHUNK, "choices": [choice]}))


def inspected(events: Sequence[Event], finish: str = "stop") -> Inspection:
    last = {
        "object": CHUNK,
        "choices": [{"index": 0, "delta": {}, "finish_reason": finish}],
    }
    ended = [*events, Event(json.dumps(last)), Event("[DONE]")]
    end = End(at_s=None, cut=False)
    return inspect(Capture(header=Header(endpoint=Endpoint.CHAT), events=ended, end=end))


# -- bombs --------------------------------------------------------------------------------------------


def bombs() -> dict[str, tuple[bytes, str]]:
    """Contents, and words of the sentence that refuses each."""
    return {
        "comments": (FIRST + b":\n" * 10_500_000, "lines"),
        "fewer comments": (FIRST + b":\n" * (EVENTS + 1), "events"),
        "blank lines": (FIRST + b"\n" * (LINES + 1), "lines"),
        "carriage returns": (FIRST + b"\r" * (2 * LINES + 1), "lines"),
        "tiny events": (FIRST + b"data:\n\n" * (EVENTS + 1), "events"),
        "responses": ((FIRST + b"data: [DONE]\n\n") * (CAPTURES + 1), "responses"),
        "ends": (FIRST + b"data: [DONE]\n\n" * 150_000, "responses"),
        "ids as JSON": (b"[" + b"1," * TOKENS + b"1]", "token IDs"),
        "ids as text": (b"1 " * (TOKENS + 1), "token IDs"),
        "blank lines of a capture": (OWN + b"\n" * 10_000_000, "lines"),
        "events of a capture": (OWN + b'{"data":""}\n' * (EVENTS + 2), "lines"),
        "much of anything": (FIRST + b"data: " + b"x" * 100 * 2**20, "MiB when decompressed"),
    }


@pytest.mark.slow
def test_bombs_are_refused_in_one_sentence_below_a_ceiling_of_time_and_memory(tmp_path: Path) -> None:
    names, contents = [], bombs()
    for number, (plain, _) in enumerate(contents.values()):
        content = gzip.compress(plain, 5) if number % 2 else zstandard.compress(plain)
        assert len(content) < 2**20
        names.append(str(tmp_path / f"{number}.bin"))
        Path(names[-1]).write_bytes(content)

    def limits() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))

    completed = subprocess.run(
        [sys.executable, "-m", "inspector", "audit", *names],
        capture_output=True,
        text=True,
        cwd=ROOT,
        preexec_fn=limits,
        check=False,
    )
    error_lines = completed.stderr.splitlines()
    assert (completed.returncode, len(error_lines), completed.stdout) == (2, len(contents), "")
    for line, (bomb, (_, words)) in zip(error_lines, contents.items(), strict=True):
        assert words in line, (bomb, line)


def test_what_lies_just_below_the_bounds_is_read() -> None:
    capture = loads(FIRST + b":\n" * 1000 + b"\n" * 1000 + b"data: [DONE]\n\n", "f")
    assert len(capture.events) == 1002
    assert len(loads_all((FIRST + b"data: [DONE]\n\n") * 50, "f")) == 50


# -- bounds inside a response ------------------------------------------------------------------------


def test_a_response_of_more_ids_than_are_read_is_unknown_and_accuses_nobody() -> None:
    ids = [87] * (TOKENS // 2 + 1)
    inspection = inspected([chunk({"content": "x"}, ids), chunk({"content": "y"}, ids)])
    assert (inspection.verdict.level, inspection.findings) == (Level.UNKNOWN, [])
    assert f"more than {TOKENS:,} token IDs" in inspection.verdict.sentence


def test_more_choices_than_are_read_are_unknown_and_accuse_nobody() -> None:
    body = [*encode("<|channel|>final<|message|>x<|return|>")]
    inspection = inspected([chunk({"content": "x"}, body, index) for index in range(1030)])
    assert (inspection.verdict.level, inspection.findings) == (Level.UNKNOWN, [])
    assert "Only the first 1,024 choices" in inspection.verdict.sentence


@pytest.mark.slow
def test_findings_are_listed_to_a_bound_and_counted_beyond() -> None:
    head, text = encode("<|start|>assistant<|channel|>final<|message|>"), encode("hi")
    lost = [chunk({}, [*head, *text, 200007]) for _ in range(FINDINGS + 5)]
    delivered = [chunk({"content": "hi"}, [*head, *text, 200007]) for _ in range(FINDINGS + 5)]
    inspection = inspected([event for pair in zip(lost, delivered, strict=True) for event in pair])
    assert len(inspection.findings) == FINDINGS
    assert any(f"first {FINDINGS:,} of" in note for note in inspection.notes)
    assert f"{FINDINGS + 5:,} tokens" in inspection.verdict.sentence


# -- reading is linear -------------------------------------------------------------------------------


def looping_channels(count: int) -> Inspection:
    return inspect(loads(json.dumps([200005, 64] * count).encode(), "f"))


def looping_starts(count: int) -> Inspection:
    return inspect(loads(json.dumps([200006, 64] * count).encode(), "f"))


def long_delta(count: int) -> Inspection:
    return inspected([chunk({}, [200005, 17196, 200008]), chunk({"content": "z" * count}, [89] * 50)])


def long_step(count: int) -> Inspection:
    return inspected([chunk({}, [200005, 17196, 200008]), chunk({"content": "z"}, [89] * count)])


def tool_calls(count: int) -> Inspection:
    head = encode("<|start|>assistant<|channel|>commentary to=functions.f<|message|>{}<|call|>")
    call = {"type": "function", "function": {"name": "f", "arguments": "{}"}}
    calls = [{"tool_calls": [{"index": number, "id": f"c{number}", **call}]} for number in range(count)]
    return inspected(
        [chunk(delta, head if number else head[2:]) for number, delta in enumerate(calls)], "tool_calls"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("read", "size"),
    [
        (looping_channels, 100_000),
        (looping_starts, 100_000),
        (long_delta, 200_000),
        (long_step, 200_000),
        (tool_calls, 10_000),
    ],
)
def test_reading_takes_time_in_proportion(read: Any, size: int) -> None:
    read(100)  # loads the vocabulary and the catalogue
    start = cpu_s()
    read(size // 10)
    tenth = cpu_s() - start
    read(size)
    full_s = cpu_s() - start - tenth
    assert full_s < 40 * max(tenth, 0.1), (tenth, full_s)


def test_many_tool_calls_accuse_nobody() -> None:
    inspection = tool_calls(5000)
    assert (inspection.verdict.level, inspection.findings) == (Level.CLEAN, [])


def test_an_endless_header_is_read_to_its_end_without_the_reference_parser() -> None:
    inspection = looping_channels(10_000)
    assert [finding.kind.value for finding in inspection.findings] == ["truncated"]
    closed = inspect(loads(json.dumps([200005, 64] * 10_000 + [200008, 64, 200002]).encode(), "f"))
    assert [finding.kind.value for finding in closed.findings][:1] == ["bad_header"]
    assert "more than 4,096 tokens" in str(closed.findings[0].delivered)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    ["z" * 50_000, "a\u0301" * 30_000, "!" * 50_000, " " * 50_000, "漢" * 30_000],
    ids=lambda text: ascii(text[:2]),
)
def test_an_endless_word_is_encoded_whole_and_in_time(text: str) -> None:
    start = cpu_s()
    assert text_of(encode_plain(text)) == text
    assert cpu_s() - start < 10
    assert is_endless(text)
    assert not is_endless("words of a usual length, 漢字。" * 5000)


def test_a_bound_is_told_with_the_name_of_the_file() -> None:
    with pytest.raises(CaptureError, match=r"^f: has more than .* keep only the request you need$"):
        loads_all(b"1 " * (TOKENS + 1), "f")
