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
    "CLEAN",
    "FINAL",
    "STOP",
    "asked",
    "brief",
    "call",
    "changed",
    "findings_of",
    "opened",
    "response",
    "text_step",
]

ANALYSIS: Step = ("<|channel|>analysis<|message|>", {"role": "assistant", "content": ""})


FINAL: Step = ("<|end|><|start|>assistant<|channel|>final<|message|>", {})


STOP: Step = ("<|return|>", {})


def text_step(text: str, **delta: Any) -> Step:
    return text, delta


def call(index: int, arguments: str | None = None, name: str | None = None) -> dict[str, Any]:
    function = {"name": name} if name is not None else {}
    if arguments is not None:
        function["arguments"] = arguments
    return {"tool_calls": [{"index": index, "function": function}]}


def opened(name: str, *, first: bool = True) -> str:
    start = "" if first else "<|start|>assistant"
    return f"{start}<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>"


def findings_of(capture: Capture) -> list[Finding]:
    return audit(read(capture))


def brief(findings: Sequence[Finding]) -> list[tuple[Kind, str | None, str | None, str | None]]:
    return [(finding.kind, finding.field, finding.generated, finding.delivered) for finding in findings]


def asked(capture: Capture, **request: Any) -> Capture:
    return replace(capture, header=replace(capture.header, request=request))


CLEAN: list[Step] = [
    ANALYSIS,
    text_step("Think", reasoning="Think", reasoning_content="Think"),
    text_step(" hard.", reasoning=" hard.", reasoning_content=" hard."),
    FINAL,
    text_step("Yes", content="Yes"),
    text_step(" sir", content=" sir"),
    STOP,
]


def changed(**steps: Mapping[str, Any]) -> list[Step]:
    """CLEAN with the deltas of some steps, `_4=...`, replaced."""
    return [(text, steps.get(f"_{number}", delta)) for number, (text, delta) in enumerate(CLEAN)]


def response(output: Sequence[Mapping[str, Any]], *, request: Mapping[str, Any], **members: Any) -> Capture:
    """A Responses stream whose deltas are lost on the way: only the final object came."""
    body = {"status": "completed", "output": list(output), **members}
    header = Header(endpoint=Endpoint.RESPONSES, status=200, request=request)
    event = Event(json.dumps({"type": "response.completed", "response": body}))
    return Capture(header=header, events=[event], end=CLOSED)
