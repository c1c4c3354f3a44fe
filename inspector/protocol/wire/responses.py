"""Responses: event payloads to deltas, item texts and the final object; vLLM sends no token ids here.

Event types: OpenAI's Responses streaming events as vLLM 0.10 to 0.32 sends them. In vLLM 0.13 the ID and
index of a delta may differ from those of the item that was added; the text is read all the same and the
disorder is noted.

A reasoning item has its text in `content`, or in `summary`, where a gateway puts all of the reasoning that
came from chat (LiteLLM 1.106.12: responses/litellm_completion_transformation). A summary beside the text is
not read.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from inspector.capture.capture import Event, EventKind
from inspector.capture.deltas import CONTENT, REASONING, Delta, tool_arguments, tool_name
from inspector.protocol.wire.stream import Stream, brief, error_in, token_ids

_DELTAS: Final = {
    "response.output_text.delta": "message",
    "response.reasoning_text.delta": "reasoning",
    "response.reasoning_summary_text.delta": "reasoning",
    "response.function_call_arguments.delta": "function_call",
    "response.mcp_call_arguments.delta": "mcp_call",
    "response.code_interpreter_call_code.delta": "code_interpreter_call",
}
_DONES: Final = {
    "response.output_text.done": ("message", "text"),
    "response.reasoning_text.done": ("reasoning", "text"),
    "response.reasoning_summary_text.done": ("reasoning", "text"),
    "response.function_call_arguments.done": ("function_call", "arguments"),
    "response.mcp_call_arguments.done": ("mcp_call", "arguments"),
    "response.code_interpreter_call_code.done": ("code_interpreter_call", "code"),
}
CREATED: Final = "response.created"
"""Type of the event that begins an answer."""

TERMINAL_TYPES: Final = frozenset({"response.completed", "response.incomplete", "response.failed"})
"""Types of the events that end an answer."""

_ITEM_TEXT: Final = {"mcp_call": "arguments", "code_interpreter_call": "code"}


class ResponsesReader:
    """Reads the events of one Responses answer into `stream`, as choice 0."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self._counts: dict[str, int] = {}  # items added, by type
        self._numbers: dict[
            tuple[str, object], int
        ] = {}  # type with output_index or id, to place in its type
        self._sequence: int | None = None
        self._has_reasoning = False

    def receive(self, events: Sequence[Event]) -> None:
        """Read some more events."""
        for index, kind, payload in self.stream.typed_objects(events):
            if kind is EventKind.BODY:
                self._body(payload, index)
            else:
                self._event(payload, index)

    def _event(self, payload: Mapping[str, Any], index: int) -> None:
        stream = self.stream
        kind = payload.get("type")
        kind = kind if isinstance(kind, str) else ""
        if kind in stream.extensions.members:
            stream.members.add(kind)
        self._count(payload.get("sequence_number"), index)
        self._has_reasoning |= kind.startswith("response.reasoning_text.")
        if self._has_reasoning and kind.startswith("response.reasoning_summary_text."):
            return
        if kind in _DELTAS:
            text = payload.get("delta")
            if isinstance(text, str) and text:
                field = self._field(_DELTAS[kind], payload, index)
                stream.choice(0).deltas.append(Delta(index, field, text))
        elif kind in _DONES:
            item_type, key = _DONES[kind]
            text = payload.get(key)
            if isinstance(text, str):
                finals = stream.choice(0).item_finals
                field = self._field(item_type, payload, index, quiet=True)
                finals[field] = finals.get(field, "") + text
        elif kind == "response.output_item.added":
            self._added(payload, index)
        elif kind in TERMINAL_TYPES:
            stream.terminal_event = index
            self._final(payload.get("response"), index)
        elif isinstance(response := payload.get("response"), dict):
            self._envelope(response)
        elif error := error_in(payload, index):
            stream.errors.append(error)
        if ids := payload.get("token_ids"):
            stream.choice(0).tokens.extend(token_ids(ids), index)

    def _body(self, payload: Mapping[str, Any], index: int) -> None:
        if payload.get("object") == "response":
            self.stream.terminal_event = index
            self._final(payload, index)
            choice = self.stream.choice(0)
            # Joined, the texts of two messages in one field could not be told apart.
            texts = item_texts(payload.get("output"))
            choice.deltas.extend(Delta(index, field, text) for field, text in texts if text)
        elif error := error_in(payload, index):
            self.stream.errors.append(error)

    def _count(self, number: object, index: int) -> None:
        if type(number) is not int:
            return
        if self._sequence is not None and number != self._sequence + 1:
            detail = f"an event with sequence_number {number} follows one with {self._sequence}"
            self.stream.notice("sequence", index, detail)
        self._sequence = number

    def _added(self, payload: Mapping[str, Any], index: int) -> None:
        item = payload.get("item")
        if not isinstance(item, dict):
            return
        kind = brief(item.get("type"))
        number = self._counts.get(kind, 0)
        self._counts[kind] = number + 1
        for key in _keys(payload.get("output_index"), item.get("id")):
            self._numbers[kind, key] = number
        name = item.get("name")
        if kind == "function_call" and isinstance(name, str) and name:
            self.stream.choice(0).deltas.append(Delta(index, tool_name(number), name))

    def _field(self, kind: str, payload: Mapping[str, Any], index: int, *, quiet: bool = False) -> str:
        """The field of a delta, and a notice when its item is another or was never added."""
        keys = _keys(payload.get("output_index"), payload.get("item_id"))
        numbers = [self._numbers[kind, key] for key in keys if (kind, key) in self._numbers]
        count = self._counts.get(kind, 0)
        if not quiet and not count:
            detail = f"a delta arrived for an item that was never added ({kind})"
            self.stream.notice(f"no_item:{kind}", index, detail, _field_name(kind, 0))
        elif not quiet and not any((kind, key) in self._numbers for key in _keys(payload.get("item_id"))):
            detail = f"a delta ({kind}) has an item_id that was never added"
            self.stream.notice(f"item_id:{kind}", index, detail, _field_name(kind, 0))
        return _field_name(kind, numbers[0] if numbers else max(count - 1, 0))

    def _final(self, response: object, index: int) -> None:
        if not isinstance(response, dict):
            return
        stream = self.stream
        self._envelope(response)
        stream.final_event, stream.final_object = index, response
        status = response.get("status")
        stream.final_status = status if isinstance(status, str) else None
        details = response.get("incomplete_details")
        if isinstance(details, dict) and isinstance(reason := details.get("reason"), str):
            stream.incomplete_reason = reason
        choice = stream.choice(0)
        choice.finish_reason, choice.finish_event = stream.incomplete_reason or stream.final_status, index
        for field, text in item_texts(response.get("output")):
            choice.finals[field] = choice.finals.get(field, "") + text
        messages = response.get("output_messages")
        if (
            not choice.tokens
            and isinstance(messages, list)
            and len(messages) == 1
            and isinstance(messages[0], dict)
        ):
            # `enable_response_messages` without the Harmony context (vLLM from 0.13): one turn's raw ids.
            choice.tokens.extend(token_ids(messages[0].get("tokens")), -1)
        if (error := error_in({"error": response.get("error")}, index)) is not None:
            stream.errors.append(error)

    def _envelope(self, response: Mapping[str, Any]) -> None:
        self.stream.note_members(response, dict.fromkeys(f"response.{name}" for name in response))
        if isinstance(usage := response.get("usage"), dict):
            self.stream.usage = usage
        if isinstance(model := response.get("model"), str):
            self.stream.model = model
        if isinstance(fingerprint := response.get("system_fingerprint"), str):
            self.stream.fingerprint = fingerprint


