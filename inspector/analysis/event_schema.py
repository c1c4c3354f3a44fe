"""Where the events of a stream contradict the published schema or each other, whatever text they deliver.

A violation does not change the verdict, which is about delivery; it says why a client may fail on a stream
that was delivered completely. Which types of events there are, and which fields each must have, is generated
from OpenAI's specification (`event_fields.json`). What no schema can say is checked by hand: an item, call or
part keeps its ID and index in all its events, is added before it is used, and is not used once it is done
(OpenAI's API reference, "Streaming events").
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, Final

from inspector.capture.capture import Capture, Endpoint, Event, EventKind
from inspector.capture.formats import clip, count
from inspector.protocol.wire.excerpt import excerpt_of
from inspector.protocol.wire.responses import TERMINAL_TYPES
from inspector.protocol.wire.stream import brief, loads

FIELDS_FILE: Final = Path(__file__).with_name("event_fields.json")
_ERRORS_FROM: Final = 400


class ViolationKind(StrEnum):
    """What the events break; public in `audit --json`, added to and never renamed."""

    IDENTITY = "identity"
    """An ID or index changes, or names nothing that was added."""
    SCHEMA = "schema"
    """A type of event that the schema does not have, or a required field that is missing."""
    ORDER = "order"
    """An event that comes before or after its place."""


class ViolationCode(StrEnum):
    """What exactly; public in `audit --json`, added to and never renamed."""

    CHUNK_ID_CHANGED = "chunk_id_changed"
    CALL_WITHOUT_ID = "call_without_id"
    CALL_INDEX_SKIPPED = "call_index_skipped"
    ITEM_WITHOUT_ID = "item_without_id"
    UNKNOWN_EVENT_TYPE = "unknown_event_type"
    FIELD_MISSING = "field_missing"
    OUTPUT_INDEX_REPEATED = "output_index_repeated"
    OUTPUT_INDEX_SKIPPED = "output_index_skipped"
    OUTPUT_INDEX_UNKNOWN = "output_index_unknown"
    ITEM_ID_CHANGED = "item_id_changed"
    ITEM_TYPE_CHANGED = "item_type_changed"
    CALL_ID_CHANGED = "call_id_changed"
    CONTENT_INDEX_UNKNOWN = "content_index_unknown"
    EVENT_AFTER_DONE = "event_after_done"
    ITEM_NOT_DONE = "item_not_done"

    @property
    def kind(self) -> ViolationKind:
        """The kind to which it belongs."""
        return _KINDS.get(self, ViolationKind.IDENTITY)


_KINDS: Final = {
    ViolationCode.CALL_WITHOUT_ID: ViolationKind.SCHEMA,
    ViolationCode.ITEM_WITHOUT_ID: ViolationKind.SCHEMA,
    ViolationCode.UNKNOWN_EVENT_TYPE: ViolationKind.SCHEMA,
    ViolationCode.FIELD_MISSING: ViolationKind.SCHEMA,
    ViolationCode.EVENT_AFTER_DONE: ViolationKind.ORDER,
    ViolationCode.ITEM_NOT_DONE: ViolationKind.ORDER,
}
"""All others are of `IDENTITY`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaViolation:
    """One way in which the events break the schema, `times` times, first in `event`."""

    code: ViolationCode
    event: int
    times: int
    sentence: str
    """The first occurrence, in words."""

    def row(self) -> dict[str, Any]:
        """The row of `audit --json`."""
        return {
            "kind": self.code.kind.value,
            "code": self.code.value,
            "event": self.event,
            "times": self.times,
            "sentence": self.sentence,
        }


def schema_violations(capture: Capture) -> tuple[SchemaViolation, ...]:
    """Each way in which the streamed events break the schema, in their order; content never raises.

    Chat and Responses; a body that is not streamed has no events, an error page follows no schema, and the
    other events of an excerpt are unknown.
    """
    check: _ChatCheck | _ResponsesCheck
    match capture.header.endpoint:
        case _ if (capture.header.status or 200) >= _ERRORS_FROM:
            return ()
        case _ if excerpt_of(capture.header, capture.events, capture.end) is not None:
            return ()
        case Endpoint.CHAT:
            check = _ChatCheck()
        case Endpoint.RESPONSES:
            check = _ResponsesCheck()
        case _:
            return ()
    violations: dict[tuple[ViolationCode, str], SchemaViolation] = {}
    for index, event in enumerate(capture.events):
        if check.is_like_before(event.data) or (payload := _payload(event)) is None:
            continue
        type_name = check.type_of(payload)
        for code, subject, sentence in (
            *_unlike_schema(type_name, payload),
            *check.receive(type_name, payload),
        ):
            first = violations.get((code, subject))
            violations[code, subject] = (
                SchemaViolation(code=code, event=index, times=1, sentence=sentence)
                if first is None
                else replace(first, times=first.times + 1)
            )
    return tuple(violations.values())


