"""Findings about tool calls: lost whole, under another name, with broken arguments, under another index."""

from collections.abc import Iterator, Set
from dataclasses import replace

from inspector.analysis.alignment import Alignment, FateState
from inspector.analysis.audit.facts import MisnamedCall, MisplacedCall, NoFacts, UndeliveredCall, UnnamedCall
from inspector.analysis.audit.finding import Finding
from inspector.analysis.audit.kinds import Code, Kind, Severity
from inspector.analysis.audit.words import events_of, is_json
from inspector.analysis.reading import ChoiceReading
from inspector.capture.deltas import tool_arguments, tool_index, tool_name
from inspector.protocol.harmony.contract import ExpectedCall
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.transcript import Message


def undelivered_calls(choice: ChoiceReading, alignment: Alignment) -> set[str]:
    """Fields of tool calls of which nothing arrived anywhere, neither name nor arguments."""
    if not choice.expected.calls:
        return set()
    arrived = {fate.field for fate in alignment.fates if fate.state is not FateState.DROPPED}
    paired = {tool_name(index) for index in alignment.calls if index is not None}
    written = choice.deltas_by_field().keys() - paired
    undelivered: set[str] = set()
    for number, (call, index) in enumerate(zip(choice.expected.calls, alignment.calls, strict=False)):
        field = call.segment.field
        empty = call.segment.start == call.segment.end
        if index is not None or field is None or tool_name(number) in written:
            continue
        if empty or field not in arrived:
            undelivered.add(field)
    return undelivered


def call_findings(
    choice: ChoiceReading, alignment: Alignment, undelivered: set[str], *, single: bool = False
) -> Iterator[Finding]:
    """Findings of each generated call; `single` when the request asked for one call at most."""
    if not choice.expected.calls:
        return
    delivered = {
        field: "".join([delta.text for delta in deltas]) for field, deltas in choice.deltas_by_field().items()
    }
    in_place = {fate.field for fate in alignment.fates if fate.delivered_in == fate.field}
    for number, (call, index) in enumerate(zip(choice.expected.calls, alignment.calls, strict=False)):
        message = choice.transcript.messages[call.message]
        if call.segment.field in undelivered:
            yield _lost_call(choice, call, message, unasked=single and number > 0)
            continue
        if index is None and call.segment.field not in in_place:
            continue  # its arguments went elsewhere, which is a finding of its own
        wire = number if index is None else index
        yield from _name_findings(choice, number, call, message, delivered.get(tool_name(wire), ""))
        if message.complete and _meant_as_json(message):
            yield from _arguments_findings(choice, call, message, delivered.get(tool_arguments(wire), ""))
    yield from _index_finding(choice, alignment)


def nameless_calls(choice: ChoiceReading, explained: Set[int | None]) -> Iterator[Finding]:
    """Arguments under an index that never got a name, so that a client has a second call of nothing.

    vLLM 0.23 at several tokens a step ends a call under the next index. `explained` are the indexes that
    another finding reports.
    """
    fields = choice.deltas_by_field()
    for field in sorted(fields):
        index = tool_index(field)
        if index is None or field != tool_arguments(index) or tool_name(index) in fields:
            continue
        if index not in explained:
            came = [delta.event for delta in fields[field]]
            yield Finding(
                kind=Kind.PROTOCOL,
                severity=Severity.WARNING,
                facts=UnnamedCall(index=index),
                field=field,
                event_start=came[0],
                event_end=came[-1] + 1,
                choice=choice.index,
            )


def wrong_name(choice: ChoiceReading, number: int, name: str, got: str) -> Finding:
    """The finding of a call that was delivered under another name, or without one."""
    return Finding(
        kind=Kind.GARBLED if got else Kind.DROPPED,
        severity=Severity.ERROR,
        facts=MisnamedCall(code=Code.CALL_RENAMED if got else Code.CALL_NAME_LOST, call=number),
        field=tool_name(number),
        generated=name,
        delivered=got,
        choice=choice.index,
    )


