"""Messages: Anthropic's events and bodies to deltas; vLLM sends no token IDs here.

Types of events, blocks and deltas: the `anthropic` SDK 2.14 (`RawMessageStreamEvent`, `ContentBlock`,
`RawContentBlockDelta`), as vLLM 0.12 to 0.33 sends them (`vllm/entrypoints/anthropic/serving.py`). The text
of a delta is read by the type of the delta, whatever its block is, and the disorder is noted.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from inspector.capture.capture import Event, EventKind
from inspector.capture.deltas import CONTENT, REASONING, Delta, tool_arguments, tool_name
from inspector.protocol.wire.stream import Stream, brief, error_in

START: Final = "message_start"
STOP: Final = "message_stop"

DELTA_KEYS: Final = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
"""Types of deltas that have text, and its key."""
BLOCK_KEYS: Final = {"text": "text", "thinking": "thinking"}
"""Types of blocks that start with a text, and its key."""
DELTA_BLOCKS: Final = {
    "text_delta": ("text",),
    "citations_delta": ("text",),
    "thinking_delta": ("thinking",),
    "signature_delta": ("thinking",),
    "input_json_delta": ("tool_use", "server_tool_use"),
}
"""Types of deltas, and the types of blocks that the SDK adds them to; it ignores any other delta."""
_FINISH_REASONS: Final = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}
"""Stop reasons by the names of chat; the others stay as they are."""
_COUNT: Final = "output_tokens"
_STOP_REASON: Final = "stop_reason"
"""Each message has it; on chat it is a sign of vLLM."""
_NO_INPUT: Final = "{}"
"""What a call of a stream starts with, whatever follows; in a body it is the arguments."""


@dataclass(slots=True)
class _Block:
    kind: str
    number: int
    """Its place among the blocks of its type."""
    input: str = ""
    """The arguments that it starts with: they are those of the call where no text follows."""

    @property
    def input_field(self) -> str:
        if self.kind == "tool_use":
            return tool_arguments(self.number)
        return f"{self.kind}[{self.number}].input"


class MessagesReader:
    """Reads the events of one message into `stream`, as choice 0."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self._counts: dict[str, int] = {}
        """Blocks so far, by type."""
        self._blocks: dict[int, _Block] = {}
        """By the index that the server gave them."""

    def receive(self, events: Sequence[Event]) -> None:
        """Read some more events."""
        for index, kind, payload in self.stream.typed_objects(events):
            if kind is EventKind.BODY:
                self._body(payload, index)
            else:
                self._event(payload, index)

    def _event(self, payload: Mapping[str, Any], index: int) -> None:
        stream = self.stream
        stream.note_members(payload)
        match payload.get("type"):
            case "message_start":
                message = payload.get("message")
                if isinstance(message, dict):
                    for number, block in enumerate(blocks_of(message)):
                        self._started(block, number, index)
                    self._envelope(message, counted=False)
            case "content_block_start":
                self._started(payload.get("content_block"), payload.get("index"), index)
            case "content_block_delta":
                self._delta(payload, index)
            case "content_block_stop":
                self._stopped(payload, index)
            case "message_delta":
                delta = payload.get("delta")
                self._finish(delta.get(_STOP_REASON) if isinstance(delta, dict) else None, index)
                self._envelope(payload)
            case "message_stop":
                stream.terminal_event = index
            case _ if error := error_in(payload, index):
                stream.errors.append(error)
            case _:
                return
        if stream.terminal_event is not None and stream.terminal_event != index:
            stream.notice("after_done", index, f"an event follows {STOP}")

    def _body(self, payload: Mapping[str, Any], index: int) -> None:
        if not isinstance(payload.get("content"), list) or payload.get("type") == "error":
            if error := error_in(payload, index):
                self.stream.errors.append(error)
            return
        self.stream.terminal_event = index
        for block in blocks_of(payload):
            if isinstance(block, dict):
                started = self._add(block, index)
                self._deliver(started.input_field, started.input, index)
        self._finish(payload.get(_STOP_REASON), index)
        self._envelope(payload)

    def _started(self, block: object, number: object, index: int) -> None:
        if isinstance(block, dict):
            started = self._add(block, index)
            if started.input == _NO_INPUT:
                started.input = ""
            if type(number) is int:
                self._blocks[number] = started

    def _add(self, block: Mapping[str, Any], index: int) -> _Block:
        """A new block, with the text that it starts with."""
        kind = brief(block.get("type"))
        added = _Block(kind, self._counts.get(kind, 0), _arguments(block.get("input")))
        self._counts[kind] = added.number + 1
        if kind == "tool_use":
            self._deliver(tool_name(added.number), block.get("name"), index)
        if (key := BLOCK_KEYS.get(kind)) is not None:
            self._deliver(REASONING if kind == "thinking" else CONTENT, block.get(key), index)
        return added

    def _delta(self, payload: Mapping[str, Any], index: int) -> None:
        delta, number = payload.get("delta"), payload.get("index")
        if not isinstance(delta, dict):
            return
        kind = brief(delta.get("type"))
        block = self._blocks.get(number) if type(number) is int else None
        field = self._field(kind, block)
        if block is None:
            detail = f"a delta ({kind}) has the index {brief(number)}, with which no block started"
            self.stream.notice(f"no_block:{kind}", index, detail, field)
        elif block.kind not in DELTA_BLOCKS.get(kind, (block.kind,)):
            detail = f"a delta ({kind}) arrived for a block of the type {block.kind}"
            self.stream.notice(f"block_type:{kind}", index, detail, field)
        if field is not None:
            text = delta.get(DELTA_KEYS[kind])
            if block is not None and kind == "input_json_delta" and text:
                block.input = ""
            self._deliver(field, text, index)

    def _stopped(self, payload: Mapping[str, Any], index: int) -> None:
        number = payload.get("index")
        block = self._blocks.get(number) if type(number) is int else None
        if block is not None:
            self._deliver(block.input_field, block.input, index)
            block.input = ""

    def _field(self, kind: str, block: _Block | None) -> str | None:
        """Where the text of a delta belongs; None for a delta without text."""
        match kind:
            case "text_delta":
                return CONTENT
            case "thinking_delta":
                return REASONING
            case "input_json_delta":
                last = _Block("tool_use", max(self._counts.get("tool_use", 0) - 1, 0))
                return (block or last).input_field
            case _:
                return None

    def _deliver(self, field: str, text: object, index: int) -> None:
        if text and isinstance(text, str):
            self.stream.choice(0).deltas.append(Delta(index, field, text))

    def _finish(self, reason: object, index: int) -> None:
        if reason is not None:
            choice, name = self.stream.choice(0), brief(reason)
            choice.finish_reason, choice.finish_event = _FINISH_REASONS.get(name, name), index

    def _envelope(self, message: Mapping[str, Any], *, counted: bool = True) -> None:
        """Later counts replace earlier ones; the first event comes before any output is `counted`."""
        stream = self.stream
        stream.note_members({name: value for name, value in message.items() if name != _STOP_REASON})
        if isinstance(usage := message.get("usage"), dict):
            known = {key: count for key, count in usage.items() if count is not None}
            if not counted:
                known.pop(_COUNT, None)
            stream.usage = {**(stream.usage or {}), **known}
        if isinstance(model := message.get("model"), str):
            stream.model = model


def blocks_of(message: Mapping[str, Any]) -> Sequence[object]:
    """The content of a message: all of it in a body, as a rule none where a stream begins."""
    content = message.get("content")
    return content if isinstance(content, list) else ()


def _arguments(value: object) -> str:
    """The input of a call as text; empty without any."""
    if value is None or isinstance(value, str):
        return value or ""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except (ValueError, RecursionError):
        return ""
