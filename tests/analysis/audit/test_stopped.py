"""A response that the user or a client stopped: no failure of the server; what came until then is judged."""

from dataclasses import replace

import pytest

import inspector
from inspector import Kind, Level
from inspector.capture.capture import ClosedBy, End, render
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
    for detail in ("peer closed connection", "stopped by you", ""):
        inspection = inspected(stopped=False, detail=detail)
        assert [finding.kind for finding in inspection.findings] == [Kind.DISCONNECTED]


@pytest.mark.parametrize("closed_by", ClosedBy)
def test_a_client_that_leaves_is_a_warning_that_accuses_nobody(closed_by: ClosedBy) -> None:
    capture = replace(
        chat(STEPS, finish=None, done=False), end=End(at_s=1.0, cut=True, detail="x", closed_by=closed_by)
    )
    inspection = inspector.inspect(capture)
    assert [finding.kind for finding in inspection.findings] == [Kind.ABORTED]
    assert inspection.verdict.level is Level.WARNING
    assert "the server" not in f"{inspection.verdict.sentence} {inspection.verdict.why}".lower()
    assert inspection.cause is None


def test_what_was_lost_before_a_client_left_is_still_an_error() -> None:
    steps = [*STEPS, (" three", {}), (" four", {"content": " four"})]
    end = End(at_s=1.0, cut=True, closed_by=ClosedBy.CLIENT)
    inspection = inspector.inspect(replace(chat(steps, finish=None, done=False), end=end))
    assert [finding.kind for finding in inspection.findings] == [Kind.DROPPED, Kind.ABORTED]
    assert inspection.verdict.level is Level.ERROR


@pytest.mark.parametrize(
    "end",
    [
        End(at_s=1.0, cut=True, detail="any words", stopped=True),
        *(End(at_s=1.0, cut=True, detail="any words", closed_by=closed_by) for closed_by in ClosedBy),
    ],
)
def test_the_end_of_a_file_says_so_too(end: End) -> None:
    capture = replace(chat(STEPS, finish=None, done=False), end=end)
    lines = "".join(f"{line}\n" for line in render(capture)).encode()
    reloaded = inspector.loads(lines, "run.jsonl")
    assert reloaded.end == end


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


@pytest.mark.parametrize(
    ("line", "closed_by"),
    [
        ('{"end": "cut", "detail": "the client closed the connection"}', ClosedBy.CLIENT),
        ('{"end": "cut", "detail": "the client closed the stream"}', ClosedBy.CLIENT),
        ('{"end": "cut", "detail": "the tap was stopped"}', ClosedBy.RECORDER),
        ('{"end": "cut", "detail": "the client closed the connection", "closed_by": null}', None),
        ('{"end": "cut", "closed_by": "recorder"}', ClosedBy.RECORDER),
        ('{"end": "cut", "closed_by": ["client"]}', None),
        ('{"end": "closed", "closed_by": "client"}', None),
    ],
)
def test_files_say_who_closed_the_connection(line: str, closed_by: ClosedBy | None) -> None:
    capture = inspector.loads(f'{{"harmony_capture": 1, "endpoint": "chat"}}\n{line}\n'.encode(), "f")
    assert capture.end is not None
    assert capture.end.closed_by is closed_by
