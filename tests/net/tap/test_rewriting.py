"""Token ids asked for on behalf of a client: the capture has them, the client does not see them."""

import json
import string
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.analysis.reading import read
from inspector.capture.capture import Capture, Endpoint
from inspector.inspection.inspection import inspect
from inspector.matrix.results import all_runs, capture_of
from inspector.net.tap import rewriting
from inspector.net.tap.rewriting import EventRewriter, ask_for_ids, body_without_ids
from inspector.protocol.wire.strip_ids import (
    without_member,
    without_response_messages,
    without_token_ids,
)
from tests.support.builtin import CAPTURES, CHATS
from tests.support.listening import listening
from tests.support.upstreams import SSE, Echo, ask, sent, tapped


def test_any_number_of_empty_lines_is_one_end_of_an_event() -> None:
    for line in (b"\n", b"\r", b"\r\n"):
        assert len(rewriting._EVENT_END.findall(b"data: 1" + line * 100_000)) == 1


def payloads_without_ids(capture: Capture) -> list[str]:
    """The payloads without `return_token_ids`, by reading and writing JSON as vLLM's pydantic does."""
    payloads = []
    for event in capture.events:
        if event.data == "[DONE]" or '"error"' in event.data:
            payloads.append(event.data)
            continue
        chunk = json.loads(event.data)
        if "prompt_token_ids" in chunk:
            chunk["prompt_token_ids"] = None
        delivers = not chunk["choices"]
        for choice in chunk["choices"]:
            delivers |= "token_ids" not in choice or choice["finish_reason"] is not None
            delivers |= any(value is not None for value in choice["delta"].values())
            if "token_ids" in choice:
                choice["token_ids"] = None
        if delivers:
            payloads.append(json.dumps(chunk, ensure_ascii=False, separators=(",", ":")))
    return payloads


def stream_of(payloads: Sequence[str]) -> bytes:
    return "".join(f"data: {payload}\n\n" for payload in payloads).encode()


@pytest.mark.parametrize("name", CHATS)
def test_a_recorded_stream_loses_its_ids_and_nothing_else(name: str) -> None:
    rewriter = EventRewriter(keeps_logprobs=True)
    stream_bytes = stream_of([event.data for event in CAPTURES[name].events])
    assert rewriter.receive(stream_bytes) + rewriter.close() == stream_of(
        payloads_without_ids(CAPTURES[name])
    )


@given(cuts=st.lists(st.integers(0, 12_000), max_size=30), name=st.sampled_from(CHATS))
def test_it_does_not_matter_how_the_bytes_arrive(cuts: list[int], name: str) -> None:
    stream_bytes = stream_of([event.data for event in CAPTURES[name].events])
    edges = [0, *sorted(min(cut, len(stream_bytes)) for cut in cuts), len(stream_bytes)]
    rewriter = EventRewriter(keeps_logprobs=True)
    pieces = [rewriter.receive(stream_bytes[a:b]) for a, b in pairwise(edges)]
    assert b"".join(pieces) + rewriter.close() == stream_of(payloads_without_ids(CAPTURES[name]))


@given(st.lists(st.binary(max_size=60) | st.sampled_from([b"data: ", b"token_ids", b"\n\n", b'":[1]'])))
def test_bytes_that_are_no_events_pass(pieces: list[bytes]) -> None:
    rewriter = EventRewriter(keeps_logprobs=True)
    passed = b"".join([rewriter.receive(piece) for piece in pieces]) + rewriter.close()
    all_bytes = b"".join(pieces)
    if b'"token_ids":[' not in all_bytes:
        assert passed == all_bytes


def test_text_that_speaks_of_token_ids_is_not_touched() -> None:
    quoted = json.dumps('"token_ids":[1,2], "prompt_token_ids":[3]')
    chunk = '{"choices":[{"index":0,"delta":{"content":%s},"finish_reason":null,"token_ids":%s}]}'
    assert without_token_ids(chunk % (quoted, "[7,8]")) == chunk % (quoted, "null")


@pytest.mark.parametrize(("keeps", "passes"), [(True, True), (False, False)])
def test_a_chunk_of_logprobs_alone_is_kept_where_the_server_would_send_it(keeps: bool, passes: bool) -> None:
    chunk = (
        '{"choices":[{"index":0,"delta":{},"logprobs":{"content":[]},"finish_reason":null,"token_ids":[1]}]}'
    )
    assert (without_token_ids(chunk, keeps_logprobs=keeps) is not None) is passes


