"""Plain completions and unstreamed responses: joined messages, stop strings, prompts, logprobs."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from inspector.analysis.audit import Kind
from inspector.analysis.reading import ChoiceReading, Evidence, read
from inspector.capture.capture import Capture, Endpoint, Event, EventKind, Header
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.vocab import encode, token_bytes
from tests.support.audits import (
    CLEAN,
    brief,
    findings_of,
    opened,
)
from tests.support.streams import CLOSED, chat_chunk, completion


def unstreamed(message: Mapping[str, Any], text: str) -> Capture:
    body = {"choices": [{"index": 0, "message": message, "finish_reason": "stop", "token_ids": encode(text)}]}
    event = Event(json.dumps(body), 0.1, "", EventKind.BODY)
    return Capture(header=Header(endpoint=Endpoint.CHAT, status=200), events=[event], end=CLOSED)


def test_an_unstreamed_answer_may_join_messages_and_write_arguments_anew() -> None:
    text = "".join(
        [
            "<|channel|>analysis<|message|>One.<|end|>",
            "<|start|>assistant<|channel|>analysis<|message|>Two.<|end|>",
            opened("f", first=False),
            '{"a":1,"b":"é"}<|call|>',
        ]
    )
    tool = {"function": {"name": "f", "arguments": '{"a": 1, "b": "\\u00e9"}'}}
    assert findings_of(unstreamed({"reasoning": "One.\nTwo.", "tool_calls": [tool]}, text)) == []
    (finding,) = findings_of(unstreamed({"reasoning": "One.", "tool_calls": [tool]}, text))
    assert brief([finding]) == [(Kind.DROPPED, "reasoning", "Two.", "")]


def test_line_feeds_that_join_messages_are_not_text_from_nowhere() -> None:
    words = ["One.", "Two.", "Three."]
    text = "<|end|><|start|>assistant".join(f"<|channel|>analysis<|message|>{word}" for word in words)
    (finding,) = findings_of(unstreamed({"reasoning": "One.\nThree."}, text + "<|end|>"))
    assert brief([finding]) == [(Kind.DROPPED, "reasoning", "Two.", "")]


@pytest.mark.parametrize(
    ("request_", "steps", "kinds"),
    [
        ({}, [("<|channel|>analysis<|message|>Hi", "analysisHi"), ("<|return|>", "")], []),
        ({"skip_special_tokens": False}, [("<|message|>Hi", "<|message|>Hi"), ("<|return|>", "")], []),
        (
            {"skip_special_tokens": False, "include_stop_str_in_output": True},
            [("<|message|>Hi", "<|message|>Hi"), ("<|return|>", "<|return|>")],
            [],
        ),
        ({"stop": [" STOP"]}, [("<|message|>Hi there STOP", "Hi there")], []),
        ({"stop": " STOP"}, [("<|message|>Hi", ""), (" there", "Hi"), (" STOP", " there")], []),
        ({"stop_token_ids": encode(" there")}, [("<|message|>Hi", "Hi"), (" there", "")], []),
        ({}, [("<|message|>Hi", "Hi"), (" there", ""), ("<|return|>", "")], [Kind.DROPPED]),
    ],
)
def test_plain_completions_end_where_the_request_says(
    request_: Mapping[str, Any], steps: list[tuple[str, str]], kinds: list[Kind]
) -> None:
    assert [finding.kind for finding in findings_of(completion(steps, request=request_))] == kinds


def logprobs(name: str) -> dict[str, Any]:
    return {"content": [{"token": name}]}


def test_logprobs_are_evidence_only_when_every_entry_tells_its_id() -> None:
    def stream(names: Sequence[str]) -> Capture:
        chunks = [
            {"choices": [{"index": 0, "delta": {}, "logprobs": logprobs(name), "finish_reason": None}]}
            for name in names
        ]
        events = [Event(json.dumps(chunk)) for chunk in chunks]
        return Capture(header=Header(endpoint=Endpoint.CHAT), events=events)

    named = ["<|channel|>", "final", "<|message|>", "token_id:12194"]
    assert read(stream(named)).choice.evidence is Evidence.LOGPROBS
    assert read(stream(named)).choice.tokens.ids == encode("<|channel|>final<|message|>Hi")
    assert read(stream([*named, "\ufffd"])).choice.evidence is Evidence.NONE


def test_findings_of_several_choices_name_their_choice() -> None:
    data = []
    for text, delta in CLEAN:
        last = text == "<|return|>"
        for index in (0, 1):
            lost = index == 1 and text == " sir"
            finish = "stop" if last else None
            data.append(chat_chunk(encode(text), {} if lost else delta, finish=finish, index=index))
    events = [Event(payload) for payload in [*data, "[DONE]"]]
    (finding,) = findings_of(Capture(header=Header(endpoint=Endpoint.CHAT), events=events, end=CLOSED))
    assert (finding.kind, finding.choice, finding.generated) == (Kind.DROPPED, 1, " sir")


def test_a_character_that_the_end_of_a_completion_cuts_off_is_no_loss() -> None:
    half = encode(" \U0001f98a")[0]  # a space and the first bytes of the fox
    ids = [*encode("<|channel|>final<|message|>Wave"), half]
    choice = {
        "index": 0,
        "text": "<|channel|>final<|message|>Wave",
        "token_ids": ids,
        "finish_reason": "length",
    }
    events = [Event(json.dumps({"object": "text_completion", "choices": [choice]})), Event("[DONE]")]
    request = {"skip_special_tokens": False}
    header = Header(endpoint=Endpoint.COMPLETIONS, status=200, request=request)
    assert [finding.kind for finding in findings_of(Capture(header=header, events=events, end=CLOSED))] == [
        Kind.TRUNCATED
    ]
    lost = {**choice, "text": "<|channel|>final<|message|>"}
    events[0] = Event(json.dumps({"object": "text_completion", "choices": [lost]}))
    assert Kind.DROPPED in {
        finding.kind for finding in findings_of(Capture(header=header, events=events, end=CLOSED))
    }


def test_markers_in_a_completion_s_text_tell_what_an_unknown_request_asked_for() -> None:
    text = "<|channel|>final<|message|>Hi<|return|>"
    capture = completion([(text, text.removesuffix("<|return|>"))])
    assert findings_of(capture) == []
    assert [finding.kind for finding in findings_of(completion([(text, "finalHi")]))] == []


@pytest.mark.parametrize("prompt_known", [True, False])
def test_the_prompt_that_echo_puts_first_is_not_the_answer(prompt_known: bool) -> None:
    text = "<|channel|>final<|message|>Hi"
    steps = [(text, f"Say hi{text}"), (" there", " there"), ("<|return|>", "")]
    request_ = {"echo": True, "prompt": "Say hi", "skip_special_tokens": False} if prompt_known else None
    assert findings_of(completion(steps, request=request_)) == []


def test_where_the_answer_begins_is_not_known_nothing_is_called_lost() -> None:
    steps = [("<|channel|>final<|message|>Hi<|return|>", "Say hiHi")]
    assert findings_of(completion(steps, request={"echo": True})) == []
    (finding,) = findings_of(completion(steps, request={"echo": False}))
    assert (finding.kind, finding.generated) == (Kind.GARBLED, "final")


def test_a_character_split_over_logprob_entries_is_read_by_their_bytes() -> None:
    ids = encode("<|channel|>final<|message|>Hi 🦊<|return|>")
    entries = [
        {"token": text_of([token_id]), "bytes": list(token_bytes(token_id)), "logprob": -0.1}
        for token_id in ids
    ]
    assert any("\ufffd" in str(entry["token"]) for entry in entries)
    choice = {"index": 0, "message": {"content": "Hi 🦊"}, "logprobs": {"content": entries}}
    body = {"choices": [{**choice, "finish_reason": "stop"}], "usage": {"completion_tokens": len(ids)}}

    def reading(body: dict[str, Any]) -> ChoiceReading:
        event = Event(json.dumps(body), kind=EventKind.BODY)
        return read(Capture(header=Header(endpoint=Endpoint.CHAT), events=[event])).choice

    assert (reading(body).evidence, reading(body).tokens.ids) == (Evidence.LOGPROBS, ids)
    for entry in entries:  # vLLM's bytes of half a character are those of U+FFFD
        entry["bytes"] = list(str(entry["token"]).encode())
    assert reading(body).evidence is Evidence.USAGE
