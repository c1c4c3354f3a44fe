"""Streams of the audit's tests as tables, and what was found in them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from inspector.analysis.audit import Finding, Kind, audit
from inspector.analysis.reading import read
from inspector.capture.capture import Capture, Endpoint, Event, Header
from tests.support.streams import CLOSED, Step

__all__ = [
    "ANALYSIS",
    "FINAL",
    "GOOD",
    "STOP",
    "asked",
    "brief",
    "call",
    "changed",
    "found",
    "opened",
    "response",
    "said",
]

ANALYSIS: Step = ("<|channel|>analysis<|message|>", {"role": "assistant", "content": ""})


FINAL: Step = ("<|end|><|start|>assistant<|channel|>final<|message|>", {})


STOP: Step = ("<|return|>", {})


def said(text: str, **delta: Any) -> Step:
    return text, delta


def call(index: int, arguments: str | None = None, name: str | None = None) -> dict[str, Any]:
    function = {"name": name} if name is not None else {}
    if arguments is not None:
        function["arguments"] = arguments
    return {"tool_calls": [{"index": index, "function": function}]}


def opened(name: str, *, first: bool = True) -> str:
    start = "" if first else "<|start|>assistant"
    return f"{start}<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>"


def found(capture: Capture) -> list[Finding]:
    return audit(read(capture))


def brief(findings: Sequence[Finding]) -> list[tuple[Kind, str | None, str | None, str | None]]:
    return [(one.kind, one.field, one.generated, one.delivered) for one in findings]


def asked(capture: Capture, **request: Any) -> Capture:
    return replace(capture, header=replace(capture.header, request=request))


GOOD: list[Step] = [
    ANALYSIS,
    said("Think", reasoning="Think", reasoning_content="Think"),
    said(" hard.", reasoning=" hard.", reasoning_content=" hard."),
    FINAL,
    said("Yes", content="Yes"),
    said(" sir", content=" sir"),
    STOP,
]


def changed(**steps: Mapping[str, Any]) -> list[Step]:
    """GOOD with the deltas of some steps, `_4=...`, replaced."""
    return [(text, steps.get(f"_{number}", delta)) for number, (text, delta) in enumerate(GOOD)]


def response(output: Sequence[Mapping[str, Any]], *, request: Mapping[str, Any], **more: Any) -> Capture:
    """A Responses stream whose deltas are lost on the way: only the final object came."""
    body = {"status": "completed", "output": list(output), **more}
    header = Header(endpoint=Endpoint.RESPONSES, status=200, request=request)
    event = Event(json.dumps({"type": "response.completed", "response": body}))
    return Capture(header=header, events=[event], end=CLOSED)