@pytest.mark.parametrize(
    ("raw", "with_key"),
    [
        (b'{"model": "m", "n":1.0}', b'{"return_token_ids":true,"model": "m", "n":1.0}'),
        (b" \n{ }", b' \n{"return_token_ids":true }'),
        (b'{"return_token_ids": false}', None),
        (b'{"return_token_ids": null}', None),
        (b"[1]", None),
        (b"", None),
    ],
)
def test_a_request_gets_one_key_and_stays_as_it_is(raw: bytes, with_key: bytes | None) -> None:
    body: Any = json.loads(raw) if raw else None
    assert ask_for_ids(raw, body, {"return_token_ids": True}) == with_key
    if with_key is not None:
        assert json.loads(with_key) == {**body, "return_token_ids": True}


NAMES = st.text(string.ascii_letters, min_size=1, max_size=4)
VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3)
)


@given(st.dictionaries(NAMES, VALUES, max_size=4), st.integers(0, 4), VALUES, st.sampled_from([None, 1]))
def test_a_payload_loses_one_member_and_nothing_else(
    other_members: dict[str, Any], at: int, value: Any, indent: int | None
) -> None:
    rows = [row for row in other_members.items() if row[0] != "nvext"]
    rows.insert(at, ("nvext", value))
    without = without_member(json.dumps(dict(rows), indent=indent), "nvext")
    assert without is not None
    assert json.loads(without) == {key: item for key, item in rows if key != "nvext"}


@pytest.mark.parametrize(
    ("choices", "passes"),
    [
        ([], False),
        ([{"index": 0, "delta": {}, "finish_reason": None}], False),
        ([{"index": 0, "delta": {"role": "assistant"}, "finish_reason": None}], True),
        ([{"index": 0, "delta": {}, "finish_reason": "stop"}], True),
    ],
)
def test_a_chunk_that_a_server_sends_for_its_own_ids_alone_is_dropped(choices: Any, passes: bool) -> None:
    chunk = json.dumps({"choices": choices, "nvext": {"completion_token_ids": [1]}})
    assert (without_member(chunk, "nvext") is not None) is passes
    used = json.dumps({"choices": choices, "nvext": {}, "usage": {"completion_tokens": 1}})
    assert without_member(used, "nvext") is not None


@pytest.mark.parametrize("text", ['["nvext"]', '{"nvext": 1', '{"a": {"nvext": 1}}', '{"choices": {}}'])
def test_text_without_the_member_is_not_touched(text: str) -> None:
    assert without_member(text, "nvext") == text


def test_choices_of_another_form_are_kept() -> None:
    for choice in ("1", '{"delta": 1}', '{"logprobs": {"content": [1]}, "delta": {}}'):
        chunk = f'{{"choices": [{choice}], "nvext": {{}}}}'
        assert without_member(chunk, "nvext") == f'{{"choices": [{choice}]}}'


def test_an_unstreamed_body_loses_its_ids_and_nothing_else() -> None:
    body = {"prompt_token_ids": [1, 2], "choices": [{"message": {"content": "é"}, "token_ids": [3]}]}
    without_ids = {"prompt_token_ids": None, "choices": [{"message": {"content": "é"}, "token_ids": None}]}
    written = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    assert (
        body_without_ids(written)
        == json.dumps(without_ids, ensure_ascii=False, separators=(",", ":")).encode()
    )
    assert body_without_ids(b'"token_ids":[1') == b'"token_ids":[1'


@pytest.mark.parametrize("name", CHATS)
def test_the_client_gets_what_it_would_have_got_and_the_capture_has_the_ids(name: str) -> None:
    stream_bytes = stream_of([event.data for event in CAPTURES[name].events])
    echo = Echo([stream_bytes[at : at + 777] for at in range(0, len(stream_bytes), 777)], headers=SSE)
    body: dict[str, Any] = {"model": "m", "stream": True}
    with listening(echo) as up, tapped(up, add_token_ids=True) as (address, sink):
        assert ask(address, body).content == stream_of(payloads_without_ids(CAPTURES[name]))
        capture = sink.capture()
    assert json.loads(echo.bodies[0]) == {**body, "return_token_ids": True}
    assert sent(echo)["content-length"] == str(len(echo.bodies[0]))
    assert capture.header.request == body
    assert [event.data for event in capture.events] == [event.data for event in CAPTURES[name].events]
    assert read(capture).choice.tokens.ids == read(CAPTURES[name]).choice.tokens.ids
    assert {finding.kind for finding in inspect(capture).findings} == {
        finding.kind for finding in inspect(CAPTURES[name]).findings
    }


