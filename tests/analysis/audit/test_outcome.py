"""What became of a response: damage apart from errors, rejected requests and clients that leave."""

import json
from dataclasses import replace

import pytest

import inspector
from inspector.analysis.audit.outcome import ResponseOutcome
from inspector.capture.capture import Capture, ClosedBy, End, Endpoint, Event, EventKind, Header
from tests.support.audits import CLEAN, STOP
from tests.support.builtin import CAPTURES, COMPLETE_CHAT, TOOL
from tests.support.streams import CLOSED, Step, aborted, chat

LOSSY: list[Step] = [*CLEAN[:2], (" lost", {}), *CLEAN[2:]]
BY_CLIENT = End(at_s=1.0, cut=True, closed_by=ClosedBy.CLIENT)


def page(status: int, message: str = "no") -> Capture:
    body = json.dumps({"error": {"message": message, "type": "BadRequestError", "code": status}})
    header = Header(endpoint=Endpoint.CHAT, status=status)
    return Capture(header=header, events=[Event(body, 0.1, "", EventKind.BODY)], end=CLOSED)


def unended(steps: list[Step], end: End) -> Capture:
    return replace(chat(steps, finish=None, done=False), end=end)


@pytest.mark.parametrize(
    ("capture", "outcome"),
    [
        (chat(CLEAN), "complete"),
        (CAPTURES[COMPLETE_CHAT], "complete"),
        (chat(CLEAN[:5], finish="length"), "complete"),
        (CAPTURES[TOOL], "damaged"),
        (chat(LOSSY), "damaged"),
        (chat([*CLEAN[:3], ("<|end|>comment here", {}), STOP]), "damaged"),
        (unended(LOSSY, BY_CLIENT), "damaged"),
        (page(500), "failed"),
        (aborted(["Think"], "CUDA out of memory."), "failed"),
        (unended(CLEAN[:3], End(at_s=1.0, cut=True, detail="reset by peer")), "failed"),
        (page(400, "Unexpected token 12606 while expecting start token 200006"), "failed"),
        (page(400), "rejected"),
        (page(404), "rejected"),
        (page(429), "rejected"),
        (unended(CLEAN[:3], BY_CLIENT), "aborted"),
        (unended(CLEAN[:3], End(at_s=1.0, cut=True, closed_by=ClosedBy.RECORDER)), "aborted"),
        (unended(CLEAN[:3], End(at_s=1.0, cut=True, stopped=True)), "aborted"),
        (chat(CLEAN, with_ids=False), "unknown"),
        (chat(CLEAN, usage=40), "unknown"),
    ],
)
def test_the_outcome_says_whose_doing_it_is(capture: Capture, outcome: str) -> None:
    inspection = inspector.inspect(capture)
    assert inspection.verdict.outcome is ResponseOutcome(outcome), inspection.verdict.sentence