def _keys(*keys: object) -> list[int | str]:
    """What may name an item: its output_index, its id."""
    return [key for key in keys if isinstance(key, int | str)]


def item_texts(output: object) -> Iterator[tuple[str, str]]:
    """Field and text of each part of a response's `output` list, in order."""
    counts: dict[str, int] = {}
    for item in output if isinstance(output, list) else ():
        if not isinstance(item, dict):
            continue
        kind = brief(item.get("type"))
        number = counts.get(kind, 0)
        counts[kind] = number + 1
        if kind in {"message", "reasoning"}:
            content = item.get("content") or item.get("summary")
            for part in content if isinstance(content, list) else ():
                if isinstance(part, dict) and isinstance(text := part.get("text"), str):
                    yield _field_name(kind, number), text
        elif kind == "function_call":
            for field, key in ((tool_name(number), "name"), (tool_arguments(number), "arguments")):
                if isinstance(text := item.get(key), str):
                    yield field, text
        elif kind in _ITEM_TEXT and isinstance(text := item.get(_ITEM_TEXT[kind]), str):
            yield _field_name(kind, number), text


def _field_name(kind: str, number: int) -> str:
    match kind:
        case "message":
            return CONTENT
        case "reasoning":
            return REASONING
        case "function_call":
            return tool_arguments(number)
        case _:
            return f"{kind}[{number}].{_ITEM_TEXT.get(kind, 'text')}"
