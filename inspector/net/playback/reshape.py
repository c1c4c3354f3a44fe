"""Faults in tokens and payloads: turns a capture's events into those that a faulty server would have sent.

The delivered text changes by that server's rules; token IDs stay what the model emitted, so an audit of the
response finds the fault. Raises InspectorError where a capture cannot show a fault.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any, Final

from openai_harmony import HarmonyError

from inspector.capture.capture import Capture, Endpoint, Event
from inspector.capture.errors import InspectorError
from inspector.net.playback.faults import MIDDLE, Faults
from inspector.net.playback.imitation import ChatServing, TextServing
from inspector.net.playback.typed_events import reshape_typed
from inspector.protocol.harmony.vocab import Marker
from inspector.protocol.wire.endpoints import DONE, EndpointSpec, spec_of
from inspector.protocol.wire.event_json import choice_of, dumps, ids_of, payload, rewritten, terminal_type

_GAP_S: Final = 0.01
"""Between added tokens when the capture's own pace is unknown."""


@dataclass(slots=True)
class _Chunk:
    event: Event
    value: dict[str, Any] | None
    """The payload; None if it is not a JSON object."""
    ids: list[int]

    @property
    def choice(self) -> dict[str, Any] | None:
        return choice_of(self.value)

    @property
    def delivers(self) -> bool:
        """True for a chunk of tokens or text, not for the first one with the role, nor for usage."""
        choice = self.choice
        if choice is None:
            return False
        delta = choice.get("delta")
        return bool(self.ids) or not (isinstance(delta, dict) and "role" in delta)


def reshape(capture: Capture, faults: Faults) -> list[Event]:
    """The events of a stream with the faults that concern tokens and payloads."""
    events = list(capture.events)
    spec = spec_of(capture.header.endpoint)
    plain = not (faults.merges or faults.last_token_only or faults.split_utf8 or faults.tokens_change)
    if plain:
        return events
    if spec.first_type:
        return reshape_typed(events, faults, spec)
    chunks = [_Chunk(event, value := payload(event), ids_of(value)) for event in events]
    serve_again = faults.tokens_change or faults.last_token_only or faults.split_utf8
    if serve_again:
        _check_tokens(chunks, spec, faults)
        _change_tokens(chunks, faults)
    if faults.merges:
        chunks = _merged(chunks, faults.sizes())
    if serve_again:
        served = _served_chat if spec.parsed else _served_text
        chunks = served(chunks, capture, faults)
    shaped = [chunk.event if chunk.value is None else _written(chunk.event, chunk.value) for chunk in chunks]
    if faults.split_utf8 and not any("\ufffd" in event.data for event in shaped):
        raise InspectorError("no character of this capture spans two tokens; choose one with emoji")
    return shaped


def _check_tokens(chunks: Sequence[_Chunk], spec: EndpointSpec, faults: Faults) -> None:
    """Raise InspectorError for a fault of tokens that this capture cannot show."""
    if not any(chunk.ids for chunk in chunks):
        raise InspectorError(
            "this capture has no token IDs, so it cannot show this fault; choose one recorded with "
            "return_token_ids"
        )
    if not spec.parsed and faults.last_token_only:
        raise InspectorError(
            f"last-token-only works with chat and Responses; {spec.full_path} runs no parser"
        )


def _change_tokens(chunks: list[_Chunk], faults: Faults) -> None:
    """Omit a `<|message|>`, or add tokens after `<|return|>`, and correct the usage."""
    count = sum(len(chunk.ids) for chunk in chunks)
    if faults.omit_message is not None:
        _omit_message(chunks, faults.omit_message)
    if faults.after_return:
        _after_return(chunks, faults.after_return)
    _recount(chunks, sum(len(chunk.ids) for chunk in chunks) - count)