def test_an_unstreamed_answer_has_the_length_that_it_has() -> None:
    raw = b'{"choices":[{"index":0,"message":{},"token_ids":[1,2,3]}]}'
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(raw)).encode())]
    echo = Echo([raw], headers=headers)
    with listening(echo) as up, tapped(up, add_token_ids=True) as (address, sink):
        answer = ask(address, {"model": "m"})
        assert answer.content == b'{"choices":[{"index":0,"message":{},"token_ids":null}]}'
        assert answer.headers["content-length"] == str(len(answer.content))
        assert sink.capture().events[0].data.encode() == raw


def test_who_asks_for_ids_gets_them() -> None:
    name = CHATS[0]
    stream_bytes = stream_of([event.data for event in CAPTURES[name].events])
    echo = Echo([stream_bytes], headers=SSE)
    with listening(echo) as up, tapped(up, add_token_ids=True) as (address, _):
        assert ask(address, {"return_token_ids": True}).content == stream_bytes
    assert json.loads(echo.bodies[0]) == {"return_token_ids": True}


def without_messages(payload: str) -> str:
    """The payload with null for its messages, by reading and writing JSON as vLLM does."""
    payload_json = json.loads(payload)
    response = payload_json.get("response", payload_json)
    for key in {"input_messages", "output_messages"} & response.keys():
        response[key] = None
    return json.dumps(payload_json, ensure_ascii=False, separators=(",", ":"))


def named(payloads: Sequence[str]) -> bytes:
    """Events as vLLM sends those of Responses."""
    return "".join(
        f"event: {json.loads(payload)['type']}\ndata: {payload}\n\n" for payload in payloads
    ).encode()


def recorded_with_messages() -> list[Capture]:
    payloads = []
    for run in all_runs():
        if run.stream_interval == 3:
            for script in ("plain", "tool_call", "cjk", "turn_python"):
                capture = capture_of(run, Endpoint.RESPONSES, script)
                assert capture is not None
                payloads.append(capture)
    return payloads


def test_a_response_loses_its_messages_and_nothing_else() -> None:
    rewritten = 0
    for capture in recorded_with_messages():
        payloads = [event.data for event in capture.events]
        rewriter = EventRewriter(keeps_logprobs=True, messages=True)
        passed = rewriter.receive(named(payloads)) + rewriter.close()
        assert passed == named([without_messages(payload) for payload in payloads])
        rewritten += passed != named(payloads)
    assert rewritten >= 30


def test_words_that_name_the_messages_are_not_touched() -> None:
    schema = {"properties": {"output_messages": ["a"]}, "input_messages": [1]}
    quoted = json.dumps('"output_messages":[1]')
    body = '{"object": "response", "text": %s, "tools": [%s], "output_messages": %s}'
    with_messages = body % (quoted, json.dumps(schema), '[{"channel": "final"}]')
    assert without_response_messages(with_messages) == body % (quoted, json.dumps(schema), "null")
    for junk in (
        '{"output_messages":',
        '["output_messages"]',
        '{"output_messages"',
        '"_messages"',
        '{"a":1 2}',
    ):
        assert without_response_messages(junk) == junk


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(st.sampled_from(["response", "output_messages", "input_messages", "a"]), inner)
        ),
    )
)
def test_any_json_loses_its_messages_at_the_top_alone(value: Any) -> None:
    text = json.dumps(value)
    rewritten = json.loads(without_response_messages(text))
    assert rewritten == json.loads(without_response_messages(json.dumps(rewritten)))
    if not isinstance(value, dict) or isinstance(value.get("response"), dict):
        return
    if "response" not in value:
        keys = {"input_messages", "output_messages"}
        assert rewritten == {key: None if key in keys else content for key, content in value.items()}


def test_the_client_of_responses_does_not_see_the_messages_that_the_capture_has() -> None:
    capture = capture_of(all_runs()[-1], Endpoint.RESPONSES, "tool_call")
    assert capture is not None
    payloads = [event.data for event in capture.events]
    stream_bytes = named(payloads)
    echo = Echo([stream_bytes[at : at + 777] for at in range(0, len(stream_bytes), 777)], headers=SSE)
    body: dict[str, Any] = {"model": "m", "stream": True}
    with listening(echo) as up, tapped(up, add_token_ids=True) as (address, sink):
        answer = httpx.post(f"{address}/v1/responses", json=body)
        assert answer.content == named([without_messages(payload) for payload in payloads])
        recorded = sink.capture()
    assert json.loads(echo.bodies[0]) == {**body, "enable_response_messages": True}
    assert recorded.header.request == body
    assert [event.data for event in recorded.events] == payloads


