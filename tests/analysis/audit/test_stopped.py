"""A response that the user stopped: that is no failure of the server, and what came until then is judged."""

from dataclasses import replace

import pytest

import inspector
from inspector import Kind, Level, dashboard
from inspector.capture.capture import End
from tests.support.streams import Step, chat

STEPS: list[Step] = [
    ("<|channel|>final<|message|>", {}),
    ("One", {"content": "One"}),
    (" two", {"content": " two"}),
]


def stopped(detail: str, steps: list[Step] = STEPS) -> inspector.Inspection:
    capture = chat(steps, finish=None, done=False)
    return inspector.inspect(replace(capture, end=End(at_s=1.0, cut=True, detail=detail)))


@pytest.mark.parametrize("detail", ["stopped by the client", "stopped by you"])
def test_a_response_that_the_user_stopped_is_not_disconnected(detail: str) -> None:
    seen = stopped(detail)
    assert seen.findings == []
    assert seen.verdict.level is Level.CLEAN
    count = len(seen.reading.choice.tokens)
    assert seen.verdict.sentence == f"Stopped by you after {count} tokens; nothing was lost until then."


def test_what_was_lost_before_is_told() -> None:
    steps = [*STEPS, (" three", {}), (" four", {"content": " four"})]
    seen = stopped("stopped by the client", steps)
    assert [finding.kind for finding in seen.findings] == [Kind.DROPPED]
    assert seen.verdict.level is Level.ERROR
    assert seen.verdict.why.startswith("Stopped by you after ")


def test_a_connection_that_broke_is_still_disconnected() -> None:
    for detail in ("peer closed connection", "the client closed the connection", ""):
        assert [finding.kind for finding in stopped(detail).findings] == [Kind.DISCONNECTED]


def test_the_end_of_a_file_says_so_too() -> None:
    capture = replace(
        chat(STEPS, finish=None, done=False), end=End(at_s=1.0, cut=True, detail="stopped by the client")
    )
    lines = "".join(f"{line}\n" for line in dashboard.render(capture)).encode()
    [again] = inspector.loads(lines, "run.jsonl")
    assert inspector.inspect(again).findings == []