def with_event_faults(events: Sequence[Event], faults: Faults, endpoint: Endpoint) -> list[Event]:
    """The events with the faults of single events: an error, malformed JSON, no terminal event."""
    shaped = list(events)
    if faults.malformed is not None and shaped:
        place = at_event(faults.malformed, shaped)
        shaped[place] = shaped[place]._replace(data=shaped[place].data[: len(shaped[place].data) // 2])
    if faults.error_event is not None:
        place = at_event(faults.error_event, shaped)
        at_s = shaped[place].at_s if shaped else 0.0
        message = "EngineCore encountered an issue (a fault that the request selected)."
        shaped = [*shaped[:place], *error_events(message, 500, "InternalServerError", endpoint, at_s)]
    if faults.no_done:
        shaped = [event for event in shaped if not terminal_type(event)]
    return shaped


def at_event(place: int, events: Sequence[object]) -> int:
    """The index of the event that a fault names, bounded by the number of events."""
    last = max(len(events) - 1, 0)
    return len(events) // 2 if place == MIDDLE else min(place, last)


def error_body(message: str, code: int, kind: str, endpoint: Endpoint) -> dict[str, Any]:
    """An error as the endpoint reports it: vLLM's object, or Anthropic's, which has a type beside it."""
    if spec_of(endpoint).body_members:
        return {"type": "error", "error": {"type": kind, "message": message}}
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def error_events(message: str, code: int, kind: str, endpoint: Endpoint, at_s: float | None) -> list[Event]:
    """What ends a stream with an error: vLLM's error object and `[DONE]`, or an `error` event."""
    spec = spec_of(endpoint)
    if spec.numbered:
        value: dict[str, object] = {"type": "error", "code": kind, "message": message, "param": None}
        return [Event(dumps(value), at_s, "error")]
    body = Event(dumps(error_body(message, code, kind, endpoint)), at_s, "error" if spec.first_type else "")
    return [body] if spec.first_type else [body, Event(DONE, at_s)]


def _written(event: Event, value: dict[str, Any]) -> Event:
    return event if payload(event) == value else rewritten(event, value)


def _set_ids(chunk: _Chunk, ids: list[int]) -> None:
    chunk.ids = ids
    if (choice := chunk.choice) is not None:
        choice["token_ids"] = ids


def _omit_message(chunks: Sequence[_Chunk], number: int) -> None:
    places = [
        (chunk, at) for chunk in chunks for at, token_id in enumerate(chunk.ids) if token_id == Marker.MESSAGE
    ]
    if number >= len(places):
        raise InspectorError(
            f"this capture has {len(places)} <|message|>, counted from 0; there is no number {number}"
        )
    chunk, at = places[number]
    _set_ids(chunk, chunk.ids[:at] + chunk.ids[at + 1 :])


def _after_return(chunks: list[_Chunk], added: Sequence[int]) -> None:
    ends = [place for place, chunk in enumerate(chunks) if Marker.RETURN in chunk.ids]
    choice = chunks[ends[-1]].choice if ends else None
    if choice is None:
        raise InspectorError("the tokens of this capture contain no <|return|>")
    place = ends[-1]
    last = chunks[place]
    finish: dict[str, Any] = {
        key: choice.pop(key) for key in ("finish_reason", "stop_reason") if key in choice
    }
    choice["finish_reason"] = None
    size = max(len(chunk.ids) for chunk in chunks)
    times = [chunk.event.at_s for chunk in chunks if chunk.ids and chunk.event.at_s is not None]
    gap_s = median([b - a for a, b in pairwise(times)] or [_GAP_S])
    extra = []
    for number, start in enumerate(range(0, len(added), size), 1):
        ids = list(added[start : start + size])
        at_s = None if last.event.at_s is None else last.event.at_s + number * gap_s
        extra_choice = (
            {**choice, "token_ids": ids, "delta": {}} if "delta" in choice else {**choice, "token_ids": ids}
        )
        if start + size >= len(added):
            extra_choice |= finish
        value = {**(last.value or {}), "choices": [extra_choice]}
        extra.append(_Chunk(last.event._replace(at_s=at_s), value, ids))
    end_s = extra[-1].event.at_s
    for chunk in chunks[place + 1 :]:
        chunk.event = chunk.event._replace(at_s=end_s)
    chunks[place + 1 : place + 1] = extra


def _recount(chunks: Sequence[_Chunk], more: int) -> None:
    """Add to the token counts of the usage."""
    for chunk in chunks:
        usage = chunk.value.get("usage") if chunk.value else None
        if isinstance(usage, dict) and chunk.choice is None:
            for key in ("completion_tokens", "total_tokens"):
                if type(usage.get(key)) is int:
                    usage[key] += more


def _merged(chunks: Sequence[_Chunk], sizes: Iterator[int]) -> list[_Chunk]:
    merged: list[_Chunk] = []
    size = next(sizes)
    waiting: dict[str, list[_Chunk]] = {}
    """By the index of the choice as JSON: in a capture it may be any value."""

    def flush(index: str) -> None:
        nonlocal size
        if group := waiting.pop(index, []):
            merged.append(_merge_group(group))
            size = next(sizes)

    for chunk in chunks:
        choice = chunk.choice
        if choice is None or not chunk.delivers:
            for index in list(waiting):
                flush(index)
            merged.append(chunk)
            continue
        index = dumps(choice.get("index"))
        waiting.setdefault(index, []).append(chunk)
        if len(waiting[index]) >= size or choice.get("finish_reason") is not None:
            flush(index)
    for index in list(waiting):
        flush(index)
    return merged


def _merge_group(group: Sequence[_Chunk]) -> _Chunk:
    """Merge chunks of one choice into the one that a server sends if the engine yields all of it at once."""
    last = group[-1]
    choices = [chunk.choice or {} for chunk in group]
    merged = dict(choices[-1])
    ids = [token_id for chunk in group for token_id in chunk.ids]
    if "token_ids" in merged:
        merged["token_ids"] = ids
    if "delta" in merged:
        merged["delta"] = _joined([choice.get("delta") for choice in choices])
    if "text" in merged:
        merged["text"] = "".join(choice["text"] for choice in choices if isinstance(choice.get("text"), str))
    first_prompt = next(
        (choice["prompt_token_ids"] for choice in choices if choice.get("prompt_token_ids")), None
    )
    if first_prompt is not None:
        merged["prompt_token_ids"] = first_prompt
    logprobs = [choice["logprobs"]["content"] for choice in choices if _has_entries(choice.get("logprobs"))]
    if logprobs:
        merged["logprobs"] = {"content": [entry for entries in logprobs for entry in entries]}
    return _Chunk(last.event, {**(last.value or {}), "choices": [merged]}, ids)


def _has_entries(logprobs: object) -> bool:
    return isinstance(logprobs, dict) and isinstance(logprobs.get("content"), list)


def _joined(deltas: Sequence[object]) -> dict[str, Any]:
    joined: dict[str, Any] = {}
    calls: list[dict[str, Any]] = []
    for delta in deltas:
        for key, value in delta.items() if isinstance(delta, dict) else ():
            if key == "tool_calls" and isinstance(value, list):
                for call in value:
                    _join_call(calls, call)
            elif isinstance(value, str) and isinstance(joined.get(key), str):
                joined[key] += value
            elif joined.get(key) is None:
                joined[key] = value
    if calls:
        joined["tool_calls"] = calls
    return joined


def _join_call(calls: list[dict[str, Any]], call: object) -> None:
    if not isinstance(call, dict):
        return
    same_call = next((earlier for earlier in calls if earlier.get("index") == call.get("index")), None)
    into, addition = (same_call or {}).get("function"), call.get("function")
    if same_call is None or not isinstance(into, dict) or not isinstance(addition, dict):
        calls.append({**call, "function": dict(addition)} if isinstance(addition, dict) else call)
    elif isinstance(addition.get("arguments"), str):
        before = into.get("arguments")
        into["arguments"] = (before if isinstance(before, str) else "") + addition["arguments"]


def _served_chat(chunks: Sequence[_Chunk], capture: Capture, faults: Faults) -> list[_Chunk]:
    keys = {
        key
        for chunk in chunks
        if (choice := chunk.choice) is not None and isinstance(choice.get("delta"), dict)
        for key in ("reasoning", "reasoning_content")
        if isinstance(choice["delta"].get(key), str)
    }
    servings: dict[str, ChatServing] = {}

    def deliver(choice: dict[str, Any], ids: list[int]) -> None:
        index = dumps(choice.get("index"))
        if index not in servings:
            servings[index] = ChatServing(
                reasoning_keys=tuple(sorted(keys)) or ("reasoning",),
                last_token_only=faults.last_token_only,
                decode_alone=faults.split_utf8,
                swallow=faults.swallow,
            )
        choice["delta"] = servings[index].deliver(ids)

    return _served(chunks, deliver, capture.header.endpoint)


def _served_text(chunks: Sequence[_Chunk], capture: Capture, faults: Faults) -> list[_Chunk]:
    texts = [choice.get("text") for chunk in chunks if (choice := chunk.choice) is not None]
    special_tokens = capture.header.request.get("skip_special_tokens") is False or any(
        marker.text in text for text in texts if isinstance(text, str) for marker in Marker
    )
    servings: dict[str, TextServing] = {}

    def deliver(choice: dict[str, Any], ids: list[int]) -> None:
        index = dumps(choice.get("index"))
        if index not in servings:
            servings[index] = TextServing(special_tokens=special_tokens, decode_alone=faults.split_utf8)
        choice["text"] = servings[index].deliver(ids, stopped=choice.get("finish_reason") == "stop")

    return _served(chunks, deliver, capture.header.endpoint)


def _served(
    chunks: Sequence[_Chunk], deliver: Callable[[dict[str, Any], list[int]], None], endpoint: Endpoint
) -> list[_Chunk]:
    served: list[_Chunk] = []
    for chunk in chunks:
        choice = chunk.choice
        if choice is not None and chunk.ids:
            try:
                deliver(choice, chunk.ids)
            except HarmonyError as error:
                # vLLM 0.13: the chunk that broke the parser is never sent, the error is a bad request.
                ends = error_events(str(error), 400, "BadRequestError", endpoint, chunk.event.at_s)
                return [*served, *(_Chunk(event, payload(event), []) for event in ends)]
        served.append(chunk)
    return served
