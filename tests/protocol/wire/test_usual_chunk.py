"""A chat stream says the same whether its chunks are decoded in one call or read member by member."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.capture.capture import Event
from inspector.protocol.wire.chat import UNUSUAL, ChatReader, usual_chunk
from inspector.protocol.wire.stream import Extensions, Stream, loads

TEXTS = st.none() | st.sampled_from(["", "a", "\n", "é", "\U0001f600", "\x00", "\x7f", "\u2028"])
NUMBERS = st.sampled_from([0, 1, 2, 1023, 1024, 2**14, 2**17, -1, 2**40, 10**30, 1.0, True, None, "1"])
IDS = st.lists(st.integers(0, 201_087) | NUMBERS, max_size=3)
CALLS = st.lists(
    st.fixed_dictionaries(
        {"function": st.fixed_dictionaries({}, optional={"name": TEXTS, "arguments": TEXTS})},
        optional={"index": NUMBERS, "id": TEXTS, "type": st.just("function")},
    ),
    max_size=3,
)
DELTAS = st.fixed_dictionaries(
    {},
    optional={
        "role": st.just("assistant"),
        "content": TEXTS,
        "reasoning": TEXTS,
        "reasoning_content": TEXTS,
        "tool_calls": CALLS,
        "refusal": TEXTS,
    },
)
CHOICES = st.fixed_dictionaries(
    {"delta": DELTAS},
    optional={
        "index": NUMBERS,
        "token_ids": IDS | st.none(),
        "finish_reason": st.none() | st.just("stop"),
        "logprobs": st.none() | st.just({"content": [{"token": "a"}]}),
        "stop_reason": st.none() | st.just(200012),
    },
)
CHUNKS = st.fixed_dictionaries(
    {"choices": st.lists(CHOICES, min_size=1, max_size=2)},
    optional={
        "model": TEXTS,
        "system_fingerprint": TEXTS,
        "id": st.just("chatcmpl-1"),
        "created": st.sampled_from([1795214974, 0.5]),
        "usage": st.none() | st.just({"completion_tokens": 1}),
        "prompt_token_ids": st.none() | st.just([200006, 173781]),
        "error": st.just({"message": "m"}),
    },
)


def reads(texts: list[str]) -> Stream:
    stream = Stream()
    ChatReader(stream).receive([Event(text) for text in texts])
    return stream


def usual(text: str) -> bool:
    try:
        usual_chunk(text)
    except UNUSUAL:
        return False
    return True


@given(st.lists(CHUNKS | st.just("[DONE]"), max_size=6))
def test_both_ways_read_the_same(chunks: list[Any]) -> None:
    short = [chunk if isinstance(chunk, str) else json.dumps(chunk, ensure_ascii=False) for chunk in chunks]
    # A member that nobody knows sends each chunk the long way.
    long = [chunk if isinstance(chunk, str) else json.dumps({**chunk, "unknown": 1}) for chunk in chunks]
    assert not any(map(usual, long))
    assert reads(short) == reads(long)


@pytest.mark.parametrize("number", [-1, 10**9, 1024])
def test_a_choice_that_cannot_be_is_read_both_ways(number: int) -> None:
    choice = {"index": number, "delta": {"content": "a"}, "token_ids": [1]}
    text = json.dumps({"choices": [choice]})
    assert usual(text)
    assert reads([text, text]) == reads([json.dumps({"choices": [choice], "unknown": 1})] * 2)


@pytest.mark.parametrize(
    "delta",
    [
        {"content": "a"},
        {"reasoning": "a", "reasoning_content": "a"},
        {"role": "assistant", "content": "", "tool_calls": []},
        {
            "tool_calls": [
                {"index": 0, "id": "x", "type": "function", "function": {"name": "f", "arguments": ""}}
            ]
        },
    ],
)
def test_what_vllm_sends_most_is_usual(delta: dict[str, Any]) -> None:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None, "token_ids": [1]}
    chunk = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    assert usual(json.dumps(chunk))


@pytest.mark.parametrize(
    "text",
    [
        '{"choices":[{"delta":{"content":"\\ud800"}}]}',
        '{"choices":[{"delta":{"content":"\ud800"}}]}',
        '{"choices":[{"delta":{},"token_ids":[1.0]}]}',
        '{"choices":[{"delta":{}}],"id":NaN}',
        '{"choices":[{"delta":{}}],"created":1e999}',
        '{"choices":[{"delta":{}}]} x',
        "\ufeff{}",
        "[" * 5000,
        "",
    ],
)
def test_what_only_the_standard_library_reads_or_nobody_is_unusual(text: str) -> None:
    assert not usual(text)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists))
def test_any_json_reads_as_the_standard_library_reads_it(value: object) -> None:
    text = json.dumps(value)
    assert repr(loads(text)) == repr(json.loads(text))


@pytest.mark.parametrize(
    "text", ['{"a":1,"a":2}', "1E400", "-0", '"\\ud800"', "[1,]", "1" * 5000, "NaN", '"\x01"']
)
def test_spellings_read_as_the_standard_library_reads_them(text: str) -> None:
    try:
        expected = json.loads(text)
    except ValueError:
        expected = None
    assert repr(loads(text)) == repr(expected)


def test_what_a_usual_chunk_says_about_the_stream() -> None:
    delta = {"reasoning": "a", "reasoning_content": "b"}
    chunk = {"model": "m", "system_fingerprint": "vllm-0.33.0", "choices": [{"delta": delta}]}
    text = json.dumps(chunk)
    assert usual(text)
    stream = reads([text, "[DONE]", text])
    assert (stream.model, stream.fingerprint) == ("m", "vllm-0.33.0")
    assert set(stream.notices) == {"two_reasonings", "after_done"}


def test_ids_in_a_place_of_a_server_are_read_where_it_has_them() -> None:
    stream = Stream(extensions=Extensions(members=frozenset({"a"}), ids_at=(("a", "ids"), ("b", "ids"))))
    ChatReader(stream).receive([Event('{"a":{"ids":[5]},"choices":[]}'), Event('{"usual":1,"choices":[]}')])
    assert stream.choice(0).tokens.ids == [5]
    assert stream.members == {"a"}
