"""Captures of both sides of a gateway: joined by what shows that they are one response, and only then."""

import itertools
from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from inspector.analysis.audit.verdict import Level
from inspector.analysis.reading import read
from inspector.capture.capture import Capture, End
from inspector.capture.deltas import CONTENT
from inspector.inspection.compare import JoinedBy, Outcome, compare, join, joined
from inspector.inspection.compare.joining import Joined
from inspector.inspection.inspection import inspect
from inspector.views.comparison_rows import comparison_row
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


def test_the_order_of_the_sides_does_not_move_the_fault() -> None:
    """The gateway keeps the token IDs, so that a loss looks like that of one of two servers."""
    lossy = [
        event._replace(data=event.data.replace('"content":"Hello"', '"content":""')) for event in WHOLE.events
    ]
    inner, outer = inspect(at(WHOLE, 10.0, 2.0)), inspect(replace(at(WHOLE, 9.9, 2.2), events=lossy))
    there, back = compare(inner, outer), compare(outer, inner)
    assert there.sentence.startswith("The gateway lost a part of the response: content: 5 of 31 characters")
    assert (back.sentence, back.passing, back.level) == (there.sentence, there.passing, there.level)
    assert "left from the gateway, right from the server" in back.why
    assert comparison_row(back)["gateway"]["server_side"] == "right"


def test_a_loss_of_the_server_is_not_the_gateways() -> None:
    lossy = CAPTURES["chat-tool-call-dropped-vllm-0.13.0"]
    comparison = compare(
        inspect(at(lossy, 10.0, 2.0)), inspect(at(lossy, 9.9, 2.2)), joined_by=JoinedBy.PROMPT
    )
    assert comparison.same
    assert "passed the response on with the same texts" in comparison.sentence
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
    pairs = join(inner, outer)
    assert len(pairs) == 6
    for pair in pairs:
        assert inner_order[pair.server_side] == outer_order[pair.client_side]
        assert pair.by is JoinedBy.PROMPT


TRACE = f"00-{'a' * 32}-{'b' * 16}-01"


class Request(NamedTuple):
    """A client's request, and how often the gateway asks the server: it gets an error until the last time."""

    start: int
    length: int
    prompt: str
    tries: int
    in_trace: bool
    keeps_id: bool


REQUESTS = st.lists(
    st.builds(
        Request,
        st.integers(0, 8),
        st.integers(2, 8),
        st.sampled_from("ab"),
        st.integers(0, 2),
        st.booleans(),
        st.booleans(),
    ),
    max_size=6,
)


def recorded(requests: list[Request]) -> tuple[list[Capture], list[Capture], set[tuple[int, int]]]:
    """What both taps record, and what belongs together."""
    inner: list[Capture] = []
    outer: list[Capture] = []
    truth = set()
    for number, request in enumerate(requests):
        header: dict[str, Any] = {
            "request": {"prompt": request.prompt},
            "traceparent": TRACE if request.in_trace else None,
        }
        for attempt in range(request.tries):
            length = request.length / request.tries
            capture = at(WHOLE, request.start + attempt * length, length, **header)
            truth.add((len(inner), number))
            if attempt < request.tries - 1:
                inner.append(failing(capture))
            else:
                inner.append(renamed(capture, f"{'chatcmpl' if request.keeps_id else 'inner'}-{number}"))
        capture = renamed(at(WHOLE, request.start, request.length, **header), f"chatcmpl-{number}")
        outer.append(capture if request.tries else failing(capture))
    return inner, outer, truth


def failing(capture: Capture) -> Capture:
    return replace(capture, header=replace(capture.header, status=503), events=capture.events[:0])


@given(REQUESTS, st.randoms(use_true_random=False))
def test_only_captures_of_one_request_are_joined_in_whatever_order(
    requests: list[Request], random: Random
) -> None:
    inner, outer, truth = recorded(requests)
    pairs = {(pair.server_side, pair.client_side): pair.by for pair in join(inner, outer)}
    assert pairs.keys() <= truth
    for places in zip(*pairs, strict=True):
        assert len(places) == len(set(places))
    inner_order, outer_order = list(range(len(inner))), list(range(len(outer)))
    random.shuffle(inner_order)
    random.shuffle(outer_order)
    again = join([inner[place] for place in inner_order], [outer[place] for place in outer_order])
    assert {
        (inner_order[pair.server_side], outer_order[pair.client_side]): pair.by for pair in again
    } == pairs


def test_what_a_gateway_asked_again_is_joined_with_the_answer() -> None:
    """The error before it was not for the client."""
    request = {"prompt": "hello"}
    refused = failing(at(WHOLE, 10.0, 0.5, request=request))
    answered = renamed(at(WHOLE, 10.6, 1.0, request=request), "chatcmpl-again")
    outer = renamed(at(WHOLE, 9.9, 2.0, request=request), "resp-1")
    assert join([refused, answered], [outer]) == [Joined(1, 0, JoinedBy.PROMPT)]
    assert join([refused], [outer]) == []
    assert join([refused], [failing(outer)]) == [Joined(0, 0, JoinedBy.PROMPT)]


