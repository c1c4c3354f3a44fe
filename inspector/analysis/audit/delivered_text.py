"""Findings by the delivered text alone: Harmony in a field, where no token IDs say what belongs there.

Plain completions deliver what the model wrote, so there it is a warning.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from inspector.analysis.audit.calls import offered_names
from inspector.analysis.audit.facts import HarmonyText, TextCode
from inspector.analysis.audit.finding import Finding
from inspector.analysis.audit.kinds import KINDS, Code, FindingSide, Kind, Severity
from inspector.analysis.audit.words import is_json
from inspector.analysis.reading import ChoiceReading, Reading
from inspector.capture.deltas import is_tool_name, tool_arguments, tool_index, tool_name
from inspector.capture.formats import clip
from inspector.protocol.harmony.markup import (
    Markup,
    MarkupForm,
    ends_message,
    has_stop,
    header_in_name,
    markup_in,
    parsed,
    stripped_answer,
)

_SHOWN: Final = 400
"""Characters of an answer in a transcript that are kept as a fact."""
_CALLS_KEPT: Final = 16


def harmony_in_text(
    reading: Reading, choice: ChoiceReading, findings: Iterable[Finding]
) -> Iterator[Finding]:
    """Harmony in the delivered fields of a choice, but for those whose text `findings` call wrong."""
    explained = {
        field
        for finding in findings
        if KINDS[finding.kind].side is FindingSide.TEXT
        for field in (finding.field, finding.delivered_in)
    }
    explained |= {tool_name(call) for field in explained if field and (call := tool_index(field)) is not None}
    offered = offered_names(reading.header.request)
    texts = {field: text for field, text in choice.delivered().by_field().items() if text}
    for field, text in texts.items():
        if field in explained:
            continue
        facts = (
            _of_name(text, offered) if is_tool_name(field) else _of_text(field, text, alone=len(texts) == 1)
        )
        if facts is not None:
            yield _finding(reading, choice, field, text, facts)


def _of_name(text: str, offered: frozenset[str]) -> HarmonyText | None:
    at = header_in_name(text, offered)
    if at is None:
        return None
    code: TextCode = Code.TOKEN_IN_NAME if "<|" in text[at:] else Code.HEADER_WORD_IN_NAME
    return HarmonyText(code=code, at=at, name=text[:at].strip() or None)


def _of_text(field: str, text: str, *, alone: bool) -> HarmonyText | None:
    """What a text has; `alone` where no other field arrived, as from a server that does not parse."""
    index = tool_index(field)
    if index is not None and field == tool_arguments(index) and is_json(text):
        return None  # what a tool is to write may have any text
    markup = markup_in(text)
    return None if markup is None else _facts(markup, text, alone=alone)


def _facts(markup: Markup, text: str, *, alone: bool) -> HarmonyText:
    in_body = not alone and not has_stop(text)  # a parser ran, and takes all but stop tokens for text
    if markup.form is MarkupForm.TOKEN or (markup.form is MarkupForm.TRANSCRIPT and in_body):
        return HarmonyText(code=Code.TOKEN_IN_TEXT, at=markup.at)
    if markup.form is MarkupForm.STRIPPED:
        answer = stripped_answer(text)
        return HarmonyText(
            code=Code.TRANSCRIPT_STRIPPED,
            at=markup.at,
            answer=None if answer is None else clip(answer.strip(), _SHOWN),
        )
    messages = parsed(text)
    if messages is None:
        return HarmonyText(code=Code.TRANSCRIPT_UNPARSED, at=markup.at)
    return HarmonyText(
        code=Code.TRANSCRIPT_UNPARSED,
        at=markup.at,
        answer=clip(messages.answer.strip(), _SHOWN) or None,
        calls=tuple(call.name for call in messages.expected.calls[:_CALLS_KEPT]) or None,
        well_formed=messages.well_formed,
    )


def _may_be_text(facts: HarmonyText, text: str) -> bool:
    """Whether the model may have written a special token inside a body, where it is text.

    A stop token that ends a message cannot be in one.
    """
    return facts.code is Code.TOKEN_IN_TEXT and not ends_message(text[facts.at :])


def _finding(reading: Reading, choice: ChoiceReading, field: str, text: str, facts: HarmonyText) -> Finding:
    events = [delta.event for delta in choice.deltas_by_field()[field]]
    return Finding(
        kind=Kind.HARMONY_AS_TEXT,
        severity=Severity.WARNING if reading.spec.raw or _may_be_text(facts, text) else Severity.ERROR,
        facts=facts,
        field=field,
        event_start=events[0],
        event_end=events[-1] + 1,
        delivered=text,
        choice=choice.index,
    )
