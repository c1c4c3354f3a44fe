"""The two sides of a gateway: what is equal is the same, and what is missing, other or an error is named."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from inspector.analysis.reading import read
from inspector.capture.capture import Capture, End, Event
from inspector.inspection.compare.passing import Passing, PassingOutcome, passing
from inspector.protocol.wire.strip_ids import without_token_ids
from tests.support.builtin import CAPTURES, CHATS

GOOD = {
    name: capture
    for name, capture in CAPTURES.items()
    if not read(capture).stream.errors and (capture.header.status or 200) < 400
}


def passed(received: Capture, events: list[Event], end: End | None = None) -> Passing:
    sent = replace(received, events=events, end=end or received.end)
    return passing(read(received), read(sent))


@given(st.sampled_from(sorted(CAPTURES)))
def test_what_is_sent_on_as_it_is_is_the_same(name: str) -> None:
    assert passed(CAPTURES[name], list(CAPTURES[name].events)) == Passing(PassingOutcome.SAME)


@given(st.sampled_from(sorted(GOOD)), st.data())
def test_text_that_is_not_sent_on_is_lost(name: str, data: st.DataObject) -> None:
    capture = GOOD[name]
    deltas = read(capture).choice.deltas
    if not deltas:
        return
    lost = data.draw(st.sampled_from(deltas))
    result = passed(capture, [event for place, event in enumerate(capture.events) if place != lost.event])
    assert result.outcome in {PassingOutcome.LOST, PassingOutcome.CHANGED}
    assert lost.field in result.words


@given(st.sampled_from(sorted(GOOD)), st.text(min_size=1, max_size=20))
def test_an_error_of_the_gateway_is_an_error(name: str, message: str) -> None:
    capture = GOOD[name]
    if read(capture).end is not None and capture.end is not None and capture.end.cut:
        return
    end = End(at_s=0.0, cut=True, detail=message)
    assert passed(capture, list(capture.events), end).outcome is PassingOutcome.ERROR


@given(st.sampled_from([name for name in CHATS if name in GOOD]))
def test_token_ids_that_are_left_out_are_named_and_no_loss(name: str) -> None:
    capture = GOOD[name]
    events = [
        event._replace(data=stripped)
        for event in capture.events
        if (stripped := without_token_ids(event.data)) is not None
    ]
    assert passed(capture, events) == Passing(PassingOutcome.SAME, "token IDs are not passed on")


def test_an_error_that_is_not_sent_on_is_lost() -> None:
    capture = CAPTURES["chat-unexpected-token-200002-vllm-0.13.0"]
    events = [event for event in capture.events if '"error"' not in event.data]
    result = passed(capture, events)
    assert result == Passing(PassingOutcome.LOST, "the server's error is not passed on")
