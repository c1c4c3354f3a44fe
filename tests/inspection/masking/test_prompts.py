"""Prompts without their text: the copy differs from its request as the original does."""

import json
from typing import Any

import pytest

from inspector.analysis.prompt.prompt import prompt_of
from inspector.analysis.prompt.rendering import render
from inspector.analysis.prompt.requested import requested_by_chat
from inspector.analysis.reading import read
from inspector.capture.capture import Capture, End, Endpoint, Event, Header
from inspector.inspection.masking import Standins, masked
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.vocab import encode
from tests.support.builtin import CAPTURES

FUNCTION = {
    "name": "final_to_a",
    "description": "Weather of a city: any string.\nIn two lines of a text",
    "parameters": {
        "type": "object",
        "properties": {
            "a": {"type": "string", "description": "a city", "enum": ["Paris", "a", "3"], "default": "a"},
            "type": {"type": "integer", "default": 12},
            "deep": {"type": "object", "properties": {"city": {"type": ["string", "null"]}}},
            "list": {"type": "array", "items": {"type": "string"}, "description": "cities in 東京, été"},
        },
    },
}
CALL = {"id": "call_1", "type": "function", "function": {"name": "final_to_a", "arguments": '{"a": "Paris"}'}}
REQUEST: dict[str, Any] = {
    "messages": [
        {"role": "system", "content": "Answer a user.\n\nReasoning: be short, a city is a string."},
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": None, "reasoning": "It is Paris", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_1", "content": "12 degrees in Paris"},
        {"role": "assistant", "content": "It has 12."},
        {"role": "user", "content": "And the city of Rome?"},
    ],
    "tools": [
        {"type": "function", "function": FUNCTION},
        {"type": "function", "function": {"name": "python"}},
    ],
}
SENT = text_of(render(requested_by_chat(REQUEST))).replace(
    "\n\nReasoning:", "\nCurrent date: 2026-11-20\n\nReasoning:", 1
)
ANSWER = (
    "<|channel|>analysis<|message|>Call final_to_a for a city<|end|><|start|>assistant<|channel|>commentary"
    ' to=functions.final_to_a <|constrain|>json<|message|>{"a": "Rome"}<|call|>'
)
CHANGES = {
    "none": ("", ""),
    "a word of an instruction": ("be short", "be long"),
    "a date": ("2026-11-20", "2025-01-01"),
    "a lost parameter": ("type?:", "kind?:"),
    "a lost tool": ("type python = () => any;", ""),
    "a changed message": ("And the city", "Or a city"),
    "a lost result": ("12 degrees in Paris", ""),
}


def capture_of(request: dict[str, Any], prompt: str) -> Capture:
    chunk = {
        "created": 1_763_640_000,
        "prompt_token_ids": encode(prompt),
        "choices": [{"index": 0, "delta": {}, "token_ids": encode(ANSWER), "finish_reason": "tool_calls"}],
    }
    return Capture(
        header=Header(endpoint=Endpoint.CHAT, request=request, started_at="2026-11-20T10:00:00+00:00"),
        events=[Event(json.dumps(chunk), 0.1), Event("[DONE]", 0.2)],
        end=End(at_s=0.2, cut=False),
    )


def prompt_facts(capture: Capture) -> object:
    prompt = prompt_of(read(capture))
    if prompt is None:
        return None
    codes = [
        (difference.code, difference.message, difference.request_message) for difference in prompt.differences
    ]
    return prompt.source, bool(prompt.unknown), prompt.identical, codes


@pytest.mark.parametrize("name", CAPTURES)
def test_a_built_in_capture_has_the_same_findings_about_its_prompt(name: str) -> None:
    assert prompt_facts(masked(CAPTURES[name], Standins(b"prompt"))) == prompt_facts(CAPTURES[name])


@pytest.mark.parametrize("change", CHANGES)
def test_what_a_server_changed_in_a_prompt_is_changed_in_the_copy(change: str) -> None:
    capture = capture_of(REQUEST, SENT.replace(*CHANGES[change]) if change != "none" else SENT)
    copy = masked(capture, Standins(b"changed"))
    assert prompt_facts(copy) == prompt_facts(capture)
    ids = read(copy).stream.prompt_ids or []
    assert not any(word in text_of(ids) for word in ("Rome", "Paris", "final_to_a", "degrees", "short"))
    assert "\nCurrent date: " in text_of(ids)