def violations_sentence(violations: Sequence[SchemaViolation]) -> str | None:
    """In one sentence what a client may fail on; None without violations."""
    if not violations:
        return None
    rest = f" ({count(len(violations) - 1, 'more violation')})" if len(violations) > 1 else ""
    return f"By its schema, a client may fail on this stream: {violations[0].sentence}{rest}"


_Row = tuple[ViolationCode, str, str]
"""A violation, what it is about (one row for each), and the sentence."""


def _payload(event: Event) -> Mapping[str, Any] | None:
    """The object of an event that is part of the response: neither an error nor `[DONE]`."""
    if event.kind is not EventKind.SSE or event.data == "[DONE]":
        return None
    payload = loads(event.data)
    if not isinstance(payload, dict) or payload.get("error") is not None or payload.get("object") == "error":
        return None
    return payload


@cache
def _required_fields() -> Mapping[str, list[str]]:
    fields: dict[str, list[str]] = json.loads(FIELDS_FILE.read_text(encoding="utf-8"))
    return fields


def _unlike_schema(type_name: str, payload: Mapping[str, Any]) -> Iterator[_Row]:
    required = _required_fields().get(type_name)
    shown = clip(type_name, 80)
    if required is None:
        yield (
            ViolationCode.UNKNOWN_EVENT_TYPE,
            shown,
            f"The event type {shown} is not in the published schema.",
        )
        return
    for name in required:
        if name not in payload:
            event = f"An event of type {shown}" if type_name else "A chunk"
            yield ViolationCode.FIELD_MISSING, f"{shown} {name}", f"{event} has no field {name}."


class _ChatCheck:
    def __init__(self) -> None:
        self._id: object = None
        self._start: str | None = None
        """How a chunk with that id begins, as vLLM writes it."""
        self._calls: dict[str, set[int]] = {}
        """By choice the indexes of its calls."""

    def type_of(self, _payload: Mapping[str, Any]) -> str:
        return ""

    def is_like_before(self, data: str) -> bool:
        """True for a chunk of the same id without calls, which need not be parsed."""
        return self._start is not None and data.startswith(self._start) and '"tool_calls"' not in data

    def receive(self, _type: str, payload: Mapping[str, Any]) -> Iterator[_Row]:
        chunk_id = payload.get("id")
        if self._id is None:
            self._id = chunk_id
            self._start = f'{{"id":{json.dumps(chunk_id)},' if isinstance(chunk_id, str) else None
        elif chunk_id != self._id:
            yield ViolationCode.CHUNK_ID_CHANGED, "", "The id changes from one chunk to the next."
        for choice in _objects(payload.get("choices")):
            delta = choice.get("delta")
            for call in _objects(delta.get("tool_calls") if isinstance(delta, dict) else None):
                calls = self._calls.setdefault(brief(choice.get("index")), set())
                index = call.get("index")
                if type(index) is not int or index in calls:
                    continue
                if index != len(calls):
                    sentence = (
                        f"The tool call after {count(len(calls), 'other')} has the index {brief(index)}."
                    )
                    yield ViolationCode.CALL_INDEX_SKIPPED, "", sentence
                if not isinstance(call.get("id"), str):
                    yield ViolationCode.CALL_WITHOUT_ID, "", "The first delta of a tool call has no id."
                calls.add(index)


@dataclass(slots=True)
class _Item:
    id: object
    type: object
    call_id: object
    parts: int = 0
    done: bool = False
    """True from its `response.output_item.done` on."""


