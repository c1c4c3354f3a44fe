"""The lab's scripts as fixtures of CanIToolCall, and its fixtures compared with our reading of their tokens.

The format is that of its spec/fixture.schema.json, version 0.1: one JSON object per line with the raw output
of a model, without its stop token, and what a parser must make of it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from harmony_lab.own_reading import OwnReading
from inspector.capture.errors import LabError
from inspector.matrix.requests import function_tool
from inspector.matrix.scripts import STOPS, Script
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.vocab import encode
from inspector.protocol.wire.stream import loads

FAMILY: Final = "gpt-oss"
SPEC: Final = "0.1"
_MODELS: Final = ("openai/gpt-oss-20b", "openai/gpt-oss-120b")
_TOKENIZER: Final = {
    "repo": "openai/gpt-oss-20b",
    "revision": "6cee5e81ee83917806bbde320786a8fb61efebee",
    "mode": "hf",
}
"""As pinned for gpt-oss in its family.json."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixture:
    """What is compared of a fixture."""

    id: str
    ids: tuple[int, ...]
    """Sampled tokens, without the stop token."""
    expected: Mapping[str, Any] | None
    """What a parser must read in it; None for malformed output, which it must only handle without a crash."""


def fixtures_of(path: Path) -> tuple[list[Fixture], int]:
    """The gpt-oss fixtures of a file, and how many of other families it has; raises LabError."""
    fixtures: list[Fixture] = []
    skipped = 0
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
            skipped += 1
            continue
        try:
            fixtures.append(_fixture(row))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise LabError(f"{path}:{number}: damaged fixture ({error!r})") from error
    return fixtures, skipped


def _fixture(row: Mapping[str, Any]) -> Fixture:
    ids = row.get("output_token_ids")
    if ids is not None and not all(type(token_id) is int for token_id in ids):
        raise ValueError("output_token_ids")
    expected = row.get("expected")
    return Fixture(
        id=str(row["id"]),
        ids=tuple(encode(row["raw_output"]) if ids is None else ids),
        expected=None if expected is None else _expected(expected),
    )


def _expected(expected: Mapping[str, Any]) -> dict[str, Any]:
    for key in ("content", "reasoning_content"):
        if not isinstance(expected[key], str | None):
            raise ValueError(key)
    calls = [{"name": str(call["name"]), "arguments": call["arguments"]} for call in expected["tool_calls"]]
    return {**expected, "tool_calls": calls}


def disagreement(fixture: Fixture) -> str:
    """How our reading of the tokens differs from what a fixture expects; empty where it agrees."""
    reading, expected = OwnReading(fixture.ids), fixture.expected
    if expected is None:
        return "" if not reading.calls else "it expects no tool call, and the tokens have one"
    if (reading.reasoning or None) != (expected["reasoning_content"] or None):
        return f"reasoning: {reading.reasoning!r} against {expected['reasoning_content']!r}"
    if (reading.content or None) != (expected["content"] or None):
        return f"content: {reading.content!r} against {expected['content']!r}"
    read_calls = [(name, loads(text or "{}")) for name, text in reading.calls]
    expected_calls = [(call["name"], call["arguments"]) for call in expected["tool_calls"]]
    return "" if read_calls == expected_calls else f"tool calls: {read_calls} against {expected_calls}"


def fixture_of(script: Script, *, source_url: str, revision: str) -> dict[str, Any] | None:
    """A script as a fixture; None for one that the format cannot express.

    It cannot express several turns, server-side tools, optional text, arguments that are not a JSON object,
    and headers that parsers read differently.
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
        "tools": [{"type": "function", "function": function_tool(name)} for name in script.tools],
        "raw_output": text_of(ids),
        "output_token_ids": ids,
        "tokenizer": dict(_TOKENIZER),
    }
    expected = script.expect
    calls = [(call.name, loads(call.arguments)) for call in expected.tool_calls]
    if script.well_formed:
        pieces = (*expected.reasoning, *expected.content)
        sound = all(isinstance(arguments, dict) for _, arguments in calls)
        if not (sound and all(piece.required for piece in pieces)) or expected.stray:
            return None
        row["expected"] = {
            "content": "".join(piece.text for piece in expected.content) or None,
            "reasoning_content": "".join(piece.text for piece in expected.reasoning) or None,
            "tool_calls": [{"name": name, "arguments": arguments} for name, arguments in calls],
        }
        if {name for name, _ in calls} - set(script.tools) or disagreement(_fixture(row)):
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
        yield "truncated"
    if not script.well_formed:
        yield "malformed"
    if not row["raw_output"].isascii():
        yield "unicode"
    if any(loads(call.arguments) == {} for call in calls):
        yield "empty-arguments"
    yield "x-harmony-inspector"
