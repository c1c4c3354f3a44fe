"""A response that the user stopped: that is no failure of the server, and what came until then is judged."""

from dataclasses import replace

import pytest

import inspector
from inspector import Kind, Level
from inspector.capture.capture import End, render
from tests.support.streams import Step, chat

STEPS: list[Step] = [
    ("<|channel|>final<|message|>", {}),
    ("One", {"content": "One"}),
    (" two", {"content": " two"}),
]


def inspected(*, stopped: bool, detail: str = "", steps: list[Step] = STEPS) -> inspector.Inspection:
    capture = chat(steps, finish=None, done=False)
    end = End(at_s=1.0, cut=True, detail=detail, stopped=stopped)
    return inspector.inspect(replace(capture, end=end))


def test_a_response_that_the_user_stopped_is_not_disconnected() -> None:
    inspection = inspected(stopped=True)
    assert inspection.findings == []
    assert inspection.verdict.level is Level.CLEAN
    count = len(inspection.reading.choice.tokens)
    assert inspection.verdict.sentence == f"Stopped by you after {count} tokens; nothing was lost until then."


def test_what_was_lost_before_is_told() -> None:
    steps = [*STEPS, (" three", {}), (" four", {"content": " four"})]
    inspection = inspected(stopped=True, steps=steps)
    assert [finding.kind for finding in inspection.findings] == [Kind.DROPPED]
    assert inspection.verdict.level is Level.ERROR
    assert inspection.verdict.why.startswith("Stopped by you after ")


def test_a_connection_that_broke_is_still_disconnected() -> None:
    for detail in ("peer closed connection", "the client closed the connection", "stopped by you", ""):
        inspection = inspected(stopped=False, detail=detail)
        assert [finding.kind for finding in inspection.findings] == [Kind.DISCONNECTED]


def test_the_end_of_a_file_says_so_too() -> None:
    end = End(at_s=1.0, cut=True, detail="any words", stopped=True)
    capture = replace(chat(STEPS, finish=None, done=False), end=end)
    lines = "".join(f"{line}\n" for line in render(capture)).encode()
    again = inspector.loads(lines, "run.jsonl")
    assert again.end == end


@pytest.mark.parametrize(
    ("line", "stopped"),
    [
        ('{"t": 1.0, "end": "cut", "detail": "stopped by the client"}', True),
        ('{"t": 1.0, "end": "cut", "detail": "stopped by you"}', True),
        ('{"t": 1.0, "end": "cut", "detail": "stopped by you", "stopped": false}', False),
        ('{"t": 1.0, "end": "cut", "detail": "peer closed connection"}', False),
        ('{"t": 1.0, "end": "closed", "stopped": true}', False),
        ('{"t": 1.0, "end": "cut", "stopped": "yes"}', False),
    ],
)
def test_files_from_before_the_key_say_so_in_words(line: str, stopped: bool) -> None:
    capture = inspector.loads(f'{{"harmony_capture": 1, "endpoint": "chat"}}\n{line}\n'.encode(), "f")
    assert capture.end is not None
    assert capture.end.stopped is stopped
