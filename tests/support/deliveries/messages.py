"""A chat response as a server makes a response of Messages of it: the same texts in other events.

As vLLM's `message_stream_converter`, but that a call whose text comes back later keeps its block.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from inspector.capture.capture import Capture, Endpoint, Event, EventKind
from inspector.net.client.messages_request import messages_body

__all__ = ["as_messages"]

_STOP_REASONS: Final = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}
_KEYS: Final = {
    "thinking": ("thinking_delta", "thinking"),
    "text": ("text_delta", "text"),
    "tool_use": ("input_json_delta", "partial_json"),
}
_STOP: Final = {"type": "message_stop"}


def as_messages(capture: Capture) -> Capture | None:
    """The response of one choice; None for another endpoint, and where Messages cannot say the same."""
    request = {key: value for key, value in capture.header.request.items() if key != "stream_options"}
    cannot_say = "include_reasoning" in request or "stop" in request or "messages" not in request
    if capture.header.endpoint is not Endpoint.CHAT or cannot_say:
        return None
    asked = messages_body(request.pop("messages"), request.pop("tools", ()))
    header = replace(
        capture.header, endpoint=Endpoint.MESSAGES, request={"max_tokens": 4096, **request, **asked}
    )
    events: list[Event] = []
    stream = _Converter()
    for event in capture.events:
        if event.kind is EventKind.COMMENT:
            events.append(event)
        elif event.kind is EventKind.BODY:
            body = _body(json.loads(event.data))
            if body is None:
                return None
            events.append(event._replace(data=json.dumps(body)))
        else:
            sent = [_STOP] if event.data == "[DONE]" else stream.receive(json.loads(event.data))
            events += [event._replace(data=json.dumps(payload), name=payload["type"]) for payload in sent]
    return None if stream.unnamed else replace(capture, header=header, events=events)


class _Converter:
    def __init__(self) -> None:
        self.unnamed = False
        """Whether a call had text before its name, which only the beginning of a block can have."""
        self._begun = False
        self._open: tuple[str, int] | None = None
        """The type of the open block and the index of its call."""
        self._blocks = 0
        self._calls: dict[int, int] = {}
        """By the index of a call, that of its block."""

    def receive(self, chunk: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        if "error" in chunk:
            error = {"type": "api_error", "message": chunk["error"]["message"]}
            yield {"type": "error", "error": error}
            return
        if not self._begun:
            self._begun = True
            yield {"type": "message_start", "message": {**_message([]), "stop_reason": None}}
        finish = None
        for choice in chunk["choices"]:
            delta, finish = choice.get("delta") or {}, choice.get("finish_reason")
            yield from self._text("thinking", delta.get("reasoning"))
            yield from self._text("text", delta.get("content"))
            for call in delta.get("tool_calls") or ():
                yield from self._call(call["index"], call.get("function") or {})
        if finish is not None or "usage" in chunk:
            yield from self._stop()
            ended: dict[str, Any] = {"type": "message_delta", "delta": {}}
            if finish is not None:
                ended["delta"] = {"stop_reason": _STOP_REASONS.get(finish, finish)}
            yield ended | ({"usage": _usage(chunk["usage"])} if "usage" in chunk else {})

    def _text(self, kind: str, text: str | None) -> Iterator[dict[str, Any]]:
        if text:
            if self._open != (kind, -1):
                yield from self._start({"type": kind, _KEYS[kind][1]: ""}, (kind, -1))
            yield self._delta(kind, self._blocks - 1, text)

    def _call(self, index: int, function: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        if index not in self._calls:
            name = function.get("name") or ""
            block: dict[str, Any] = {"type": "tool_use", "id": f"call_{index}", "name": name, "input": {}}
            yield from self._start(block, ("tool_use", index))
            self._calls[index] = self._blocks - 1
        elif function.get("name"):
            self.unnamed = True
        if function.get("arguments"):
            yield self._delta("tool_use", self._calls[index], function["arguments"])

    def _start(self, block: Mapping[str, Any], opened: tuple[str, int]) -> Iterator[dict[str, Any]]:
        yield from self._stop()
        yield {"type": "content_block_start", "index": self._blocks, "content_block": dict(block)}
        self._open = opened
        self._blocks += 1

    def _stop(self) -> Iterator[dict[str, Any]]:
        if self._open is not None:
            yield {"type": "content_block_stop", "index": self._blocks - 1}
        self._open = None

    def _delta(self, kind: str, index: int, text: str) -> dict[str, Any]:
        type_name, key = _KEYS[kind]
        return {"type": "content_block_delta", "index": index, "delta": {"type": type_name, key: text}}


def _message(content: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "openai/gpt-oss-20b",
        "content": list(content),
    }


def _usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    return {"input_tokens": usage["prompt_tokens"], "output_tokens": usage["completion_tokens"]}


def _body(body: Mapping[str, Any]) -> dict[str, Any] | None:
    [choice] = body["choices"]
    message, content = choice["message"], []
    if message["reasoning"]:
        content.append({"type": "thinking", "thinking": message["reasoning"]})
    if message["content"]:
        content.append({"type": "text", "text": message["content"]})
    for call in message["tool_calls"]:
        try:
            arguments = json.loads(call["function"]["arguments"] or "{}")
        except ValueError:
            return None
        name = call["function"]["name"]
        content.append({"type": "tool_use", "id": call["id"], "name": name, "input": arguments})
    finish = choice["finish_reason"]
    sent = {**_message(content), "stop_reason": _STOP_REASONS.get(finish, finish)}
    return sent | ({"usage": _usage(body["usage"])} if "usage" in body else {})
