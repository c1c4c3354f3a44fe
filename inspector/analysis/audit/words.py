"""What the sentences about findings share: fields, spans, amounts and texts as words."""

import json
from collections.abc import Sequence
from typing import Final, assert_never

from inspector.analysis.audit.facts import BelowLimit, EndWithoutAnswer, HarmonyText, SpecialToken
from inspector.analysis.audit.finding import Finding
from inspector.analysis.audit.kinds import Code
from inspector.analysis.reading import ChoiceReading
from inspector.capture.deltas import tool_index
from inspector.capture.formats import clip, count, listed
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.vocab import Marker

_CALLS_APART: Final = 2
"""Tool calls that are named one by one."""


def field_words(field: str | None) -> str:
    """A field as a sentence calls it."""
    match field:
        case None:
            return "no field"
        case "reasoning":
            return "the reasoning"
        case "content":
            return "the answer (content)"
        case "text" | "refusal":
            return f"the {field}"
        case _ if field.startswith("tool_calls["):
            number = int(field[len("tool_calls[") : field.index("]")])
            return f"the {field.rsplit('.', 1)[-1]} of tool call {number + 1}"
        case _:
            return field


def tokens_words(start: int, end: int) -> str:
    """A span as a sentence calls it, e.g. `token 21`, `tokens 4 to 5`."""
    return f"token {start:,}" if end - start == 1 else f"tokens {start:,} to {end - 1:,}"


def quote(text: str, limit: int = 60) -> str:
    """A text as a sentence quotes it, cut at `limit` characters."""
    return f"“{clip(text, limit)}”"


counted: Final = count

joined: Final = listed


def amount(findings: Sequence[Finding], of: str = "") -> str:
    """How much text, in tokens where they are known, else in characters; `of` goes before the unit."""
    unit = f"{of} " if of else ""
    if all(finding.token_start is not None and finding.token_end is not None for finding in findings):
        number = sum((finding.token_end or 0) - (finding.token_start or 0) for finding in findings)
        return counted(number, f"{unit}token")
    return counted(
        sum(len(finding.generated or finding.delivered or "") for finding in findings), f"{unit}character"
    )


def per_field(findings: Sequence[Finding], joint: str) -> list[str]:
    """How much in which field, e.g. `2 tokens of the reasoning`; of many calls in all of them together."""
    groups: dict[str | None, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(finding.field, []).append(finding)
    calls = [field for field in groups if field and tool_index(field) is not None]
    if len(calls) <= _CALLS_APART:
        return [f"{amount(group)} {joint} {field_words(field)}" for field, group in groups.items()]
    in_calls = [finding for field in calls for finding in groups.pop(field)]
    others = [f"{amount(group)} {joint} {field_words(field)}" for field, group in groups.items()]
    return [*others, f"{amount(in_calls)} {joint} {counted(len(calls), 'tool call')}"]


def is_json(text: str) -> bool:
    """True for text that parses as JSON; nesting deeper than Python reads counts as not."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def events_of(choice: ChoiceReading, start: int, end: int) -> tuple[int | None, int | None]:
    """Events that brought some tokens, half-open; None when no event did."""
    events = choice.tokens.events[start:end]
    if not events or events[0] < 0:
        return None, None
    return events[0], events[-1] + 1


def special_token_words(finding: Finding, facts: SpecialToken) -> str:
    """A special token inside a body, or an ID outside the vocabulary, as a clause."""
    missing = "; the <|end|> before it is missing" if facts.token_id == Marker.START else ""
    in_channel = f" of a message on the {facts.channel} channel" if facts.channel else ""
    if not text_of([facts.token_id]):
        return (
            f"{finding.generated} inside the body{in_channel} (token {finding.token_start:,}) is not in the "
            "vocabulary and has no text"
        )
    return (
        f"the model wrote {finding.generated} inside the body{in_channel} (token {finding.token_start:,}), "
        f"where it is ordinary text{missing}"
    )


def below_limit_words(facts: BelowLimit) -> str:
    """A response that is called incomplete for a limit that it did not reach, as a clause."""
    return (
        "the response has no output, and the server reports a limit that was not reached "
        f"({facts.counted:,} of {facts.limit:,} tokens)"
    )


def ended_words(facts: EndWithoutAnswer) -> str:
    """Where a response without an answer ended, and its finish reason, after "the response"."""
    finish_reason = finish_reason_words(facts.finish_reason)
    match facts.code:
        case Code.ENDED_IN_REASONING:
            return f"ended after its reasoning, without an answer or a tool call ({finish_reason})"
        case Code.ENDED_WITH_EMPTY_ANSWER:
            return f"ended with an empty answer and no tool call ({finish_reason})"
        case Code.ENDED_WITH_UNSHOWN_CALL:
            tool = quote(facts.name or "")
            return f"ended with a call of {tool}, but has neither an answer nor a tool call ({finish_reason})"
        case Code.ENDED_WITHOUT_TEXT:
            return f"ended without an answer or a tool call ({finish_reason})"
        case _:
            assert_never(facts.code)


def finish_reason_words(finish_reason: str | None) -> str:
    """The finish reason, in words."""
    return "no finish_reason" if finish_reason is None else f"finish_reason: {finish_reason}"


def harmony_words(finding: Finding, facts: HarmonyText) -> str:
    """Where Harmony is, and what it has for the client, as a clause."""
    field, text = field_words(finding.field), finding.delivered or ""
    match facts.code:
        case Code.TRANSCRIPT_UNPARSED:
            return f"{field} is Harmony that was not parsed{inside(facts)}"
        case Code.TRANSCRIPT_STRIPPED:
            return f"{field} is Harmony that was not parsed, without its special tokens{inside(facts)}"
        case Code.TOKEN_IN_TEXT:
            return f"{quote(text[facts.at :], 40)} is left of Harmony in {field}"
        case Code.TOKEN_IN_NAME:
            return f"the tool name {quote(text)} contains a special token"
        case Code.HEADER_WORD_IN_NAME:
            name = quote(facts.name or "")
            return f"the tool name {quote(text)} is {name} with a word of the header behind it"
        case _:
            assert_never(facts.code)


def inside(facts: HarmonyText) -> str:
    """What a transcript has for the client, behind a clause; empty for nothing."""
    parts = [f"it calls {joined([quote(name) for name in facts.calls])}"] if facts.calls else []
    if facts.answer:
        parts.append(f"its answer is {quote(facts.answer)}")
    return f"; {joined(parts)}" if parts else ""