def wrong_arguments(choice: ChoiceReading, field: str | None, generated: str, delivered: str) -> Finding:
    """The finding of arguments that were delivered as invalid JSON; a warning if they were generated so."""
    good = is_json(generated)
    return Finding(
        kind=Kind.INVALID_TOOL_ARGUMENTS,
        severity=Severity.ERROR if good else Severity.WARNING,
        facts=NoFacts(code=Code.ARGUMENTS_BROKEN if good else Code.ARGUMENTS_GENERATED_INVALID),
        field=field,
        generated=generated,
        delivered=delivered,
        choice=choice.index,
    )


def broken_arguments(choice: ChoiceReading) -> Iterator[Finding]:
    """Arguments that arrived as invalid JSON, if no token IDs show whether the model wrote them so."""
    if choice.finish_reason != "tool_calls":  # a stream that was cut or goes on may still be in the middle
        return
    for index, call in enumerate(choice.delivered().tool_calls):
        if call.name and not is_json(call.arguments):
            field = tool_arguments(index)
            yield Finding(
                kind=Kind.INVALID_TOOL_ARGUMENTS,
                severity=Severity.WARNING,
                facts=NoFacts(code=Code.ARGUMENTS_INVALID_ORIGIN_UNKNOWN),
                field=field,
                delivered=call.arguments,
                choice=choice.index,
            )


def _meant_as_json(message: Message) -> bool:
    """As vLLM does: arguments are JSON unless the header names another content type."""
    return message.header.content_type is None or "json" in message.header.content_type


def _lost_call(choice: ChoiceReading, call: ExpectedCall, message: Message, *, unasked: bool) -> Finding:
    segment = call.segment
    text = text_of(choice.tokens.ids[segment.start : segment.end])
    start, end = (segment.start, segment.end) if text else (message.start, message.end)
    event_start, event_end = events_of(choice, start, end)
    return Finding(
        kind=Kind.UNSERVED if unasked else Kind.DROPPED,
        severity=Severity.WARNING if unasked else Severity.ERROR,
        facts=UndeliveredCall(code=Code.CALL_LEFT_OUT if unasked else Code.CALL_LOST, name=call.name),
        field=segment.field,
        token_start=start,
        token_end=end,
        event_start=event_start,
        event_end=event_end,
        generated=text,
        delivered="",
        choice=choice.index,
    )


def _name_findings(
    choice: ChoiceReading, number: int, call: ExpectedCall, message: Message, got: str
) -> Iterator[Finding]:
    if got == call.name:
        return
    event_start, event_end = events_of(choice, message.start, message.body)
    yield replace(
        wrong_name(choice, number, call.name, got),
        token_start=message.start,
        token_end=message.body,
        event_start=event_start,
        event_end=event_end,
    )


def _arguments_findings(
    choice: ChoiceReading, call: ExpectedCall, message: Message, delivered: str
) -> Iterator[Finding]:
    if is_json(delivered):
        return
    start, end = call.segment.start, call.segment.end
    generated = text_of(choice.tokens.ids[start:end])
    if not generated:  # the model wrote none: the place is the whole message
        start, end = message.start, message.end
    event_start, event_end = events_of(choice, start, end)
    yield replace(
        wrong_arguments(choice, call.segment.field, generated, delivered),
        token_start=start,
        token_end=end,
        event_start=event_start,
        event_end=event_end,
    )


def _index_finding(choice: ChoiceReading, alignment: Alignment) -> Iterator[Finding]:
    """Indexes that do not count the delivered calls from 0, as clients take them for places in a list."""
    delivered = [(number, index) for number, index in enumerate(alignment.calls) if index is not None]
    for rank, (number, index) in enumerate(delivered):
        if index in {rank, number}:
            continue
        event = next((delta.event for delta in choice.deltas_by_field().get(tool_name(index), ())), None)
        yield Finding(
            kind=Kind.PROTOCOL,
            severity=Severity.WARNING,
            facts=MisplacedCall(call=number, index=index),
            field=tool_name(number),
            event_start=event,
            event_end=None if event is None else event + 1,
            generated=str(number),
            delivered=str(index),
            choice=choice.index,
        )
        return
