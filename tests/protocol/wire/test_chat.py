import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.capture.capture import Event, EventKind
from inspector.capture.deltas import Delta
from inspector.protocol.wire.chat import ChatReader
from inspector.protocol.wire.stream import Stream


def reads(
    *payloads: object, kind: EventKind = EventKind.SSE, separators: tuple[str, str] = (",", ":")
) -> Stream:
    stream = Stream()
    texts = [
        payload if isinstance(payload, str) else json.dumps(payload, separators=separators)
        for payload in payloads
    ]
    ChatReader(stream).receive([Event(text, None, "", kind) for text in texts])
    return stream


def chunk(delta: Mapping[str, Any], **members: Any) -> dict[str, Any]:
    return {
        "id": "c",
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": dict(delta), **members}],
    }


def deltas(*payloads: object) -> Sequence[Delta]:
    return reads(*payloads).choice(0).deltas


@pytest.mark.parametrize(
    ("delta", "expected"),
    [
        ({"role": "assistant", "content": ""}, []),
        ({"content": "a"}, [Delta(0, "content", "a")]),
        ({"reasoning": "a"}, [Delta(0, "reasoning", "a")]),
        ({"reasoning_content": "a"}, [Delta(0, "reasoning", "a")]),
        ({"reasoning": "a", "reasoning_content": "a"}, [Delta(0, "reasoning", "a")]),
        ({"content": "a", "reasoning": "b"}, [Delta(0, "reasoning", "b"), Delta(0, "content", "a")]),
        (
            {"tool_calls": [{"index": 2, "function": {"name": "f", "arguments": "{"}}]},
            [Delta(0, "tool_calls[2].name", "f"), Delta(0, "tool_calls[2].arguments", "{")],
        ),
        (
            {
                "tool_calls": [
                    {"index": 0, "function": {"arguments": "}"}},
                    {"index": 1, "function": {"name": "g"}},
                ]
            },
            [Delta(0, "tool_calls[0].arguments", "}"), Delta(0, "tool_calls[1].name", "g")],
        ),
        ({"content": ["no", "text"], "reasoning": 7, "tool_calls": {"index": 0}}, []),
    ],
)
def test_a_delta_is_read_field_by_field(delta: Mapping[str, Any], expected: list[Delta]) -> None:
    assert deltas(chunk(delta)) == expected


def test_two_reasonings_that_differ_are_noticed() -> None:
    stream = reads(chunk({"reasoning": "a", "reasoning_content": "b"}))
    assert [notice.key for notice in stream.notices.values()] == ["two_reasonings"]


def test_token_ids_may_be_missing_null_or_several() -> None:
    stream = reads(
        chunk({}), chunk({}, token_ids=None), chunk({}, token_ids=[1, 2]), chunk({}, token_ids=[3])
    )
    assert (stream.choice(0).tokens.ids, stream.choice(0).tokens.events) == ([1, 2, 3], [2, 2, 3])


def test_usage_finish_model_prompt_and_fingerprint_are_kept() -> None:
    stream = reads(
        {**chunk({}), "model": "gpt-oss", "prompt_token_ids": [5], "usage": {"completion_tokens": 1}},
        chunk({}, finish_reason="stop"),
        {"choices": [], "usage": {"completion_tokens": 2}, "system_fingerprint": "vllm-0.32.0-x"},
        "[DONE]",
    )
    assert (stream.model, stream.prompt_ids, stream.fingerprint) == ("gpt-oss", [5], "vllm-0.32.0-x")
    assert stream.usage == {"completion_tokens": 2}
    assert (stream.choice(0).finish_reason, stream.choice(0).finish_event, stream.terminal_event) == (
        "stop",
        1,
        3,
    )


@pytest.mark.parametrize("choices", [{}, {"choices": []}])
def test_an_error_inside_the_stream_is_kept(choices: Mapping[str, Any]) -> None:
    stream = reads({**choices, "error": {"message": "boom", "type": "BadRequestError", "code": 400}})
    (error,) = stream.errors
    assert (error.message, error.type, error.code) == ("boom", "BadRequestError", 400)


def test_choices_are_kept_apart_and_wild_indexes_are_noticed() -> None:
    stream = reads(
        {"choices": [{"index": 0, "delta": {"content": "a"}}, {"index": 1, "delta": {"content": "b"}}]},
        {"choices": [{"index": 10**9, "delta": {"content": "c"}}, {"index": -1, "delta": {"content": "d"}}]},
    )
    assert {number: [delta.text for delta in choice.deltas] for number, choice in stream.choices.items()} == {
        0: ["a", "c", "d"],
        1: ["b"],
    }
    assert stream.notices["choice_index"].times == 2


def test_what_follows_done_or_finishes_twice_or_is_no_json_is_noticed() -> None:
    stream = reads(chunk({}, finish_reason="stop"), "[DONE]", chunk({}, finish_reason="stop"), "nope")
    assert set(stream.notices) == {"after_done", "two_finishes", "not_json"}


def test_an_unstreamed_answer_is_read_from_its_message() -> None:
    message = {
        "reasoning": "r",
        "content": "c",
        "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}],
    }
    body = {"choices": [{"index": 0, "message": message, "finish_reason": "stop", "token_ids": [1]}]}
    stream = reads(body, kind=EventKind.BODY)
    assert [delta.field for delta in stream.choice(0).deltas] == [
        "reasoning",
        "content",
        "tool_calls[0].name",
        "tool_calls[0].arguments",
    ]
    assert (stream.terminal_event, stream.choice(0).tokens.ids) == (0, [1])


