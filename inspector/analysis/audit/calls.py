"""Findings about tool calls: lost, misnamed, with broken arguments, under another index, or not offered."""

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from typing import Any, Final

from inspector.analysis.alignment import Alignment, FateState
from inspector.analysis.audit.facts import (
    MisnamedCall,
    MisplacedCall,
    NoFacts,
    UndeliveredCall,
    UnnamedCall,
    UnofferedCall,
)
from inspector.analysis.audit.finding import Finding
from inspector.analysis.audit.kinds import Code, Kind, Severity
from inspector.analysis.audit.words import events_of, is_json
from inspector.analysis.reading import ChoiceReading, Reading
from inspector.capture.deltas import is_tool_name, tool_arguments, tool_index, tool_name
from inspector.protocol.engines.replays import is_replayed
from inspector.protocol.harmony.contract import ExpectedCall
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.transcript import Message


def undelivered_calls(choice: ChoiceReading, alignment: Alignment) -> set[str]:
    """Fields of tool calls whose name and arguments were delivered in no field."""
    if not choice.expected.calls:
        return set()
    arrived = {fate.field for fate in alignment.fates if fate.state is not FateState.DROPPED}
    paired = {tool_name(index) for index in alignment.calls if index is not None}
    written = choice.deltas_by_field().keys() - paired
    undelivered: set[str] = set()
    for number, (call, index) in enumerate(zip(choice.expected.calls, alignment.calls, strict=False)):
        field = call.segment.field
        if alignment.unsent is not None and call.segment.start >= alignment.unsent:
            continue
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
        if alignment.unsent is not None and call.segment.end > alignment.unsent:
            continue
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
            events = [delta.event for delta in fields[field]]
            yield Finding(
                kind=Kind.PROTOCOL,
                severity=Severity.WARNING,
                facts=UnnamedCall(index=index),
                field=field,
                event_start=events[0],
                event_end=events[-1] + 1,
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
    generated_valid = is_json(generated)
    return Finding(
        kind=Kind.INVALID_TOOL_ARGUMENTS,
        severity=Severity.ERROR if generated_valid else Severity.WARNING,
        facts=NoFacts(code=Code.ARGUMENTS_BROKEN if generated_valid else Code.ARGUMENTS_GENERATED_INVALID),
        field=field,
        generated=generated,
        delivered=delivered,
        choice=choice.index,
    )


def broken_arguments(choice: ChoiceReading, empty: str) -> Iterator[Finding]:
    """Arguments that arrived as invalid JSON, if no token IDs show whether the model wrote them so.

    `empty` is what a client has where none arrived.
    """
    if choice.finish_reason != "tool_calls":  # a stream that was cut or goes on may still be in the middle
        return
    for index, call in enumerate(choice.delivered().tool_calls):
        if call.name and not is_json(call.arguments or empty):
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


_ASKS: Final = ("messages", "input")
"""Keys of a request that is known."""
_LISTED_AT_MOST: Final = 64
"""Tools that a finding lists: thousands of calls of a request with thousands of tools would list millions."""
_NAMED: Final = ("function", "custom")  # a tuple: a type may be a list, which no set takes
_BUILT_IN: Final[Mapping[str, str]] = {
    "web_search": "browser",
    "code_interpreter": "python",
    "container": "container",
}
"""Types of built-in tools by their beginning, with the label that calls of them have."""
_OF_ITEMS: Final[Mapping[str, str]] = {"web_search_call": "browser", "code_interpreter_call": "python"}
"""Items that are a call by their type, with the tool that they are a call of."""


_MISREAD: Final = frozenset(
    {
        Code.CALL_RENAMED,
        Code.FINAL_CALL_OF_SPECIAL_TOKEN,
        Code.FINAL_FUNCTION_AS_MCP,
        Code.TOKEN_IN_NAME,
        Code.HEADER_WORD_IN_NAME,
    }
)
"""Findings that already report a call whose name the server made up."""


@dataclass(frozen=True, slots=True)
class _Offer:
    """What a request offers."""

    names: tuple[str, ...]
    """Functions, and labels of the tools that the server runs."""
    certain: bool
    """False where a tool is of a type whose names are not in the request."""


@dataclass(frozen=True, slots=True)
class _Call:
    """A call that the response has."""

    name: str
    """As a sentence names it: `someone`, `container.exec`."""
    known_as: tuple[str, ...]
    """Any of these in the offer is enough."""
    field: str
    detail: str


def unoffered_calls(
    reading: Reading, choice: ChoiceReading, findings: Iterable[Finding]
) -> Iterator[Finding]:
    """Calls of tools that the request does not offer, where the request is known and the response has ended.

    `findings` are the others: a call that one of them reports under another name is not reported again.
    """
    if not reading.spec.parsed or not reading.ended:
        return
    if is_replayed(reading.header.owned_by):  # it replays a response to another request
        return
    request = reading.header.request
    if not any(map(request.get, _ASKS)) or any(map(request.get, reading.spec.elsewhere)):
        return  # unknown, or in part: vLLM takes the tools of a conversation from its first request
    offer = _offer(request)
    if not offer.certain:
        return
    explained = {
        field
        for finding in findings
        if finding.code in _MISREAD
        for field in (finding.field, finding.delivered_in)
    }
    offered = frozenset(offer.names)
    written: dict[str, Iterator[int]] = {}
    if choice.has_ids:
        places: dict[str, list[int]] = {}
        for expected in choice.expected.calls:
            places.setdefault(expected.name, []).append(expected.message)
        written = {name: iter(messages) for name, messages in places.items()}
    for call in _calls(reading, choice):
        message = next(written.get(call.name, iter(())), None)
        if call.field not in explained and offered.isdisjoint(call.known_as):
            yield _finding(reading, choice, call, offer, message)


def offered_names(request: Mapping[str, Any]) -> frozenset[str]:
    """The names of the tools that a request offers, as far as they are in it."""
    return frozenset(_offer(request).names)


def _offer(request: Mapping[str, Any]) -> _Offer:
    names: list[str] = []
    certain = True
    legacy = request.get("functions")
    for function in legacy if isinstance(legacy, list) else ():
        names += (
            [function["name"]] if isinstance(function, dict) and isinstance(function.get("name"), str) else []
        )
    tools = request.get("tools")
    for tool in tools if isinstance(tools, list) else ():
        tool_names = _names_of(tool) if isinstance(tool, dict) else []
        certain = certain and bool(tool_names)
        names += tool_names
    return _Offer(tuple(dict.fromkeys(names)), certain)


def _names_of(tool: Mapping[str, Any]) -> list[str]:
    """What calls of a tool are known as; nothing for one whose names are not in the request."""
    kind, label = tool.get("type"), tool.get("server_label")
    if kind == "mcp" and isinstance(label, str):
        return [label, *_built_in(label)]
    if kind in _NAMED or "input_schema" in tool:  # Messages has no type for a function
        nested = tool.get(str(kind))
        name = (nested if isinstance(nested, dict) else tool).get("name")
        return [name] if isinstance(name, str) else []
    return _built_in(kind)


def _built_in(kind: object) -> list[str]:
    return [of for begin, of in _BUILT_IN.items() if isinstance(kind, str) and kind.startswith(begin)]


def _calls(reading: Reading, choice: ChoiceReading) -> Iterator[_Call]:
    names: dict[str, str] = {}
    for field, deltas in choice.deltas_by_field().items():
        if is_tool_name(field):
            names[field] = "".join(delta.text for delta in deltas)
    counts: dict[str, int] = {}
    output = (reading.stream.final_object or {}).get("output")
    for item in output if isinstance(output, list) else ():
        kind = item.get("type") if isinstance(item, dict) else None
        if not isinstance(kind, str):
            continue
        number = counts.get(kind, 0)
        counts[kind] = number + 1
        name, text = item.get("name"), item.get("arguments")
        detail = text if isinstance(text, str) else ""
        if kind == "function_call" and isinstance(name, str):
            names.setdefault(tool_name(number), name)
        elif kind == "mcp_call" and isinstance(name, str):
            yield _server_call(name, item.get("server_label"), f"mcp_call[{number}].arguments", detail)
        elif kind in _OF_ITEMS:
            yield _Call(kind, (_OF_ITEMS[kind],), f"{kind}[{number}]", detail)
    yield from (_Call(name, (name,), field, "") for field, name in names.items() if name)


def _server_call(name: str, label: object, field: str, detail: str) -> _Call:
    """An `mcp_call`, which vLLM makes of any recipient: label and name are its two parts, or both are it."""
    if not isinstance(label, str) or label in {name, "functions"}:
        return _Call(name, (name,), field, detail)
    return _Call(f"{label}.{name}", (label, f"{label}.{name}"), field, detail)


def _finding(
    reading: Reading, choice: ChoiceReading, call: _Call, offer: _Offer, written: int | None
) -> Finding:
    """`written` is the number of the message in which the model wrote the call, where that is known."""
    deltas = choice.deltas_by_field().get(call.field)
    event = deltas[0].event if deltas else reading.stream.final_event
    events = (event, None if event is None else event + 1)
    message = None if written is None else choice.transcript.messages[written]
    span = None if message is None else (message.start, message.body)
    if span is not None:
        events = events_of(choice, *span)
    return Finding(
        kind=Kind.UNOFFERED_CALL,
        severity=Severity.WARNING,
        facts=UnofferedCall(
            name=call.name,
            detail=call.detail or None,
            offered=offer.names[:_LISTED_AT_MOST],
            times=len(offer.names) if len(offer.names) > _LISTED_AT_MOST else None,
        ),
        field=call.field,
        token_start=None if span is None else span[0],
        token_end=None if span is None else span[1],
        event_start=events[0],
        event_end=events[1],
        delivered=call.name,
        choice=choice.index,
    )
