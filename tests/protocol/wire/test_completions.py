import json
from typing import Any

from inspector.capture.capture import Event, EventKind
from inspector.capture.deltas import Delta
from inspector.protocol.wire.completions import CompletionsReader
from inspector.protocol.wire.stream import Stream


def reads(*payloads: object, kind: EventKind = EventKind.SSE) -> Stream:
    stream = Stream()
    texts = [payload if isinstance(payload, str) else json.dumps(payload) for payload in payloads]
    CompletionsReader(stream).receive([Event(text, None, "", kind) for text in texts])
    return stream


def chunk(text: str, **members: Any) -> dict[str, Any]:
    return {"object": "text_completion", "choices": [{"index": 0, "text": text, **members}], "usage": None}


def test_text_ids_prompt_and_finish_are_read() -> None:
    stream = reads(
        chunk("a", token_ids=[1], prompt_token_ids=[9]),
        chunk("", token_ids=[2], finish_reason="stop"),
        {"choices": [], "usage": {"completion_tokens": 2}},
        "[DONE]",
    )
    choice = stream.choice(0)
    assert (choice.deltas, choice.tokens.ids, choice.tokens.events) == (
        [Delta(0, "text", "a")],
        [1, 2],
        [0, 1],
    )
    assert (stream.prompt_ids, choice.finish_reason, stream.terminal_event) == ([9], "stop", 3)
    assert stream.usage == {"completion_tokens": 2}


def test_logprobs_name_ids() -> None:
    stream = reads(chunk("a", logprobs={"tokens": ["token_id:5", "<|end|>"]}))
    assert (stream.choice(0).logprob_tokens.ids, stream.choice(0).logprobs_whole) == ([5, 200007], True)


def test_a_body_ends_the_answer_and_an_error_is_told() -> None:
    assert reads(chunk("a", finish_reason="stop"), kind=EventKind.BODY).terminal_event == 0
    assert [error.message for error in reads({"error": {"message": "boom"}}).errors] == ["boom"]
    assert set(reads("<html>", kind=EventKind.BODY).notices) == {"not_json"}


def test_what_is_no_choice_is_read_over_and_a_second_finish_is_noticed() -> None:
    stream = reads(
        {"choices": [None, {"index": 0, "text": "a", "finish_reason": "stop"}]},
        chunk("b", finish_reason="length"),
    )
    assert [delta.text for delta in stream.choice(0).deltas] == ["a", "b"]
    assert set(stream.notices) == {"two_finishes"}
    assert (stream.choice(0).finish_reason, stream.choice(0).finish_event) == ("length", 1)


def test_comments_and_text_without_json_are_told_apart() -> None:
    stream = Stream()
    CompletionsReader(stream).receive([Event("ping", None, "", EventKind.COMMENT), Event("{broken")])
    assert [(notice.key, notice.event) for notice in stream.notices.values()] == [("not_json", 1)]


def test_model_and_fingerprint_are_read() -> None:
    stream = reads({**chunk("a"), "model": "gpt-oss", "system_fingerprint": "vllm-0.32.0-tp1"})
    assert (stream.model, stream.fingerprint) == ("gpt-oss", "vllm-0.32.0-tp1")
