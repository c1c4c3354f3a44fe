"""Plain completions: raw text and, when asked for, every sampled id; nothing parses Harmony here.

With the rendered prompt's IDs and `return_token_ids` this is the ground truth: vLLM sends each token
whatever its Harmony parser would do.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from inspector.capture.capture import Event, EventKind
from inspector.capture.deltas import TEXT, Delta
from inspector.protocol.wire.chat import take_logprobs
from inspector.protocol.wire.stream import Stream, brief, error_in, loads, token_ids


class CompletionsReader:
    """Reads the events of one completion into `stream`."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream

    def receive(self, events: Sequence[Event]) -> None:
        """Read some more events."""
        stream = self.stream
        for index, event in enumerate(events, stream.events):
            if event.kind is EventKind.COMMENT:
                continue
            if event.data == "[DONE]":
                stream.terminal_event = index
                continue
            if event.kind is EventKind.BODY:
                stream.bodies.append(index)
            payload = loads(event.data)
            if isinstance(payload, dict):
                self._chunk(payload, index)
                if event.kind is EventKind.BODY and "choices" in payload:
                    stream.terminal_event = index
            else:
                what = "an event" if event.kind is EventKind.SSE else "the body"
                stream.notice("not_json", index, f"{what} is not a JSON object")
        stream.events += len(events)

    def _chunk(self, chunk: Mapping[str, Any], index: int) -> None:
        stream = self.stream
        choices = chunk.get("choices")
        stream.note_members(chunk)
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict):
                self._choice(choice, index)
        if isinstance(usage := chunk.get("usage"), dict):
            stream.usage = usage
        if stream.model is None and isinstance(model := chunk.get("model"), str):
            stream.model = model
        if isinstance(fingerprint := chunk.get("system_fingerprint"), str):
            stream.fingerprint = fingerprint
        if not choices and (error := error_in(chunk, index)):
            stream.errors.append(error)

    def _choice(self, choice: Mapping[str, Any], index: int) -> None:
        into = self.stream.choice_of(choice.get("index", 0), index)
        self.stream.note_members(choice)
        if (prompt := choice.get("prompt_token_ids")) and self.stream.prompt_ids is None:
            self.stream.prompt_ids = token_ids(prompt)
        if ids := choice.get("token_ids"):
            into.tokens.extend(token_ids(ids), index)
        if logprobs := choice.get("logprobs"):
            take_logprobs(into, logprobs, index)
        text = choice.get("text")
        if text and isinstance(text, str):
            into.deltas.append(Delta(index, TEXT, text))
        if (finish := choice.get("finish_reason")) is not None:
            if into.finish_reason is not None:
                self.stream.notice("two_finishes", index, "a choice finishes twice")
            into.finish_reason, into.finish_event = brief(finish), index
        if not (ids or finish or (into.deltas and into.deltas[-1].event == index)):
            into.empty_chunk(index)