class _ResponsesCheck:
    def __init__(self) -> None:
        self._items: dict[int, _Item] = {}

    def type_of(self, payload: Mapping[str, Any]) -> str:
        name = payload.get("type")
        return name if isinstance(name, str) else ""

    def is_like_before(self, _data: str) -> bool:
        return False

    def receive(self, type_name: str, payload: Mapping[str, Any]) -> Iterator[_Row]:
        if type_name == "response.output_item.added":
            yield from self._added(payload)
        elif type_name in TERMINAL_TYPES:
            yield from self._terminal(payload, type_name)
        elif "output_index" in payload:
            yield from self._within_item(type_name, payload)

    def _added(self, payload: Mapping[str, Any]) -> Iterator[_Row]:
        index, item = payload.get("output_index"), payload.get("item")
        if type(index) is not int or not isinstance(item, dict):
            return
        if index in self._items:
            sentence = f"A second item is added with the output_index {brief(index)}."
            yield ViolationCode.OUTPUT_INDEX_REPEATED, "", sentence
        elif index != len(self._items):
            sentence = (
                f"The item after {count(len(self._items), 'other')} has the output_index {brief(index)}."
            )
            yield ViolationCode.OUTPUT_INDEX_SKIPPED, "", sentence
        if not item.get("id"):
            yield ViolationCode.ITEM_WITHOUT_ID, "", "An item is added without an id."
        self._items[index] = _Item(item.get("id"), item.get("type"), item.get("call_id"))

    def _within_item(self, type_name: str, payload: Mapping[str, Any]) -> Iterator[_Row]:
        index = payload["output_index"]
        item = self._items.get(index) if type(index) is int else None
        event = f"An event ({clip(type_name, 80)})"
        if item is None:
            sentence = f"{event} names the output_index {brief(index)}, which was never added."
            yield ViolationCode.OUTPUT_INDEX_UNKNOWN, "", sentence
            return
        if item.done:
            yield ViolationCode.EVENT_AFTER_DONE, "", f"{event} of an item follows the end of that item."
        if type_name == "response.output_item.done":
            item.done = True
            if isinstance(final := payload.get("item"), dict):
                yield from _changes(item, final, type_name)
            return
        if (item_id := payload.get("item_id", item.id)) != item.id:
            sentence = (
                f"{event} has the item_id {brief(item_id)} for the item that was added as {brief(item.id)}."
            )
            yield ViolationCode.ITEM_ID_CHANGED, "", sentence
        part = payload.get("content_index")
        if type_name.endswith("_part.added"):
            item.parts += 1
        elif type(part) is int and not 0 <= part < item.parts:
            sentence = (
                f"{event} names the content_index {brief(part)} of an item with {count(item.parts, 'part')}."
            )
            yield ViolationCode.CONTENT_INDEX_UNKNOWN, "", sentence

    def _terminal(self, payload: Mapping[str, Any], type_name: str) -> Iterator[_Row]:
        response = payload.get("response")
        if not isinstance(response, dict):
            return
        if type_name == "response.completed" and any(not item.done for item in self._items.values()):
            yield (
                ViolationCode.ITEM_NOT_DONE,
                "",
                "The response is completed before one of its items is done.",
            )
        for index, final in enumerate(_objects(response.get("output"))):
            if (item := self._items.get(index)) is not None and item.type == final.get("type"):
                yield from _changes(item, final, "the final object")


def _changes(item: _Item, final: Mapping[str, Any], place: str) -> Iterator[_Row]:
    """How an item differs from what was added."""
    if final.get("type") != item.type:
        sentence = f"An item of type {brief(item.type)} is of type {brief(final.get('type'))} in {place}."
        yield ViolationCode.ITEM_TYPE_CHANGED, place, sentence
        return
    if final.get("id") != item.id:
        sentence = (
            f"The item that was added as {brief(item.id)} has the id {brief(final.get('id'))} in {place}."
        )
        yield ViolationCode.ITEM_ID_CHANGED, place, sentence
    if final.get("call_id") != item.call_id:
        sentence = (
            f"The call_id of a call, {brief(item.call_id)}, is {brief(final.get('call_id'))} in {place}."
        )
        yield ViolationCode.CALL_ID_CHANGED, place, sentence


def _objects(value: object) -> Iterator[Mapping[str, Any]]:
    yield from (item for item in (value if isinstance(value, list) else ()) if isinstance(item, dict))
