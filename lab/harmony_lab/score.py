"""Score one capture of a script: whether it delivers what the script expects of a correct server.

The expectation is part of the script and written by hand; the audit's findings are only quoted. `agreement`
explains where the two may differ.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from harmony_lab.own_reading import OwnReading
from inspector.analysis.alignment import same_when_joined
from inspector.analysis.audit import audit
from inspector.analysis.reading import Reading, read
from inspector.capture.capture import Capture
from inspector.capture.deltas import Texts, ToolText
from inspector.capture.formats import clip
from inspector.matrix.results import Score, ScriptOutcome
from inspector.matrix.scripts import Expectation, Script, ScriptPiece, ToolCall
from inspector.protocol.harmony import vocab
from inspector.protocol.harmony.text import text_of
from inspector.protocol.wire.endpoints import spec_of

SHOWN = 160
"""Characters of a text that a difference quotes."""


TOOL_OUTPUT_TOKENS = 10
"""Lower bound on the tokens of a result of the lab's tools; with its header it has about 23."""


def score(script: Script, capture: Capture) -> Score:
    """Score one capture of a script."""
    # Responses carries no token IDs, and servers other than vLLM carry few or none: use those of the script,
    # unless the server added turns.
    lab = capture.header.extra.get("lab")
    lab = lab if isinstance(lab, dict) else {}
    blind = not spec_of(capture.header.endpoint).carries_ids or "server" in lab
    sampled = (capture.header.script or ()) if "scripted" in lab else script.sampled
    if replaced := _replaced(script.sampled, sampled):
        script = replace(script, expect=_expectation(sampled))
    truth = sampled if blind and len(script.turns) == 1 else None
    reading = read(capture, truth=truth)
    kinds = tuple(sorted({finding.kind.value for finding in audit(reading)}))
    failures = tuple(_visible_failures(reading))
    if failures:
        return Score(outcome=ScriptOutcome.REPORTED, differences=failures, kinds=kinds, sampler=replaced)
    differences = tuple(_differences(script, reading))
    outcome = ScriptOutcome.SILENT if differences else ScriptOutcome.COMPLETE
    return Score(outcome=outcome, differences=differences, kinds=kinds, sampler=replaced)


def _replaced(scripted: Sequence[int], sampled: Sequence[int]) -> str:
    """Where the sampler first took another token than the script's; empty if it never did."""
    pairs = enumerate(zip(scripted, sampled, strict=False))
    place = next((place for place, (scripted_id, sampled_id) in pairs if scripted_id != sampled_id), None)
    if place is None:
        return ""
    scripted_text, sampled_text = text_of(scripted[place : place + 1]), text_of(sampled[place : place + 1])
    return f"the server's grammar refused “{scripted_text}” (token {place}); it sampled “{sampled_text}”"


def _expectation(ids: Sequence[int]) -> Expectation:
    """What must be delivered of tokens that no author described, by our own reading of them."""
    own = OwnReading(ids)
    return Expectation(
        reasoning=(ScriptPiece(own.reasoning, required=True),),
        content=(ScriptPiece(own.content, required=True),),
        tool_calls=tuple(ToolCall(name, arguments) for name, arguments in own.calls),
    )


def _visible_failures(reading: Reading) -> Iterator[str]:
    """The failures that the client could detect."""
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
    # An unstreamed response is its own final object.
    if not reading.stream.bodies and (finals := _finals(reading)):
        yield from _field_differences(script, finals, " of the final object")
    if len(script.turns) > 1:
        yield from _missing_tool_outputs(reading)
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
            required = "".join(piece.text for piece in pieces if piece.required)
            yield f"{name}{where}: {_quoted(text)} instead of {_quoted(required)}"
    expected_calls = [(call.name, call.arguments) for call in expect.tool_calls]
    allowed = {piece.text for piece in (*expect.reasoning, *expect.content) if not piece.required}
    calls = [
        (call.name, call.arguments)
        for call in texts.tool_calls
        if not (call.arguments in allowed or (rewritten and _same_value(call.arguments, allowed)))
    ]
    if calls != expected_calls and not (rewritten and _same_calls(calls, expected_calls)):
        yield f"tool calls{where}: {_calls(calls)} instead of {_calls(expected_calls)}"
    if expect.stray and expect.stray not in _all_text(texts):
        yield f"text outside any message{where}: {_quoted(expect.stray)} is in no field"


def _same_calls(calls: Sequence[tuple[str, str]], expected: Sequence[tuple[str, str]]) -> bool:
    """Equal names, and arguments of equal value: unstreamed responses have their JSON reformatted."""
    return [name for name, _ in calls] == [name for name, _ in expected] and all(
        _same_value(delivered_arguments, [expected_arguments])
        for (_, delivered_arguments), (_, expected_arguments) in zip(calls, expected, strict=True)
    )


def _same_value(arguments: str, candidates: Iterable[str]) -> bool:
    return any(arguments == candidate or same_when_joined([candidate], arguments) for candidate in candidates)


def _missing_tool_outputs(reading: Reading) -> Iterator[str]:
    """Later turns whose prompt lacks the tool's output, by the server's own counts."""
    details = (reading.stream.usage or {}).get("output_tokens_details")
    counted = details.get("tool_output_tokens_per_turn") if isinstance(details, dict) else None
    for turn, tokens in enumerate(counted if isinstance(counted, list) else (), start=1):
        if turn > 1 and isinstance(tokens, int) and tokens < TOOL_OUTPUT_TOKENS:
            yield f"the tool's output is missing from the prompt of turn {turn}: it grew by {tokens} tokens"


def _finals(reading: Reading) -> Texts | None:
    """The texts of the final object of Responses; None for other endpoints or without one."""
    if reading.stream.final_event is None:
        return None
    finals = reading.choice.finals
    indexes = sorted({int(match[1]) for name in finals if (match := re.match(r"tool_calls\[(\d+)\]", name))})
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
    sampled = script.sampled
    ids = tuple(reading.choice.tokens.ids)
    if ids != sampled:
        yield f"{len(ids)} token ids instead of {len(sampled)}"
    text = reading.choice.delivered().text or ""
    # vLLM omits the text of the stop token, and of a token whose character was never completed.
    rest = _text(sampled[:-1]).removeprefix(text)
    if text != _text(sampled) and rest.strip(" \ufffd"):
        yield f"text: {_quoted(text)} instead of {_quoted(_text(sampled))}"


def _pattern(pieces: Sequence[ScriptPiece]) -> str:
    parts = [re.escape(piece.text) if piece.required else f"(?:{re.escape(piece.text)})?" for piece in pieces]
    return r"\n*".join(parts)


def _says_length(reading: Reading) -> bool:
    return reading.choice.finish_reason == "length" or reading.stream.final_status == "incomplete"


def _all_text(texts: Texts) -> str:
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