def test_a_response_that_a_gateway_made_of_several_is_none_of_them() -> None:
    """It ran a tool, and asked again with the result."""
    texts = ("hello", "Paris: 20 degrees")
    inner = [
        at(
            WHOLE,
            10.0 + number,
            0.9,
            request={"messages": [{"content": text} for text in texts[: number + 1]]},
        )
        for number in range(2)
    ]
    outer = at(WHOLE, 9.9, 2.5, request={"messages": [{"content": texts[0]}]})
    assert join([inner[0], renamed(inner[1], "chatcmpl-2")], [outer]) == []
    assert join(inner[:1], [outer]) == [Joined(0, 0, JoinedBy.RESPONSE)]


def test_a_response_that_is_on_both_sides_fits_no_other() -> None:
    """Clocks a minute apart, a prompt each minute: IDs contradict what the times say."""
    request = {"prompt": "hello"}
    inner = [renamed(at(WHOLE, 1.0 + 20 * n, 1.0, request=request), f"chatcmpl-{n}") for n in range(2)]
    outer = [renamed(at(WHOLE, 20.9 + 20 * n, 1.2, request=request), f"chatcmpl-{n}") for n in range(2)]
    assert join(inner, outer) == []


def test_a_response_that_is_fetched_again_is_not_its_other_side() -> None:
    """Responses can be read a second time while they are made; such a request has no body."""
    made = at(WHOLE, 10.0, 5.0, request={"prompt": "hello"})
    again = at(without_event(WHOLE, 3), 11.0, 3.0, request={})
    assert joined(again, made) is None
    assert join([again], [made]) == []
    assert joined(again, at(made, 10.0, 5.0, request={})) is JoinedBy.RESPONSE


def test_an_id_of_several_responses_names_none() -> None:
    """Some servers always send one ID, and their gateways send it on for some of their endpoints only."""
    inner = [at(WHOLE, 10.0 + n, 2.0, request={"prompt": f"{n}"}) for n in range(3)]
    outer = [at(WHOLE, 9.9 + n, 2.2, request={"prompt": f"{n}"}) for n in range(3)]
    outer[0] = renamed(outer[0], "msg-0")
    assert join(inner, outer) == [Joined(n, n, JoinedBy.PROMPT) for n in range(3)]


def test_sides_that_were_swapped_are_not_joined() -> None:
    """The client's request is open a little longer at both ends, which no clock explains."""
    inner, outer = at(WHOLE, 10.0, 2.0), at(without_event(WHOLE, 3), 9.99, 2.02)
    assert join([outer], [inner]) == []
    assert joined(outer, inner) is None
    assert len(join([inner], [outer])) == 1


def test_a_copy_of_a_capture_is_not_its_other_side() -> None:
    assert joined(at(WHOLE, 10.0, 2.0), at(without_event(WHOLE, 3), 10.0, 2.0)) is None


def test_the_labs_recordings_of_other_scripts_are_not_joined() -> None:
    def of_lab(script: str, **lab: str) -> Capture:
        return at(WHOLE, 10.0, 2.0, extra={"lab": {"script": script, "stream_interval": 1, **lab}})

    assert joined(of_lab("plain"), of_lab("plain", through="a gateway")) is JoinedBy.LAB
    assert joined(of_lab("other"), of_lab("plain", through="a gateway")) is None


@given(st.sampled_from(("2026-11-25T10:00:10", "9999-12-31T23:59:59.99+00:00", "0001-01-01", "", "noon")))
def test_any_time_can_be_read(started_at: str) -> None:
    capture = at(WHOLE, 10.0, 0.001)
    other = replace(capture, header=replace(capture.header, started_at=started_at))
    nested: Any = "hello"
    for _ in range(900):
        nested = [nested]
    other = replace(other, header=replace(other.header, request={"prompt": nested}))
    for inner, outer in itertools.product((capture, other), repeat=2):
        assert len(join([inner], [outer])) <= 1
        assert joined(inner, outer) is None


def test_a_request_of_unknown_length_is_not_joined() -> None:
    unknown = replace(at(WHOLE, 10.0, 0.0), end=End(at_s=None, cut=False))
    assert join([unknown], [at(WHOLE, 9.9, 1.0)]) == []


def test_simultaneous_equal_prompts_are_not_joined() -> None:
    """Nothing shows which is which."""
    request = {"messages": [{"role": "user", "content": "hello"}]}
    inner = [renamed(at(WHOLE, 10.0 + i / 10, 1.0, request=request), f"chatcmpl-{i}") for i in range(2)]
    outer = [renamed(at(WHOLE, 9.9, 3.0, request=request), f"resp-{i}") for i in range(2)]
    assert join(inner, outer) == []
    assert len(join(inner[:1], outer[:1])) == 1
