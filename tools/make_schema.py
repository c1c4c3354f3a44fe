"""The JSON schema of `audit --json`: `python -m tools.make_schema > docs/audit.schema.json`.

Enumerations, findings, facts and causes are read from the code. Objects stay open, as keys are added in later
versions; none is renamed or taken away without a new number in `$id`.
"""

import json
import sys
from dataclasses import fields
from enum import StrEnum
from types import NoneType, UnionType
from typing import Any, Final, get_args, get_origin, get_type_hints

from inspector.analysis.audit import Code, Facts, Finding
from inspector.analysis.audit.finding import FACT_KEYS
from inspector.analysis.audit.outcome import ResponseOutcome
from inspector.analysis.audit.verdict import Level
from inspector.analysis.prompt import MessageState, PromptDifference, PromptSeverity, PromptSource
from inspector.analysis.reading import Evidence
from inspector.capture.capture import Endpoint
from inspector.issues import Alternative, Cause
from inspector.issues.catalogue.issue import Confidence
from inspector.net.reference_clients import ClientOutcome
from inspector.protocol.harmony.reconstruction import Certainty
from inspector.protocol.wire.event_checks import ViolationCode, ViolationKind
from inspector.protocol.wire.excerpt import Excerpt

VERSION: Final = 1

_COUNT: Final = {"type": "integer", "minimum": 0}
_TEXT: Final = {"type": "string"}
_TEXT_OR_NULL: Final = {"type": ["string", "null"]}


def schema() -> dict[str, Any]:
    """The schema as a value."""
    choice = {
        "tokens": _object(
            "Tokens whose IDs are known. `reconstructed`: none was sent, the final object accounts for them.",
            {
                "count": _COUNT,
                "by_channel": {"type": "object", "additionalProperties": _COUNT},
                "reconstructed": {"type": "boolean"},
            },
        ),
        "reconstruction": _or_null("#/$defs/reconstruction"),
        "messages": {"type": "array", "items": {"$ref": "#/$defs/message"}},
        "generated": _or_null("#/$defs/texts"),
        "delivered": {"$ref": "#/$defs/texts"},
    }
    capture = _object(
        "What was found in one capture.",
        {
            "file": _TEXT,
            "endpoint": _enum(Endpoint),
            "model": {},
            "server": _TEXT,
            "gateway": _TEXT_OR_NULL,
            "server_version": _TEXT_OR_NULL,
            "evidence": _enum(Evidence),
            "verdict": _object(
                "Decide by `level` or `outcome`; the sentences may change.",
                {
                    "level": _enum(Level),
                    "outcome": _enum(ResponseOutcome),
                    "sentence": _TEXT,
                    "why": _TEXT,
                    "known": _TEXT,
                    "cause": _or_null("#/$defs/cause"),
                },
            ),
            "causes": {
                "type": "array",
                "description": "The known issues that are named, likeliest first, with their steps.",
                "items": _object(
                    "One of them.",
                    {
                        "id": _TEXT,
                        "title": _TEXT,
                        "match": _enum(Confidence),
                        "steps": {"type": "array", "items": _TEXT, "minItems": 1},
                        "links": {"type": "array", "items": _TEXT},
                    },
                ),
            },
            "summary": _object(
                "What the client got, in words.",
                {
                    "headline": _TEXT,
                    "fault": _TEXT,
                    "fixes": {
                        "type": "array",
                        "items": _object("A part of what to do.", {"text": _TEXT, "url": _TEXT_OR_NULL}),
                    },
                    "clients": _TEXT_OR_NULL,
                },
            ),
            **choice,
            "error": _or_null("#/$defs/error"),
            "finish_reason": _TEXT_OR_NULL,
            "findings": {"type": "array", "items": {"$ref": "#/$defs/finding"}},
            "notes": {"type": "array", "items": _TEXT},
            "unfinished": {
                "type": "boolean",
                "description": "True for a recording that still grows, or whose recorder was stopped.",
            },
            "excerpt": {
                "enum": [*(str(excerpt) for excerpt in Excerpt), None],
                "description": "What the file lacks of the response, or may lack; null for a whole one.",
            },
            "prompt": _or_null("#/$defs/prompt"),
            "violations": {
                "type": "array",
                "description": "Where events contradict the published schema or each other.",
                "items": _object(
                    "A violation, first in an event.",
                    {
                        "kind": _enum(ViolationKind),
                        "code": _enum(ViolationCode),
                        "event": _COUNT,
                        "times": _COUNT,
                        "sentence": _TEXT,
                    },
                ),
            },
            "clients": {
                "type": "array",
                "description": "With --client: whether the official SDK can read the response.",
                "items": _object(
                    "A client.",
                    {
                        "client": _TEXT,
                        "outcome": _enum(ClientOutcome),
                        "accepts": {"type": "boolean"},
                        "error": _TEXT_OR_NULL,
                        "fields": {"type": "array", "items": _TEXT},
                    },
                ),
            },
            "choices": {
                "type": "array",
                "description": "Only of a response with several choices.",
                "items": _object("One choice.", {"index": _COUNT, "evidence": _enum(Evidence), **choice}),
            },
        },
        optional=("choices",),
    )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:harmony-inspector:audit:{VERSION}",
        "title": f"Output of `python -m inspector audit --json`, version {VERSION}",
        "description": "An object for one capture, an array for several. Keys and enumerated values are "
        "added, never renamed.",
        "anyOf": [{"$ref": "#/$defs/capture"}, {"type": "array", "items": {"$ref": "#/$defs/capture"}}],
        "$defs": {
            "capture": capture,
            "finding": _finding(),
            "cause": _cause(),
            "facts": _facts(),
            "message": _object(
                "A Harmony message of the generated tokens; the span is half-open.",
                {
                    "role": _TEXT_OR_NULL,
                    "channel": _TEXT_OR_NULL,
                    "recipient": _TEXT_OR_NULL,
                    "content_type": _TEXT_OR_NULL,
                    "text": _TEXT,
                    "token_start": _COUNT,
                    "token_end": _COUNT,
                    "complete": {"type": "boolean"},
                },
            ),
            "reconstruction": _object(
                "Responses without token IDs: the messages of the final object, encoded again, against the "
                "server's token count.",
                {
                    "certainty": _enum(Certainty),
                    "count": _COUNT,
                    "counted": {"type": ["integer", "null"], "minimum": 0},
                    "missing": {"type": ["integer", "null"]},
                    "fits": {"type": "array", "items": _TEXT},
                },
            ),
            "texts": _object(
                "Texts by field.",
                {
                    "content": _TEXT,
                    "reasoning": _TEXT,
                    "tool_calls": {
                        "type": "array",
                        "items": _object("A tool call.", {"name": _TEXT, "arguments": _TEXT}),
                    },
                    "text": _TEXT,
                    "other": {"type": "object", "additionalProperties": _TEXT},
                },
                optional=("text", "other"),
            ),
            "prompt": _prompt(),
            "error": _object(
                "The server's own error.", {"message": _TEXT, "type": {}, "code": {}, "event": _COUNT}
            ),
        },
    }


