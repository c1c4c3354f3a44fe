"""What the events of an endpoint must be besides well-formed: their types, their fields, their order.

Which types of events there are, and which fields each must have, is generated from the types of the SDKs
(`event_fields.json`). What no schema can say is checked by hand: an item, call, part or block keeps its ID
and index in all its events, is added before it is used, and is not used once it is done (OpenAI's API
reference, "Streaming events"; Anthropic's, "Streaming messages").
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, Final

from inspector.capture.formats import clip, count
from inspector.protocol.wire.messages import BLOCK_KEYS, DELTA_BLOCKS, DELTA_KEYS, START, STOP, blocks_of
from inspector.protocol.wire.responses import TERMINAL_TYPES
from inspector.protocol.wire.stream import brief, loads

FIELDS_FILE: Final = Path(__file__).with_name("event_fields.json")


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
    EVENT_BEFORE_START = "event_before_start"
    EVENT_UNNAMED = "event_unnamed"
    BLOCK_INDEX_REPEATED = "block_index_repeated"
    BLOCK_INDEX_SKIPPED = "block_index_skipped"
    BLOCK_INDEX_UNKNOWN = "block_index_unknown"
    DELTA_UNLIKE_BLOCK = "delta_unlike_block"
    BLOCK_NOT_STOPPED = "block_not_stopped"
    MESSAGE_DELTA_MISSING = "message_delta_missing"
    INPUT_NOT_JSON = "input_not_json"

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
    ViolationCode.EVENT_BEFORE_START: ViolationKind.ORDER,
    ViolationCode.EVENT_UNNAMED: ViolationKind.SCHEMA,
    ViolationCode.DELTA_UNLIKE_BLOCK: ViolationKind.SCHEMA,
    ViolationCode.BLOCK_NOT_STOPPED: ViolationKind.ORDER,
    ViolationCode.MESSAGE_DELTA_MISSING: ViolationKind.ORDER,
    ViolationCode.INPUT_NOT_JSON: ViolationKind.SCHEMA,
}
"""All others are of `IDENTITY`."""


ViolationRow = tuple[ViolationCode, str, str]
"""A violation, what it is about (one row for each), and the sentence."""


@cache
def _required_fields() -> Mapping[str, list[str]]:
    fields: dict[str, list[str]] = json.loads(FIELDS_FILE.read_text(encoding="utf-8"))
    return fields


def unlike_schema(type_name: str | None, payload: Mapping[str, Any]) -> Iterator[ViolationRow]:
    """A type that the schema does not have, or its fields that are missing."""
    if type_name is None:
        yield ViolationCode.FIELD_MISSING, "type", "An event has no field type."
        return
    required = _required_fields().get(type_name)
    shown = clip(type_name, 80)
    if required is None:
        yield (
            ViolationCode.UNKNOWN_EVENT_TYPE,
            shown,
            f"The event type {shown} is not in the published schema.",
        )
        return
    yield from _missing(type_name, f"An event of type {shown}" if type_name else "A chunk", payload)


def _missing(row: str, subject: str, fields: Mapping[str, Any]) -> Iterator[ViolationRow]:
    """Required fields that an object lacks."""
    for name in _required_fields().get(row, ()):
        if fields.get(name) is None:  # none of them may be null
            yield ViolationCode.FIELD_MISSING, f"{row} {name}", f"{subject} has no field {name}."


class EventCheck(ABC):
    """Looks at the events of one response, in their order."""

    def type_of(self, payload: Mapping[str, Any]) -> str | None:
        """The row of the schema that an event has; None where it does not name its type."""
        name = payload.get("type")
        return name if isinstance(name, str) else None

    def is_like_before(self, _data: str) -> bool:
        """True for an event that need not be parsed."""
        return False

    @abstractmethod
    def receive(self, type_name: str, payload: Mapping[str, Any]) -> Iterator[ViolationRow]:
        """What is wrong with an event after those before it."""


class ChatCheck(EventCheck):
    """Chunks keep their id, calls have ids and indexes in order."""

    def __init__(self) -> None:
        self._id: object = None
        self._start: str | None = None
        """How a chunk with that id begins, as vLLM writes it."""
        self._calls: dict[str, set[int]] = {}
        """By choice the indexes of its calls."""

    def type_of(self, _payload: Mapping[str, Any]) -> str:
        """All are chunks."""
        return ""

    def is_like_before(self, data: str) -> bool:
        """True for a chunk of the same id without calls, which need not be parsed."""
        return self._start is not None and data.startswith(self._start) and '"tool_calls"' not in data

    def receive(self, _type: str, payload: Mapping[str, Any]) -> Iterator[ViolationRow]:
        """What is wrong with a chunk."""
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


class ResponsesCheck(EventCheck):
    """Items by their index."""

    def __init__(self) -> None:
        self._items: dict[int, _Item] = {}

    def receive(self, type_name: str, payload: Mapping[str, Any]) -> Iterator[ViolationRow]:
        """What is wrong with an event."""
        if type_name == "response.output_item.added":
            yield from self._added(payload)
        elif type_name in TERMINAL_TYPES:
            yield from self._terminal(payload, type_name)
        elif "output_index" in payload:
            yield from self._within_item(type_name, payload)

    def _added(self, payload: Mapping[str, Any]) -> Iterator[ViolationRow]:
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

    def _within_item(self, type_name: str, payload: Mapping[str, Any]) -> Iterator[ViolationRow]:
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

    def _terminal(self, payload: Mapping[str, Any], type_name: str) -> Iterator[ViolationRow]:
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


def _changes(item: _Item, final: Mapping[str, Any], place: str) -> Iterator[ViolationRow]:
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


class MessagesCheck(EventCheck):
    """Blocks by their index, which is their place in the message: the SDK finds them by it."""

    def __init__(self) -> None:
        self._started = self._ended = self._finished = False
        self._blocks: dict[int, str] = {}
        """Index to type."""
        self._open: set[int] = set()
        self._inputs: dict[int, list[str]] = {}
        """Pieces of the arguments of open calls, which the SDK parses as they arrive."""

    def receive(self, type_name: str, payload: Mapping[str, Any]) -> Iterator[ViolationRow]:
        """What is wrong with an event."""
        event = f"An event ({clip(type_name, 80)})"
        if self._ended:
            yield ViolationCode.EVENT_AFTER_DONE, "", f"{event} follows {STOP}."
        if type_name == START:
            self._started = True
            yield from self._message(payload)
        elif not self._started and type_name != _PING:
            self._started = True
            yield ViolationCode.EVENT_BEFORE_START, "", f"{event} comes before {START}."
        if type_name == "content_block_start":
            yield from self._begun(payload)
        elif type_name in {"content_block_delta", "content_block_stop"}:
            yield from self._within_block(event, type_name, payload)
        elif type_name == "message_delta":
            self._finished = True
        elif type_name == STOP:
            self._ended = True
            if self._open:
                yield ViolationCode.BLOCK_NOT_STOPPED, "", "The message ends before one of its blocks stops."
            if not self._finished:
                sentence = (
                    "The message ends without message_delta: its stop reason and token count are missing."
                )
                yield ViolationCode.MESSAGE_DELTA_MISSING, "", sentence

    def _message(self, payload: Mapping[str, Any]) -> Iterator[ViolationRow]:
        message = payload.get("message")
        if isinstance(message, dict):
            yield from _missing(f"{START}.message", f"The message of {START}", message)
            for index, block in enumerate(blocks_of(message)):
                self._blocks[index] = brief(block.get("type") if isinstance(block, dict) else block)

    def _begun(self, payload: Mapping[str, Any]) -> Iterator[ViolationRow]:
        index, block = payload.get("index"), payload.get("content_block")
        if type(index) is not int or not isinstance(block, dict):
            return
        if index in self._blocks:
            sentence = f"A second block starts with the index {brief(index)}."
            yield ViolationCode.BLOCK_INDEX_REPEATED, "", sentence
        elif index != len(self._blocks):
            sentence = f"The block after {count(len(self._blocks), 'other')} has the index {brief(index)}."
            yield ViolationCode.BLOCK_INDEX_SKIPPED, "", sentence
        kind = self._blocks[index] = brief(block.get("type"))
        self._open.add(index)
        yield from _without_text(f"block of the type {kind}", BLOCK_KEYS.get(kind), block)
        if kind == "tool_use" and not block.get("name"):
            yield ViolationCode.FIELD_MISSING, "tool_use name", "A call has no name."

    def _within_block(self, event: str, type_name: str, payload: Mapping[str, Any]) -> Iterator[ViolationRow]:
        index, delta = payload.get("index"), payload.get("delta")
        if type(index) is not int or index not in self._blocks:
            sentence = f"{event} has the index {brief(index)}, with which no block started."
            yield ViolationCode.BLOCK_INDEX_UNKNOWN, "", sentence
            return
        if index not in self._open:
            yield ViolationCode.EVENT_AFTER_DONE, "", f"{event} of a block follows the stop of that block."
        if type_name == "content_block_stop":
            self._open.discard(index)
            # Otherwise the SDK raises, or makes an object of what is complete in them.
            arguments = "".join(self._inputs.pop(index, ())).strip()
            if arguments not in {"", "null"} and loads(arguments) is None:
                yield ViolationCode.INPUT_NOT_JSON, "", "The arguments of a call are not JSON."
        elif isinstance(delta, dict):
            kind, block = brief(delta.get("type")), self._blocks[index]
            if block not in DELTA_BLOCKS.get(kind, ()):
                sentence = f"A delta of the type {kind} arrives for a block of the type {block}."
                yield ViolationCode.DELTA_UNLIKE_BLOCK, "", sentence
            yield from _without_text(f"delta of the type {kind}", DELTA_KEYS.get(kind), delta)
            if isinstance(text := delta.get("partial_json"), str):
                self._inputs.setdefault(index, []).append(text)


def _without_text(subject: str, key: str | None, fields: Mapping[str, Any]) -> Iterator[ViolationRow]:
    """A text that is missing, to which the SDK adds or which it adds."""
    if key is not None and not isinstance(fields.get(key), str):
        yield ViolationCode.FIELD_MISSING, subject, f"A {subject} has no text in the field {key}."


_PING: Final = "ping"


def _objects(value: object) -> Iterator[Mapping[str, Any]]:
    yield from (item for item in (value if isinstance(value, list) else ()) if isinstance(item, dict))
