"""The lab's scripts as fixtures of CanIToolCall, and its fixtures as scripts of the lab.

The format is that of its spec/fixture.schema.json, version 0.1: one JSON object per line with the raw output
of a model, before its stop token, and what a parser must make of it.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from inspector.capture.deltas import CONTENT, REASONING
from inspector.capture.errors import LabError
from inspector.lab.asking import function
from inspector.lab.scripts import STOPS, Expectation, Piece, Script, ScriptClass, ToolCall
from inspector.protocol.harmony.contract import expect
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.tracker import HarmonyTracker
from inspector.protocol.harmony.transcript import Transcript
from inspector.protocol.harmony.vocab import Marker, encode
from inspector.protocol.wire.stream import loads

FAMILY: Final = "gpt-oss"
SPEC: Final = "0.1"
_MODELS: Final = ("openai/gpt-oss-20b", "openai/gpt-oss-120b")
_TOKENIZER: Final = {
    "repo": "openai/gpt-oss-20b",
    "revision": "6cee5e81ee83917806bbde320786a8fb61efebee",
    "mode": "hf",
}
"""The pin of its family.json for gpt-oss."""
_NOT_IN_NAMES: Final = re.compile(r"[^a-z0-9]+")
_TRUNCATED: Final = "truncated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixture:
    """One fixture, as far as it is used here."""

    id: str
    ids: tuple[int, ...]
    """Sampled tokens, without the stop token."""
    tools: tuple[str, ...]
    expected: Mapping[str, Any] | None
    """What a parser must make of it; None where it must only fail gracefully."""
    reason: str
    """Why it is malformed."""
    truncated: bool


def fixtures_of(path: Path) -> tuple[list[Fixture], int]:
    """The gpt-oss fixtures of a file, and how many of other families it has; raises LabError."""
    found: list[Fixture] = []
    others = 0
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise LabError(f"{path}: cannot be read ({error}); pass a JSONL file of fixtures") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        row = loads(line)
        if not isinstance(row, dict) or row.get("spec_version") != SPEC:
            raise LabError(f"{path}:{number}: not a CanIToolCall fixture of version {SPEC}")
        if row.get("family") != FAMILY:
            others += 1
            continue
        try:
            found.append(_fixture(row))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise LabError(f"{path}:{number}: damaged fixture ({error!r})") from error
    return found, others


def _fixture(row: Mapping[str, Any]) -> Fixture:
    ids = row.get("output_token_ids")
    if ids is not None and not all(type(one) is int for one in ids):
        raise ValueError("output_token_ids")
    expected, error = row.get("expected"), row.get("expected_error")
    return Fixture(
        id=str(row["id"]),
        ids=tuple(encode(row["raw_output"]) if ids is None else ids),
        tools=tuple(str(tool["function"]["name"]) for tool in row["tools"]),
        expected=None if expected is None else _expected(expected),
        reason="" if error is None else str(error["reason"]),
        truncated=_TRUNCATED in row["tags"],
    )


def _expected(told: Mapping[str, Any]) -> dict[str, Any]:
    for key in ("content", "reasoning_content"):
        if not isinstance(told[key], str | None):
            raise ValueError(key)
    calls = [{"name": str(call["name"]), "arguments": call["arguments"]} for call in told["tool_calls"]]
    return {**told, "tool_calls": calls}


def script_of(fixture: Fixture) -> Script:
    """A fixture as a script: its tokens with the stop token, which its format leaves out."""
    reading = _Read(fixture.ids)
    ids = fixture.ids
    if not fixture.truncated:
        ids = (*ids, int(Marker.CALL if reading.ends_in_call else Marker.RETURN))
    told = fixture.expected
    if told is None:
        found = Expectation(
            reasoning=(Piece(reading.reasoning, required=False),) if reading.reasoning else (),
            content=(Piece(reading.content, required=False),) if reading.content else (),
        )
    else:
        found = Expectation(
            reasoning=_pieces(told["reasoning_content"]),
            content=_pieces(told["content"]),
            tool_calls=tuple(
                ToolCall(call["name"], _arguments(call, reading)) for call in told["tool_calls"]
            ),
            finish="length" if fixture.truncated else "",
        )
    name = _NOT_IN_NAMES.sub("_", fixture.id.removeprefix(f"{FAMILY}/").lower()).strip("_")
    calls = told is not None and bool(told["tool_calls"])
    kind = ScriptClass.CALLS if calls else ScriptClass.TEXT if told is not None else ScriptClass.HEADERS
    return Script(
        name=name,
        sentence=fixture.reason or f"CanIToolCall's fixture {fixture.id}.",
        turns=(ids,),
        well_formed=not _Read(ids).refused,
        example_of=ScriptClass.CUT if fixture.truncated else kind,
        expect=found,
        request={"max_tokens": len(ids)} if fixture.truncated else _going_on(ids),
        tools=fixture.tools,
    )


def _going_on(ids: Sequence[int]) -> dict[str, Any]:
    """Options of a request whose output has a stop token before its end, where generation usually ends."""
    return {"ignore_eos": True, "max_tokens": len(ids)} if any(one in STOPS for one in ids[:-1]) else {}


def _pieces(text: str | None) -> tuple[Piece, ...]:
    return (Piece(text, required=True),) if text else ()


def _arguments(call: Mapping[str, Any], reading: "_Read") -> str:
    """The arguments as the model wrote them; a fixture tells their values only."""
    for name, text in reading.calls:
        if name == call["name"] and loads(text or "{}") == call["arguments"]:
            return text
    return json.dumps(call["arguments"], ensure_ascii=False)


def disagreement(fixture: Fixture) -> str:
    """How our reading of the tokens differs from what a fixture expects; empty where it agrees."""
    reading, told = _Read(fixture.ids), fixture.expected
    if told is None:
        return "" if not reading.calls else "it expects no tool call, and the tokens have one"
    if (reading.reasoning or None) != (told["reasoning_content"] or None):
        return f"reasoning: {reading.reasoning!r} against {told['reasoning_content']!r}"
    if (reading.content or None) != (told["content"] or None):
        return f"content: {reading.content!r} against {told['content']!r}"
    mine = [(name, loads(text or "{}")) for name, text in reading.calls]
    theirs = [(call["name"], call["arguments"]) for call in told["tool_calls"]]
    return "" if mine == theirs else f"tool calls: {mine} against {theirs}"


class _Read:
    """What the tokens of an output say."""

    def __init__(self, ids: Sequence[int]) -> None:
        transcript = Transcript()
        transcript.receive(HarmonyTracker(None).receive(ids), len(ids))
        found = expect(transcript)
        self.reasoning = found.text(REASONING, ids)
        self.content = found.text(CONTENT, ids)
        self.calls = [
            (call.name, text_of(ids[call.segment.start : call.segment.end])) for call in found.calls
        ]
        last = transcript.messages[-1] if transcript.messages else None
        self.ends_in_call = last is not None and not last.complete and last.header.recipient is not None
        self.refused = bool(transcript.refusals)


def fixture_of(script: Script, *, source_url: str, revision: str) -> dict[str, Any] | None:
    """A script as a fixture; None for one that the format cannot express.

    Those are scripts of several turns, with tools of the server, with text that may come or not, with
    arguments that are no JSON object, and with headers that not all parsers read alike.
    """
    if len(script.turns) > 1 or script.built_in or not script.stream:
        return None
    ids = list(script.sampled)
    cut = script.expect.finish == "length"
    while ids and ids[-1] in STOPS:
        ids.pop()
    row: dict[str, Any] = {
        "id": f"{FAMILY}/harmony-inspector-{script.name.replace('_', '-')}",
        "family": FAMILY,
        "models": list(_MODELS),
        "spec_version": SPEC,
        "provenance": {
            "kind": "engine_test",
            "source_url": source_url,
            "revision": revision,
            "license": "Apache-2.0",
            "attribution": "Harmony Inspector, the lab's scripts (Apache-2.0).",
        },
        "tools": [{"type": "function", "function": function(name)} for name in script.tools],
        "raw_output": text_of(ids),
        "output_token_ids": ids,
        "tokenizer": dict(_TOKENIZER),
    }
    told = script.expect
    calls = [(call.name, loads(call.arguments)) for call in told.tool_calls]
    if script.well_formed:
        pieces = (*told.reasoning, *told.content)
        sound = all(isinstance(arguments, dict) for _, arguments in calls)
        if not (sound and all(piece.required for piece in pieces)) or told.stray:
            return None
        row["expected"] = {
            "content": "".join(piece.text for piece in told.content) or None,
            "reasoning_content": "".join(piece.text for piece in told.reasoning) or None,
            "tool_calls": [{"name": name, "arguments": arguments} for name, arguments in calls],
        }
        if {name for name, _ in calls} - set(script.tools) or disagreement(_fixture({**row, "tags": []})):
            return None
    elif calls:
        return None
    else:
        row["expected_error"] = {
            "reason": script.sentence,
            "accept": ["no_tool_calls", "content_passthrough"],
        }
    row["tags"] = list(_tags(script, row, cut=cut))
    row["notes"] = script.sentence
    return row


def _tags(script: Script, row: Mapping[str, Any], *, cut: bool) -> Iterable[str]:
    calls = script.expect.tool_calls
    yield "no-call" if not calls else "single-call" if len(calls) == 1 else "parallel-calls"
    if script.expect.reasoning:
        yield "reasoning"
    if cut:
        yield _TRUNCATED
    if not script.well_formed:
        yield "malformed"
    if not row["raw_output"].isascii():
        yield "unicode"
    if any(loads(call.arguments) == {} for call in calls):
        yield "empty-arguments"
    yield "x-harmony-inspector"