def text() -> str:
    """The schema as its file has it."""
    return json.dumps(schema(), indent=2) + "\n"


def _finding() -> dict[str, Any]:
    hints = get_type_hints(Finding)
    names = [field.name for field in fields(Finding) if field.name not in FACT_KEYS]
    return _object(
        "One difference or failure; spans are half-open, null where there is no such place.",
        {
            "code": _enum(Code),
            **{
                name: {"$ref": "#/$defs/facts"} if name == "facts" else _of_type(hints[name], nullable=True)
                for name in names
            },
            "explanation": _TEXT,
            "cause": _or_null("#/$defs/cause"),
        },
    )


def _facts() -> dict[str, Any]:
    hints = get_type_hints(Finding)
    for facts in get_args(Facts):
        hints |= get_type_hints(facts)
    return _object(
        "Typed facts of a finding; one that is not known is left out.",
        {key: _of_type(hints[key], nullable=False) for key in FACT_KEYS},
        optional=FACT_KEYS,
    )


def _cause() -> dict[str, Any]:
    schema = _of_class(Cause, "A known issue named as the cause: its ID, and what the match rests on.")
    schema["properties"]["alternatives"] = {
        "type": "array",
        "items": _of_class(Alternative, "A cause that looks the same, with the command that separates them."),
    }
    return schema


def _prompt() -> dict[str, Any]:
    difference = _of_class(
        PromptDifference,
        "A difference from the request; spans are half-open, null where there is no such place.",
    )
    difference["properties"] |= {"severity": _enum(PromptSeverity), "explanation": _TEXT}
    difference["required"] += ["severity", "explanation"]
    return _object(
        "The prompt, where its token IDs are known, and how it differs from what the request asks for. "
        "Nothing in it changes `verdict`.",
        {
            "source": _enum(PromptSource),
            "tokens": _COUNT,
            "counted": {"type": ["integer", "null"], "minimum": 0},
            "compared": {"type": "boolean"},
            "identical": {"type": "boolean"},
            "sentence": _TEXT,
            "messages": {
                "type": "array",
                "items": _object(
                    "A message of the prompt; the span is half-open.",
                    {
                        "state": _enum(MessageState),
                        **dict.fromkeys(
                            ("role", "name", "channel", "recipient", "content_type"), _TEXT_OR_NULL
                        ),
                        "token_start": _COUNT,
                        "token_end": _COUNT,
                    },
                ),
            },
            "differences": {"type": "array", "items": difference},
        },
    )


def _or_null(ref: str) -> dict[str, Any]:
    return {"anyOf": [{"$ref": ref}, {"type": "null"}]}


def _of_class(cls: type, description: str) -> dict[str, Any]:
    hints = get_type_hints(cls)
    return _object(
        description, {field.name: _of_type(hints[field.name], nullable=True) for field in fields(cls)}
    )


def _of_type(hint: Any, *, nullable: bool) -> dict[str, Any]:
    if isinstance(hint, UnionType):
        (inner,) = [member for member in get_args(hint) if member is not NoneType]
        schema = _of_type(inner, nullable=nullable)
        return {**schema, "type": [schema["type"], "null"]} if nullable else schema
    if get_origin(hint) is tuple:
        return {"type": "array", "items": _of_type(get_args(hint)[0], nullable=False)}
    if issubclass(hint, StrEnum):
        return _enum(hint)
    return {"type": {str: "string", bool: "boolean", int: "integer"}.get(hint, "object")}


def _enum(cls: type[StrEnum]) -> dict[str, Any]:
    return {"type": "string", "enum": [str(member) for member in cls]}


def _object(description: str, properties: dict[str, Any], *, optional: Any = ()) -> dict[str, Any]:
    return {
        "type": "object",
        "description": description,
        "properties": properties,
        "required": [name for name in properties if name not in optional],
    }


if __name__ == "__main__":
    sys.stdout.write(text())
