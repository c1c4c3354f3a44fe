"""Score one capture of a script: whether it delivers what the script expects of a correct server.

The expectation is part of the script and written by hand; the audit's findings are only quoted. If the
matrix disagrees with the audit, one of them is wrong.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from inspector.analysis.alignment import same_when_joined
from inspector.analysis.audit import audit
from inspector.analysis.reading import Reading, read
from inspector.capture.capture import Capture
from inspector.capture.deltas import Texts, ToolText
from inspector.capture.formats import clip
from inspector.lab.scripts import Piece, Script
from inspector.protocol.harmony import vocab
from inspector.protocol.wire.endpoints import spec_of

SHOWN = 160
"""Characters of a text that a difference quotes."""


TOOL_OUTPUT_TOKENS = 10
"""Minimum tokens of a result of the lab's tools; with its header it has about 23."""


class Outcome(StrEnum):
    """What one server did with one script."""

    WHOLE = "whole"
    """Everything that must be delivered was delivered, in its field."""
    TOLD = "told"
    """The client could see a failure: an error, an HTTP status, a closed connection."""
    SILENT = "silent"
    """Text was lost, changed or put into another field without any error."""

    @property
    def words(self) -> str:
        """What users read; the value is what `--json` and stored results contain."""
        match self:
            case Outcome.WHOLE:
                return "complete"
            case Outcome.TOLD:
                return "error reported"
            case Outcome.SILENT:
                return "silent loss"


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The outcome of one capture."""

    outcome: Outcome
    differences: tuple[str, ...]
    """Differences from the expectation, or the server's error; empty if complete."""
    kinds: tuple[str, ...]
    """Kinds of findings in the audit, sorted."""


def score(script: Script, capture: Capture) -> Score:
    """Score one capture of a script."""
    # Responses carries no ids: the lab knows what was sampled, unless the server put turns between.
    blind = not spec_of(capture.header.endpoint).carries_ids
    truth = script.sampled if blind and len(script.turns) == 1 else None
    reading = read(capture, truth=truth)
    kinds = tuple(sorted({finding.kind.value for finding in audit(reading)}))
    words = tuple(_words(reading))
    if words:
        return Score(outcome=Outcome.TOLD, differences=words, kinds=kinds)
    differences = tuple(_differences(script, reading))
    outcome = Outcome.SILENT if differences else Outcome.WHOLE
    return Score(outcome=outcome, differences=differences, kinds=kinds)


def _words(reading: Reading) -> Iterator[str]:
    """The failures that the client could see."""
    for error in reading.stream.errors:
        yield error.message[:SHOWN]
    status = reading.header.status
    if status is not None and status >= 400 and not reading.stream.errors:
        yield f"HTTP status {status}"
    if reading.stream.final_status == "failed" and not reading.stream.errors:
        yield "the response has the status failed"
    if reading.end is not None and reading.end.cut:
        yield f"the connection was cut: {reading.end.detail}"[:SHOWN]


def _differences(script: Script, reading: Reading) -> Iterator[str]:
    if reading.spec.raw:
        yield from _raw_differences(script, reading)
        return
    delivered = reading.choice.delivered()
    yield from _field_differences(script, delivered, "", rewritten=bool(reading.stream.bodies))
    # A response that was not streamed is its own final object.
    if not reading.stream.bodies and (finals := _finals(reading)):
        yield from _field_differences(script, finals, " of the final object")
    if len(script.turns) > 1:
        yield from _forgotten(reading)
    if script.expect.finish == "length" and not _says_length(reading):
        finish = reading.choice.finish_reason or "missing"
        what = "response" if reading.stream.bodies else "stream"
        yield f"the client is not told that the {what} was cut: finish is {finish}"


