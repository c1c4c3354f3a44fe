"""Harmony as text."""

import json

import pytest

from inspector.capture.capture import Capture, Endpoint
from inspector.inspection.inspection import inspect
from inspector.protocol.harmony.vocab import encode
from tests.support.foreign import read, refusal
from tests.support.forms import COMPLETION, IDS, PROMPT


def ids(capture: Capture) -> list[int]:
    (event,) = capture.events
    parsed: list[int] = json.loads(event.data)
    return parsed


@pytest.mark.parametrize("before", ["", "\n", "<|start|>system<|message|>S<|end|>" + PROMPT, PROMPT])
@pytest.mark.parametrize("after", ["", "\n", "\r\n"])
def test_text_is_the_tokens_that_follow_the_prompt(before: str, after: str) -> None:
    capture = read(before + COMPLETION + after)
    assert capture.header.endpoint is Endpoint.TOKENS
    assert ids(capture) == IDS
    assert capture.header.request == ({"prompt": before} if before.strip() else {})
    assert "were computed from text" in capture.notes[0]
    assert inspect(capture).findings == []


def test_text_in_quotes_or_a_block_and_behind_the_role_is_the_same() -> None:
    spaced = COMPLETION.replace("Hi", "Hi\n\U0001f9a9 'a\"")
    for text in (json.dumps(spaced), repr(spaced), f"```text\n{spaced}\n```\n", f"assistant{spaced}"):
        assert ids(read(text)) == encode(spaced)
        assert inspect(read(text)).findings == []


def test_a_result_of_a_tool_is_part_of_the_prompt_and_a_bad_role_is_not() -> None:
    call = "<|channel|>commentary to=functions.f<|message|>{}<|call|>"
    turn = f"{PROMPT}{call}<|start|>functions.f to=assistant<|channel|>commentary<|message|>1<|end|>"
    assert ids(read(f"{turn}<|start|>assistant{COMPLETION}")) == IDS
    bad_role = f"{COMPLETION.removesuffix('<|return|>')}<|end|><|start|>assistantary<|message|>x"
    assert ids(read(PROMPT + bad_role)) == encode(bad_role)
    assert [str(finding.kind) for finding in inspect(read(PROMPT + bad_role)).findings] != []


def test_a_text_that_stops_within_a_message_is_truncated() -> None:
    (finding,) = inspect(read(COMPLETION.removesuffix("Hi<|return|>") + "H\n")).findings
    assert str(finding.kind) == "truncated"


def test_a_prompt_alone_is_rejected() -> None:
    history = f"{PROMPT}{COMPLETION}<|start|>assistant"
    for text in (PROMPT, "<|start|>system<|message|>S<|end|>", history):
        assert refusal(text).startswith("f: contains a prompt and nothing that a model generated")
    assert refusal("He wrote <|start|> there").startswith("f: unrecognized format")