@pytest.mark.parametrize("body", [{"enable_response_messages": False}, {"background": True}])
def test_a_response_of_who_asks_for_messages_or_fetches_it_later_is_left_alone(body: dict[str, Any]) -> None:
    stream_bytes = b'data: {"type":"response.completed","response":{"output_messages":[1]}}\n\n'
    echo = Echo([stream_bytes], headers=SSE)
    with listening(echo) as up, tapped(up, add_token_ids=True) as (address, sink):
        assert httpx.post(f"{address}/v1/responses", json=body).content == stream_bytes
        assert sink.capture().header.endpoint is Endpoint.RESPONSES
    assert json.loads(echo.bodies[0]) == body


def test_an_unstreamed_response_loses_its_messages() -> None:
    raw = b'{"object":"response","output_messages":[{"channel":"final"}],"input_messages":[]}'
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(raw)).encode())]
    echo = Echo([raw], headers=headers)
    with listening(echo) as up, tapped(up, add_token_ids=True) as (address, sink):
        answer = httpx.post(f"{address}/v1/responses", json={"model": "m"})
        assert answer.content == b'{"object":"response","output_messages":null,"input_messages":null}'
        assert sink.capture().events[0].data.encode() == raw


@pytest.mark.parametrize(("version", "chunks"), [("0.23.0", 1), ("0.32.0", 2)])
def test_chunks_of_logprobs_alone_come_as_from_that_release_from_the_first_request_on(
    version: str, chunks: int
) -> None:
    logprobs_chunk = '{"choices":[{"index":0,"delta":{},"logprobs":{},"finish_reason":null,"token_ids":[1]}]}'
    logprobs_chunk = logprobs_chunk.replace('"logprobs":{}', '"logprobs":{"content":[{"token":"x"}]}')
    echo = Echo([stream_of([logprobs_chunk, "[DONE]"])], headers=SSE, version=version)
    with listening(echo) as up, tapped(up, add_token_ids=True) as (address, _):
        answer = ask(address, {"logprobs": True})
    assert answer.content.count(b"data: ") == chunks


# -- any line end, in linear time -------------------------------------------------------------------


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("size", [1, 3, 64, 10**6])
def test_ids_are_taken_out_whatever_ends_the_lines(end: bytes, size: int) -> None:
    payloads = [event.data.encode() for event in CAPTURES[CHATS[0]].events]
    events = [b": hi" + end + b"event: message" + end + b"data: %s" + end + b"id: 7" + end * 2] * len(
        payloads
    )
    stream_bytes = b"".join(event % payload for event, payload in zip(events, payloads, strict=True))
    rewriter = EventRewriter(keeps_logprobs=True)
    passed = b"".join(
        rewriter.receive(stream_bytes[at : at + size]) for at in range(0, len(stream_bytes), size)
    )
    passed += rewriter.close()
    payload_lines = [
        line.removeprefix(b"data: ") for line in passed.splitlines() if line.startswith(b"data: ")
    ]
    assert [line.decode() for line in payload_lines] == payloads_without_ids(CAPTURES[CHATS[0]])
    assert b'"token_ids":[' not in passed


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_an_event_is_passed_on_as_soon_as_it_has_ended(end: bytes) -> None:
    rewriter = EventRewriter(keeps_logprobs=True)
    for number in range(5):
        event = b'data: {"choices":[{"delta":{"content":"%d"},"token_ids":[1]}]}' % number
        assert rewriter.receive(event) == b""
        assert event.replace(b"[1]", b"null") in rewriter.receive(end * 2)


@pytest.mark.slow
def test_a_long_event_and_one_without_end_take_linear_time_and_pass() -> None:
    piece = b"x" * 65536
    rewriter = EventRewriter(keeps_logprobs=True)
    passed = [rewriter.receive(b"data: ")]
    searched_again = 0
    for _ in range(2000):  # 125 MiB, twice as much as waits
        passed.append(rewriter.receive(piece))
        searched_again = max(searched_again, len(rewriter._rest) - rewriter._searched)
    assert searched_again <= 3, "each byte is searched once, but for what may be half of an event's end"
    assert sum(map(len, passed)) >= 2000 * len(piece) - 16
    passed.append(rewriter.receive(b'\n\ndata: {"token_ids":[1]}\n\n'))
    assert b"".join(passed) == b"data: " + piece * 2000 + b'\n\ndata: {"token_ids":null}\n\n'
