"""Warnings about well-formed turns of no use to a client: no answer at all, special tokens inside a text."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from inspector.analysis.audit.facts import EndWithoutAnswer, SpecialToken, UnknownChannel, UnknownRole
from inspector.analysis.audit.finding import Finding
from inspector.analysis.audit.kinds import Code, Kind, Severity
from inspector.analysis.audit.words import events_of
from inspector.analysis.reading import ChoiceReading, Evidence, Reading
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.transcript import Message

_FIRST_SPECIAL: Final = 199_998
"""Ids from here on are special tokens, named or reserved."""
_ENDED: Final = frozenset({"stop", "completed"})
"""Finish reasons of a turn that ended by itself."""
_CHANNELS: Final = frozenset({"analysis", "commentary", "final"})
_FIRST_WORD: Final = re.compile(r"^(?:<\|start\|>)?([^<\s]*)")
_TOOL: Final = re.compile(r"tool|python|(?:functions|browser|container|python)\.[^\s]+")
"""Who a message of a tool says it is from, as the format's documentation has it."""
_REASONING_ITEMS: Final = frozenset({"reasoning"})


def special_tokens(choice: ChoiceReading) -> Iterator[Finding]:
    """The first special token of each body, or ID outside the vocabulary.

    The last token of all, which may be a stop token, only where it was delivered as text.
    """
    ids = choice.tokens.ids
    for message in choice.transcript.messages:
        if not message.in_body:
            continue
        body = ids[message.body : message.body_end]
        if not body or max(body) < _FIRST_SPECIAL:
            continue
        at = next(place for place, token_id in enumerate(body, message.body) if token_id >= _FIRST_SPECIAL)
        named = text_of([ids[at]])
        text = named or f"the token ID {ids[at]}"
        if named and at == len(ids) - 1 and not _ends_with(choice, text):
            continue
        event_start, event_end = events_of(choice, at, at + 1)
        yield Finding(
            kind=Kind.SPECIAL_TOKEN_IN_BODY,
            severity=Severity.WARNING,
            facts=SpecialToken(token_id=ids[at], channel=message.header.channel),
            token_start=at,
            token_end=at + 1,
            event_start=event_start,
            event_end=event_end,
            generated=text,
            choice=choice.index,
        )


def _ends_with(choice: ChoiceReading, text: str) -> bool:
    """Whether the field of the last delta ends with a text, in however many deltas it came."""
    if not choice.deltas:
        return False
    deltas = choice.deltas_by_field()[choice.deltas[-1].field]
    return "".join(delta.text for delta in deltas[-len(text) :]).endswith(text)


def unknown_headers(choice: ChoiceReading) -> Iterator[Finding]:
    """Channels and roles that Harmony does not define, in tokens that no server had to put into fields."""
    facts: UnknownChannel | UnknownRole
    for message in choice.transcript.messages:
        header = message.header
        if header.role == "assistant" and header.channel not in _CHANNELS:
            facts = UnknownChannel(channel=header.channel)
        elif header.role == "tool":
            words = _FIRST_WORD.search(text_of(choice.tokens.ids[message.start : message.body]))
            named = words[1] if words else ""
            if _TOOL.fullmatch(named):
                continue
            facts = UnknownRole(role=named)
        else:
            continue
        yield Finding(
            kind=Kind.UNKNOWN_HEADER,
            severity=Severity.WARNING,
            facts=facts,
            token_start=message.start,
            token_end=message.end,
            choice=choice.index,
        )


def no_answer(reading: Reading, choice: ChoiceReading, findings: Iterable[Finding]) -> Iterator[Finding]:
    """At most one, for a turn that ended by itself without answer or call.

    `findings` are the others: where text was lost, rejected or is unaccounted for, an answer may have been
    there, and that is the finding.
    """
    if not reading.spec.parsed or not reading.ended:
        return
    disqualifying = (
        finding
        for finding in findings
        if finding.kind is not Kind.PROTOCOL and finding.code is not Code.EVENT_REPEATED
    )
    if choice.finish_reason not in _ENDED or any(disqualifying):
        return
    delivered = choice.delivered()
    if delivered.content.strip() or delivered.tool_calls or any(delivered.other.values()):
        return
    call = _last_call(choice.rebuilt or choice)
    if call is None and not _only_reasoning(reading, choice):
        return
    final = any(message.header.channel == "final" for message in choice.transcript.messages if choice.has_ids)
    yield Finding(
        kind=Kind.NO_ANSWER,
        severity=Severity.WARNING,
        facts=EndWithoutAnswer(
            code=Code.ENDED_WITH_UNSHOWN_CALL
            if call is not None
            else Code.ENDED_WITH_EMPTY_ANSWER
            if final
            else Code.ENDED_IN_REASONING
            if delivered.reasoning
            else Code.ENDED_WITHOUT_TEXT,
            finish_reason=choice.finish_reason,
            name=None if call is None else call.header.recipient,
        ),
        token_start=None if call is None or not choice.has_ids else call.start,
        token_end=None if call is None or not choice.has_ids else call.end,
        choice=choice.index,
    )


def _last_call(choice: ChoiceReading) -> Message | None:
    """The last message, if it calls a tool that the endpoint has no field for."""
    if not choice.has_ids or not choice.expected.segments:
        return None
    last = choice.expected.segments[-1]
    if last.field is not None or last.message is None:
        return None
    message = choice.transcript.messages[last.message]
    called = message.header.recipient is not None and message.header.role == "assistant"
    return message if called and message.end == len(choice.tokens) else None


def _only_reasoning(reading: Reading, choice: ChoiceReading) -> bool:
    """Whether nothing but reasoning is known to have been generated."""
    if choice.has_ids:
        return not choice.expected.calls and all(
            message.header.recipient is None and message.header.channel in {"analysis", "final"}
            for message in choice.transcript.messages
            if message.body_end > message.body
        )
    if choice.evidence is Evidence.FINAL_OBJECT or reading.stream.final_object is not None:
        output = (reading.stream.final_object or {}).get("output")
        items = (
            [item.get("type") for item in output if isinstance(item, dict)]
            if isinstance(output, list)
            else []
        )
        return all(isinstance(kind, str) and kind in _REASONING_ITEMS for kind in items) or not any(
            text.strip() for field, text in choice.finals.items() if field != "reasoning"
        )
    return True
