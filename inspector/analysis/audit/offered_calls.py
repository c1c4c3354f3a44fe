"""Findings about calls of tools that the request does not offer, so that no client can run them.

A model may write such a call, and a server that misreads a header makes one of it. Without token IDs the two
look alike, and a token more or less in the header can make the server's count agree all the same.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from inspector.analysis.audit.facts import UnofferedCall
from inspector.analysis.audit.finding import Finding
from inspector.analysis.audit.kinds import Code, Kind, Severity
from inspector.analysis.audit.words import events_of
from inspector.analysis.reading import ChoiceReading, Reading
from inspector.capture.deltas import is_tool_name, tool_name
from inspector.protocol.engines.replays import is_replayed

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
    if kind in _NAMED:
        nested = tool.get(kind)
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