def _field_differences(script: Script, texts: Texts, where: str, *, rewritten: bool = False) -> Iterator[str]:
    expect = script.expect
    for name, pieces, text in (
        ("reasoning", expect.reasoning, texts.reasoning),
        ("content", expect.content, texts.content),
    ):
        if not re.fullmatch(
            _pattern(pieces), text.replace(expect.stray, "", 1) if expect.stray else text, re.DOTALL
        ):
            wanted = "".join(piece.text for piece in pieces if piece.required)
            yield f"{name}{where}: {_quoted(text)} instead of {_quoted(wanted)}"
    wanted_calls = [(call.name, call.arguments) for call in expect.tool_calls]
    allowed = {piece.text for piece in (*expect.reasoning, *expect.content) if not piece.required}
    calls = [
        (call.name, call.arguments)
        for call in texts.tool_calls
        if not (call.arguments in allowed or (rewritten and _same_value(call.arguments, allowed)))
    ]
    if calls != wanted_calls and not (rewritten and _same_calls(calls, wanted_calls)):
        yield f"tool calls{where}: {_calls(calls)} instead of {_calls(wanted_calls)}"
    if expect.stray and expect.stray not in _everything(texts):
        yield f"text outside any message{where}: {_quoted(expect.stray)} is in no field"


def _same_calls(calls: Sequence[tuple[str, str]], wanted: Sequence[tuple[str, str]]) -> bool:
    """Equal names, and arguments of equal value: unstreamed responses have their JSON reformatted."""
    return [name for name, _ in calls] == [name for name, _ in wanted] and all(
        _same_value(one, [other]) for (_, one), (_, other) in zip(calls, wanted, strict=True)
    )


def _same_value(arguments: str, wanted: Iterable[str]) -> bool:
    return any(arguments == one or same_when_joined([one], arguments) for one in wanted)


def _forgotten(reading: Reading) -> Iterator[str]:
    """Whether each later turn's prompt held what the tool had answered, by the server's own counts."""
    details = (reading.stream.usage or {}).get("output_tokens_details")
    counted = details.get("tool_output_tokens_per_turn") if isinstance(details, dict) else None
    for turn, tokens in enumerate(counted if isinstance(counted, list) else (), start=1):
        if turn > 1 and isinstance(tokens, int) and tokens < TOOL_OUTPUT_TOKENS:
            yield f"the tool's output is missing from the prompt of turn {turn}: it grew by {tokens} tokens"


def _finals(reading: Reading) -> Texts | None:
    """The final object's texts, of Responses; None for other endpoints or when none came."""
    if reading.stream.final_event is None:
        return None
    finals = reading.choice.finals
    indexes = sorted({int(found[1]) for name in finals if (found := re.match(r"tool_calls\[(\d+)\]", name))})
    return Texts(
        content=finals.get("content", ""),
        reasoning=finals.get("reasoning", ""),
        tool_calls=tuple(
            ToolText(
                finals.get(f"tool_calls[{index}].name", ""), finals.get(f"tool_calls[{index}].arguments", "")
            )
            for index in indexes
        ),
        other={name: text for name, text in finals.items() if name not in {"content", "reasoning"}},
    )


def _raw_differences(script: Script, reading: Reading) -> Iterator[str]:
    wanted = script.sampled
    ids = tuple(reading.choice.tokens.ids)
    if ids != wanted:
        yield f"{len(ids)} token ids instead of {len(wanted)}"
    text = reading.choice.delivered().text or ""
    # vLLM leaves out the text of the token that stopped the generation, and a token whose character
    # was never completed.
    rest = _text(wanted[:-1]).removeprefix(text)
    if text != _text(wanted) and rest.strip(" \ufffd"):
        yield f"text: {_quoted(text)} instead of {_quoted(_text(wanted))}"


def _pattern(pieces: Sequence[Piece]) -> str:
    parts = [re.escape(piece.text) if piece.required else f"(?:{re.escape(piece.text)})?" for piece in pieces]
    return r"\n*".join(parts)


def _says_length(reading: Reading) -> bool:
    return reading.choice.finish_reason == "length" or reading.stream.final_status == "incomplete"


def _everything(texts: Texts) -> str:
    return "\n".join(
        [
            texts.content,
            texts.reasoning,
            *(call.arguments for call in texts.tool_calls),
            *texts.other.values(),
        ]
    )


def _text(ids: Sequence[int]) -> str:
    return vocab.join_bytes(ids).decode("utf-8", "replace")


def _quoted(text: str) -> str:
    return f'"{clip(text, SHOWN + 1)}"' if text else "nothing"


def _calls(calls: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{name}({arguments[:SHOWN]})" for name, arguments in calls) or "none"