def test_what_is_no_choice_no_call_and_no_function_is_read_over() -> None:
    calls = [7, {"index": 0}, {"index": 0, "function": "f"}, {"index": 1, "function": {"name": "g"}}]
    stream = reads({"choices": [None, "x", {"index": 0, "delta": {"tool_calls": calls}}]})
    assert stream.choice(0).deltas == [Delta(0, "tool_calls[1].name", "g")]
    body = reads({"choices": [5, {"index": 0, "message": {"content": "a"}}]}, kind=EventKind.BODY)
    assert body.choice(0).deltas == [Delta(0, "content", "a")]


def test_comments_are_read_over_and_common_chunks_after_the_end_are_noticed() -> None:
    plain = '{"id":"a","object":"o","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"%s"}}]}'
    stream = Stream()
    events = [Event(plain % "a"), Event("ping", kind=EventKind.COMMENT), Event(plain % "b"), Event("[DONE]")]
    ChatReader(stream).receive([*events, Event(plain % "c")])
    assert [delta.text for delta in stream.choice(0).deltas] == ["a", "b", "c"]
    assert [(notice.key, notice.event) for notice in stream.notices.values()] == [("after_done", 4)]


@pytest.mark.parametrize("logprobs", ["many", [1], {"tokens": {"a": 1}}, {}])
def test_logprobs_of_another_form_tell_no_ids(logprobs: object) -> None:
    choice = reads(chunk({"content": "a"}, logprobs=logprobs)).choice(0)
    assert (choice.logprob_tokens.ids, choice.deltas) == ([], [Delta(0, "content", "a")])


TEXTS = st.sampled_from(
    ["", "a", " wörd", "👋🏽", 'quo"te', "back\\slash", "line\nfeed", "\ud800", "\x7f", "{}", '",']
)
CHUNKS = st.fixed_dictionaries(
    {
        "index": st.sampled_from([0, 0, 0, 1, 12, 5000]),
        "delta": st.sampled_from(["reasoning", "content", "both", "old", "null", "none"]),
        "text": TEXTS,
        "ids": st.none() | st.lists(st.integers(0, 300000), max_size=4) | st.just([10**9]) | st.just([-1]),
        "finish": st.sampled_from([None, None, None, "stop"]),
        "head": st.sampled_from(["a", "a", "b"]),
        "done": st.sampled_from([False] * 9 + [True]),
    }
)


@given(st.lists(CHUNKS, max_size=12), st.booleans())
def test_the_short_way_for_common_chunks_reads_what_json_reads(
    chunks: list[dict[str, Any]], raw: bool
) -> None:
    """Compact JSON takes the short way, the same values spaced out never do."""
    payloads: list[object] = []
    for shape in chunks:
        text = shape["text"]
        delta: dict[str, Any] = {
            "reasoning": {"reasoning": text},
            "content": {"content": text, "reasoning_content": None},
            "both": {"reasoning": text, "reasoning_content": text},
            "old": {"reasoning_content": text},
            "null": {"reasoning_content": None},
            "none": {},
        }[shape["delta"]]
        choice = {"index": shape["index"], "delta": delta, "logprobs": None, "finish_reason": shape["finish"]}
        if shape["ids"] is not None:
            choice["token_ids"] = shape["ids"]
        payloads.append({"id": shape["head"], "object": "o", "created": 1, "model": "m", "choices": [choice]})
        if shape["done"]:
            payloads.append("[DONE]")

    def texts(separators: tuple[str, str]) -> list[str]:
        return [
            payload
            if isinstance(payload, str)
            else json.dumps(payload, separators=separators, ensure_ascii=not raw)
            for payload in payloads
        ]

    assert reads(*texts((",", ":"))) == reads(*texts((", ", ": ")))


def test_a_plain_chunk_without_ids_is_read_and_noticed_after_the_end() -> None:
    """Written as vLLM does without `return_token_ids`: the reader has a short way for it."""
    head = '{"id":"c","object":"chat.completion.chunk","created":1,"model":"m",'
    plain = head + '"choices":[{"index":0,"delta":{"content":"%s"},"logprobs":null,"finish_reason":null}]}'
    stream = reads(plain % "a", plain % "b", "[DONE]", plain % "c")
    assert [(delta.event, delta.text) for delta in stream.choice(0).deltas] == [(0, "a"), (1, "b"), (3, "c")]
    assert not stream.choice(0).tokens
    assert [(notice.key, notice.event) for notice in stream.notices.values()] == [("after_done", 3)]


@pytest.mark.parametrize(
    ("index", "shown_index"), [(-1, "-1"), (10**9, "1000000000"), ("0", "0"), ([], "a list"), (True, "True")]
)
def test_a_tool_call_with_no_index_that_can_be_goes_by_its_place(index: object, shown_index: str) -> None:
    calls = [{"index": 0, "function": {"name": "f"}}, {"index": index, "function": {"name": "g"}}]
    stream = reads(chunk({"tool_calls": calls}))
    assert [delta.field for delta in stream.choice(0).deltas] == ["tool_calls[0].name", "tool_calls[1].name"]
    assert [notice.detail for notice in stream.notices.values()] == [
        f"a tool call has the index {shown_index}"
    ]
