"""Harmony in delivered text, where no token IDs are: what is an error, and of which field."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from inspector.analysis.audit import Code
from inspector.analysis.audit.outcome import ResponseOutcome
from inspector.analysis.audit.verdict import Level
from inspector.capture.capture import Capture, Endpoint, Event, EventKind, Header
from inspector.inspection.inspection import Inspection, inspect

UNPARSED = "<|channel|>analysis<|message|>Add.<|end|><|start|>assistant<|channel|>final<|message|>3<|return|>"


def body(message: Mapping[str, Any], **request: Any) -> Inspection:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
    event = Event(json.dumps({"choices": [choice]}), kind=EventKind.BODY)
    return inspect(Capture(header=Header(endpoint=Endpoint.CHAT, request=request), events=[event]))


def codes(inspection: Inspection) -> list[tuple[Code, str | None]]:
    return [(finding.code, finding.field) for finding in inspection.findings]


@pytest.mark.parametrize("field", ["content", "reasoning", "refusal"])
def test_each_field_is_read(field: str) -> None:
    inspection = body({field: UNPARSED})
    assert codes(inspection) == [(Code.TRANSCRIPT_UNPARSED, field)]
    assert inspection.verdict.level is Level.ERROR
    assert inspection.verdict.outcome is ResponseOutcome.DAMAGED


def test_a_request_for_raw_text_accuses_nobody() -> None:
    assert body({"content": UNPARSED}).verdict.blame == "The server's fault."
    asked = body({"content": UNPARSED}, separate_reasoning=False).verdict
    assert asked.blame == ""
    assert "`separate_reasoning: false`" in asked.why


def test_a_malformed_transcript_is_said_to_be_one() -> None:
    broken = body({"content": UNPARSED.replace("<|end|>", "<|end|> oh")}).verdict
    assert "breaks the format too" in broken.why


def test_arguments_may_have_any_text_in_their_json() -> None:
    for arguments, expected in (
        (json.dumps({"code": UNPARSED}), []),
        ("{}<|call|>", [Code.TOKEN_IN_TEXT]),
    ):
        call = {"id": "c", "type": "function", "function": {"name": "write", "arguments": arguments}}
        inspection = body({"tool_calls": [call]})
        texts = [code for code, _ in codes(inspection) if code is not Code.ARGUMENTS_INVALID_ORIGIN_UNKNOWN]
        assert texts == expected


def test_a_transcript_that_is_too_long_to_parse_is_one_all_the_same() -> None:
    inspection = body({"content": "<|channel|>final<|message|>" + "a b " * 600_000})
    assert codes(inspection) == [(Code.TRANSCRIPT_UNPARSED, "content")]
