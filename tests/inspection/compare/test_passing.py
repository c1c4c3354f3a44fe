"""The two sides of a gateway: what is equal is the same, and what is missing, other or an error is named."""

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from inspector.analysis.reading import read
from inspector.capture.capture import (
    STOPPED,
    Capture,
    ClosedBy,
    End,
    Endpoint,
    Event,
    EventKind,
    Header,
)
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
def test_a_connection_that_the_gateway_broke_is_an_error(name: str, message: str) -> None:
    capture = GOOD[name]
    terminal = read(capture).stream.terminal_event
    if terminal is None or (capture.end is not None and capture.end.cut):
        return
    broken = End(at_s=0.0, cut=True, detail=message)
    assert passed(capture, list(capture.events[:terminal]), broken).outcome is PassingOutcome.ERROR
    assert passed(capture, list(capture.events), broken) == Passing(PassingOutcome.SAME)


ENDS = st.one_of(
    st.none(),
    st.builds(
        End,
        at_s=st.just(1.0),
        cut=st.just(True),
        detail=st.just(STOPPED),
        stopped=st.just(True),
    ),
    st.builds(End, at_s=st.just(1.0), cut=st.just(False), unread=st.just("The disk is full.")),
    st.builds(
        End,
        at_s=st.just(1.0),
        cut=st.just(True),
        closed_by=st.sampled_from(ClosedBy),
    ),
)
"""Of recordings that were stopped, and of clients that left."""


@given(st.sampled_from(sorted(CAPTURES)), st.data())
def test_a_recording_that_ends_early_says_nothing_against_the_gateway(name: str, data: st.DataObject) -> None:
    capture = CAPTURES[name]
    part = replace(
        capture,
        events=capture.events[: data.draw(st.integers(0, len(capture.events)))],
        end=data.draw(ENDS),
    )
    early = passing(read(capture), read(part))
    assert early.outcome is PassingOutcome.SAME
    assert "not passed on" not in early.words
    if part.end is None or part.end.closed_by is not ClosedBy.CLIENT:  # the gateway is the server's client
        assert passing(read(part), read(capture)).outcome is PassingOutcome.SAME


@given(st.data())
def test_a_body_that_ends_early_says_nothing_against_the_gateway(data: st.DataObject) -> None:
    answer = {"message": {"content": "Three"}, "index": 0, "finish_reason": "stop"}
    body = json.dumps({"id": "chatcmpl-1", "choices": [answer]})
    event = Event(body, kind=EventKind.BODY)
    whole = Capture(header=Header(endpoint=Endpoint.CHAT), events=[event], end=End(at_s=1.0, cut=False))
    part = body[: data.draw(st.integers(1, len(body) - 1))]
    cut = replace(whole, events=[event._replace(data=part)], end=data.draw(ENDS))
    assert passing(read(whole), read(cut)).outcome is PassingOutcome.SAME


def test_what_any_choice_lacks_is_lost() -> None:
    def chunk(index: int, text: str, reason: str | None) -> Event:
        choice = {"index": index, "delta": {"content": text}, "finish_reason": reason}
        return Event(json.dumps({"id": "chatcmpl-1", "choices": [choice]}))

    header = Header(endpoint=Endpoint.CHAT, request={"n": 2}, status=200)
    events = [chunk(0, "Three", "stop"), chunk(1, "Four", None), chunk(1, "teen", "stop"), Event("[DONE]")]
    capture = Capture(header=header, events=events, end=End(at_s=1.0, cut=False))
    lossy = passed(capture, [*events[:1], *events[2:]])
    assert lossy == Passing(PassingOutcome.LOST, "content of choice 1: 4 of 8 characters are lost")
    cut = passed(capture, [*events[:2], chunk(1, "teen", "length"), *events[3:]])
    assert cut == Passing(PassingOutcome.CHANGED, "end of choice 1: stop, sent on as length")


def test_another_endpoint_has_other_words_for_an_end_but_not_for_a_text() -> None:
    """Other endpoints have arguments as an object; a text that happens to be JSON is a text."""

    def answer(endpoint: Endpoint, text: str, end: str = "end_turn") -> Capture:
        body = {
            Endpoint.CHAT: {"choices": [{"index": 0, "message": {"content": text}, "finish_reason": "stop"}]},
            Endpoint.MESSAGES: {
                "type": "message",
                "content": [{"type": "text", "text": text}],
                "stop_reason": end,
            },
        }[endpoint]
        event = Event(json.dumps(body), kind=EventKind.BODY)
        return Capture(header=Header(endpoint=endpoint), events=[event], end=End(at_s=1.0, cut=False))

    chat, messages = read(answer(Endpoint.CHAT, "1")), read(answer(Endpoint.MESSAGES, "1.0"))
    assert passing(chat, messages).outcome is PassingOutcome.CHANGED
    for end in ("end_turn", "stop_sequence"):  # chat has one word for both
        sent = read(answer(Endpoint.MESSAGES, "1", end))
        assert passing(chat, sent) == Passing(PassingOutcome.SAME)


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
    assert result == Passing(PassingOutcome.LOST, "the error is not passed on")


def test_a_request_that_the_lab_knows_was_not_passed_on_is_rejected() -> None:
    capture = GOOD[CHATS[0]]
    header = replace(capture.header, status=400, extra={"lab": {"through": "a gateway", "asked": False}})
    sent = replace(capture, header=header, events=[])
    assert passing(read(capture), read(sent)) == Passing(PassingOutcome.REJECTED, "HTTP 400")
