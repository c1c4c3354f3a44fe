"""Captures of both sides of a gateway: joined by what shows that they are one response, and only then."""

import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from inspector.analysis.audit.verdict import Level
from inspector.analysis.reading import read
from inspector.capture.capture import Capture, End
from inspector.capture.deltas import CONTENT
from inspector.inspection.compare import JoinedBy, Outcome, compare, join, joined
from inspector.inspection.inspection import inspect
from tests.support.builtin import CAPTURES, COMPLETE_CHAT

WHOLE = CAPTURES[COMPLETE_CHAT]


def at(
    capture: Capture,
    start_s: float,
    length_s: float,
    *,
    request: Mapping[str, Any] | None = None,
    **header: Any,
) -> Capture:
    """A capture that was recorded between these seconds of a minute."""
    header |= {"started_at": f"2026-11-25T10:00:{start_s:06.3f}+00:00"}
    if request is not None:
        header["request"] = request
    return replace(
        capture,
        header=replace(capture.header, **header),
        end=End(at_s=length_s, cut=False),
        events=list(capture.events),
    )


def renamed(capture: Capture, response_id: str) -> Capture:
    """The same response under another ID, as some gateways send it on."""
    response_id_before = next(event.data for event in capture.events).split('"id":"')[1].split('"')[0]
    return replace(
        capture,
        events=[
            event._replace(data=event.data.replace(response_id_before, response_id))
            for event in capture.events
        ],
    )


def test_a_response_with_its_id_is_one_where_its_requests_enclose_each_other() -> None:
    inner, outer = at(WHOLE, 10.0, 2.0), at(without_event(WHOLE, 3), 9.9, 2.2)
    assert joined(inner, outer) is JoinedBy.RESPONSE
    assert joined(outer, inner) is None  # the client's request is open longer
    assert joined(inner, at(without_event(WHOLE, 3), 11.0, 2.0)) is None
    assert joined(inner, renamed(outer, "chatcmpl-other")) is None


def test_two_servers_that_are_asked_the_same_at_once_are_not_a_gateway() -> None:
    left, right = at(WHOLE, 10.0, 2.0), renamed(at(WHOLE, 10.0, 2.0), "chatcmpl-other")
    assert joined(left, right) is None
    assert compare(inspect(left), inspect(right)).passing is None


def without_event(capture: Capture, place: int) -> Capture:
    return replace(capture, events=[*capture.events[:place], *capture.events[place + 1 :]])


def test_a_comparison_says_that_the_gateway_lost_it_though_only_the_server_side_has_ids() -> None:
    with_text = next(delta.event for delta in read(WHOLE).choice.deltas if delta.field == CONTENT)
    outer = at(without_event(WHOLE, with_text), 9.9, 2.2)
    comparison = compare(inspect(at(WHOLE, 10.0, 2.0)), inspect(outer))
    assert comparison.outcome is Outcome.DELIVERY
    assert comparison.sentence.startswith("The gateway lost a part of the response: content: ")
    assert comparison.level is Level.ERROR
    assert not comparison.same


def test_a_loss_of_the_server_is_not_the_gateways() -> None:
    lossy = CAPTURES["chat-tool-call-dropped-vllm-0.13.0"]
    comparison = compare(
        inspect(at(lossy, 10.0, 2.0)), inspect(at(lossy, 9.9, 2.2)), joined_by=JoinedBy.PROMPT
    )
    assert comparison.same
    assert "passed the response on as it came" in comparison.sentence
    assert comparison.level is Level.ERROR  # the server's


@given(st.permutations(range(6)), st.permutations(range(6)), st.booleans())
def test_sequential_requests_are_joined_by_prompt_and_time_in_any_order(
    inner_order: list[int], outer_order: list[int], same_prompt: bool
) -> None:
    """Equal prompts are distinguished by time."""

    def request(number: int) -> dict[str, Any]:
        return {"messages": [{"role": "user", "content": "hello" if same_prompt else f"hello {number}"}]}

    inner = [
        renamed(at(WHOLE, 5 * number + 0.1, 1.0, request=request(number)), f"chatcmpl-{number}")
        for number in inner_order
    ]
    outer = [
        renamed(at(WHOLE, 5 * number, 1.5, request=request(number)), f"resp-{number}")
        for number in outer_order
    ]
    pairs = list(join(inner, outer))
    assert len(pairs) == 6
    for pair in pairs:
        assert inner_order[pair.server_side] == outer_order[pair.client_side]
        assert pair.by is JoinedBy.PROMPT


TIMES = st.lists(st.tuples(st.integers(0, 4), st.integers(1, 4), st.integers(0, 1)), max_size=5)
"""Beginning and length of requests in seconds, and which of two prompts they have."""


@given(TIMES, TIMES)
def test_a_capture_has_one_partner_at_most_and_it_is_enclosed(
    inner: list[tuple[int, int, int]], outer: list[tuple[int, int, int]]
) -> None:
    def recorded(times: list[tuple[int, int, int]], side: str) -> list[Capture]:
        return [
            renamed(at(WHOLE, start, length, request={"prompt": f"{prompt}"}), f"{side}-{number}")
            for number, (start, length, prompt) in enumerate(times)
        ]

    pairs = list(join(recorded(inner, "chatcmpl"), recorded(outer, "resp")))
    for places in ([pair.server_side for pair in pairs], [pair.client_side for pair in pairs]):
        assert len(places) == len(set(places))
    for pair in pairs:
        start, length, prompt = inner[pair.server_side]
        outer_start, outer_length, outer_prompt = outer[pair.client_side]
        assert prompt == outer_prompt
        assert outer_start <= start
        assert start + length <= outer_start + outer_length
    if len(inner) == len(outer) == 1 and inner == outer:
        assert len(pairs) == 1


def test_simultaneous_equal_prompts_are_not_joined() -> None:
    """Nothing shows which is which."""
    request = {"messages": [{"role": "user", "content": "hello"}]}
    inner = [renamed(at(WHOLE, 10.0 + i / 10, 1.0, request=request), f"chatcmpl-{i}") for i in range(2)]
    outer = [renamed(at(WHOLE, 9.9, 3.0, request=request), f"resp-{i}") for i in range(2)]
    assert list(join(inner, outer)) == []
    assert list(itertools.islice(join(inner[:1], outer[:1]), 1))
