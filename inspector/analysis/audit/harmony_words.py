"""Words about Harmony in delivered text."""

from typing import assert_never

from inspector.analysis.audit.facts import HarmonyText
from inspector.analysis.audit.finding import Finding
from inspector.analysis.audit.kinds import Code
from inspector.analysis.audit.words import field_words, joined, quote


def harmony_words(finding: Finding, facts: HarmonyText) -> str:
    """Where Harmony is, and what it has for the client, as a clause."""
    where, text = field_words(finding.field), finding.delivered or ""
    match facts.code:
        case Code.TRANSCRIPT_UNPARSED:
            return f"{where} is Harmony that was not parsed{inside(facts)}"
        case Code.TRANSCRIPT_STRIPPED:
            return f"{where} is Harmony that was not parsed, without its special tokens{inside(facts)}"
        case Code.TOKEN_IN_TEXT:
            return f"{quote(text[facts.at :], 40)} is left of Harmony in {where}"
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
