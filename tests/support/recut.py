"""The same tokens and texts in other events: what an engine with other steps, or a proxy, would have sent."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from inspector.capture.capture import Capture, Endpoint, Event, EventKind
from inspector.protocol.wire.messages import DELTA_KEYS

__all__ = ["as_bytes", "commented", "merged", "renumbered", "split"]

_TEXT_DELTAS = ("reasoning", "reasoning_content", "content")
_RESPONSE_DELTA = ".delta"


def split(capture: Capture, random: Random) -> Capture:
    """Events cut between any two tokens and any two characters; a token never arrives after its text."""
    events: list[Event] = []
    for event in capture.events:
        payload = _payload(event)
        pieces = [] if payload is None else list(_pieces(payload, capture.header.endpoint, random))
        events += [event._replace(data=json.dumps(piece)) for piece in pieces] or [event]
    return _with_events(capture, events)


def merged(capture: Capture, random: Random) -> Capture:
    """Neighbouring chunks of one choice as one chunk, as an engine sends them that yields several steps."""
    events: list[Event] = []
    for event in capture.events:
        before = _payload(events[-1]) if events else None
        payload = _payload(event)
        if before is not None and payload is not None and random.random() < 0.5:
            joined_payload = _joined(before, payload)
            if joined_payload is not None:
                events[-1] = event._replace(data=json.dumps(joined_payload))
                continue
        events.append(event)
    return _with_events(capture, events)


def commented(capture: Capture, random: Random) -> Capture:
    """The same events with comments between them, as a proxy sends them to keep a connection alive."""
    events: list[Event] = []
    for event in capture.events:
        if event.kind is EventKind.SSE:
            count = random.choice([0, 0, 1, 1, 3])
            events += [Event(" keep-alive", event.at_s, kind=EventKind.COMMENT)] * count
        events.append(event)
    return replace(capture, events=events)


def as_bytes(capture: Capture, random: Random | None = None) -> bytes:
    """The event stream of a capture; with `random`, in another of the spellings that the standard allows."""
    parts: list[str] = []
    for event in capture.events:
        lines = [] if not event.name else [f"event: {event.name}"]
        data = event.data
        if event.kind is EventKind.COMMENT:
            lines = [f":{data}"]
        elif random is not None and random.random() < 0.3 and data.startswith("{"):
            place = data.index(",") + 1 if "," in data else 1  # white space between two keys
            lines += [f"data:{data[:place]}", f"data: {data[place:]}"]
        else:
            lines.append(f"data: {data}")
        if random is not None:
            random.shuffle(extra := [": keep-alive", "id: 7", "retry: 100", ":"])
            lines[:0] = extra[: random.choice([0, 0, 1, 2])]
        parts.append("".join(f"{line}\n" for line in [*lines, ""]))
    text = "".join(parts)
    if random is None:
        return text.encode()
    text = text.replace("\n", random.choice(["\n", "\r\n", "\r"]))
    return (random.choice(["", "\ufeff"]) + text).encode()


def _payload(event: Event) -> dict[str, Any] | None:
    if event.kind is not EventKind.SSE:
        return None
    try:
        payload = json.loads(event.data)
    except ValueError:
        return None
    return payload if isinstance(payload, dict) else None


def _with_events(capture: Capture, events: Sequence[Event]) -> Capture:
    if capture.header.endpoint is Endpoint.RESPONSES:
        events = list(renumbered(events))
    return replace(capture, events=list(events))


def renumbered(events: Sequence[Event]) -> Iterator[Event]:
    """Events of Responses with a `sequence_number` without gaps."""
    number = 0
    for event in events:
        payload = _payload(event)
        if payload is None or "sequence_number" not in payload:
            yield event
            continue
        yield event._replace(data=json.dumps({**payload, "sequence_number": number}))
        number += 1


def _pieces(payload: Mapping[str, Any], endpoint: Endpoint, random: Random) -> Iterator[dict[str, Any]]:
    if endpoint is Endpoint.RESPONSES:
        delta = payload.get("delta")
        if str(payload.get("type")).endswith(_RESPONSE_DELTA) and isinstance(delta, str) and delta:
            for text in _parts(delta, random):
                yield {**payload, "delta": text}
        return
    if endpoint is Endpoint.MESSAGES:
        delta = payload.get("delta") or {}
        if (key := DELTA_KEYS.get(str(delta.get("type")), "")) in delta:
            for text in _parts(delta[key], random):
                yield {**payload, "delta": {**delta, key: text}}
        return
    choices = payload.get("choices")
    if not isinstance(choices, list) or len(choices) != 1 or choices[0].get("logprobs"):
        return
    choice = choices[0]
    groups: list[dict[str, Any]] = [
        {"token_ids": ids} for ids in _parts(choice.get("token_ids") or [], random)
    ]
    if endpoint is Endpoint.COMPLETIONS:
        groups += [{"text": text} for text in _parts(choice.get("text") or "", random)]
        blank: dict[str, Any] = {"text": "", "token_ids": []}
    else:
        groups += [{"delta": delta} for delta in _deltas(choice.get("delta") or {}, random)]
        blank = {"delta": {}, "token_ids": []}
    groups = _some_together(groups, random)
    prompt = "prompt_token_ids" in choice
    for number, group in enumerate(groups):
        last = number == len(groups) - 1
        piece = {**choice, **blank, **group}
        if not last:
            piece["finish_reason"] = None
        if prompt and number:
            del piece["prompt_token_ids"]
        yield {**payload, "choices": [piece]}


def _some_together(groups: Sequence[dict[str, Any]], random: Random) -> list[dict[str, Any]]:
    """Pieces of one event, some of them in one event again: tokens with text of theirs."""
    merged_groups: list[dict[str, Any]] = []
    for group in groups:
        if merged_groups and merged_groups[-1].keys().isdisjoint(group) and random.random() < 0.5:
            merged_groups[-1] = {**merged_groups[-1], **group}
        else:
            merged_groups.append(group)
    return merged_groups


def _parts(value: Any, random: Random) -> list[Any]:
    """A string or list cut at any places."""
    if len(value) < 2 or random.random() < 0.3:
        return [value] if value else []
    places = sorted({random.randrange(1, len(value)) for _ in range(random.randint(1, 3))})
    return [value[start:end] for start, end in zip([0, *places], [*places, len(value)], strict=True)]


def _deltas(delta: Mapping[str, Any], random: Random) -> Iterator[dict[str, Any]]:
    rest = {key: value for key, value in delta.items() if key not in {*_TEXT_DELTAS, "tool_calls"}}
    if rest:
        yield rest
    reasonings = [key for key in ("reasoning", "reasoning_content") if delta.get(key)]
    for part in _parts(delta.get(reasonings[0]) if reasonings else "", random):
        yield dict.fromkeys(reasonings, part)
    for part in _parts(delta.get("content") or "", random):
        yield {"content": part}
    for call in delta.get("tool_calls") or ():
        function = call.get("function") or {}
        parts = _parts(function.get("arguments") or "", random)
        if "name" in function or not parts:
            yield {"tool_calls": [{**call, "function": {**function, "arguments": ""}}]}
        for part in parts:
            yield {"tool_calls": [{"index": call.get("index"), "function": {"arguments": part}}]}


def _joined(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any] | None:
    """Two payloads as one; None where an engine would not send them together."""
    if str(before.get("type")).endswith(_RESPONSE_DELTA):
        keys = ("type", "item_id", "output_index", "content_index")
        if any(before.get(key) != after.get(key) for key in keys):
            return None
        if not isinstance(before.get("delta"), str) or not isinstance(after.get("delta"), str):
            return None
        return {**after, "delta": before["delta"] + after["delta"]}
    if before.get("type") == "content_block_delta" == after.get("type"):
        early, late = before["delta"], after["delta"]
        key = DELTA_KEYS.get(early["type"], "")
        same = early["type"] == late["type"] and before["index"] == after["index"]
        return {**after, "delta": {**late, key: early[key] + late[key]}} if same and key else None
    first, second = before.get("choices"), after.get("choices")
    if not isinstance(first, list) or not isinstance(second, list) or len(first) != 1 or len(second) != 1:
        return None
    early, late = first[0], second[0]
    if (
        early.get("index") != late.get("index")
        or early.get("finish_reason")
        or early.get("logprobs")
        or late.get("logprobs")
    ):
        return None
    choice = {**early, **late}
    if "token_ids" in choice:
        choice["token_ids"] = [*(early.get("token_ids") or ()), *(late.get("token_ids") or ())]
    if early.get("prompt_token_ids"):
        choice["prompt_token_ids"] = early["prompt_token_ids"]
    if "text" in choice:
        choice["text"] = (early.get("text") or "") + (late.get("text") or "")
    if "delta" in choice:
        delta = _joined_delta(early.get("delta") or {}, late.get("delta") or {})
        if delta is None:
            return None
        choice["delta"] = delta
    return {**after, "choices": [choice]}


def _joined_delta(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any] | None:
    if first.get("role"):
        return None
    joined = {**first, **second}
    for key in _TEXT_DELTAS:
        if first.get(key) or second.get(key):
            joined[key] = (first.get(key) or "") + (second.get(key) or "")
    calls = [*(first.get("tool_calls") or ()), *(second.get("tool_calls") or ())]
    if calls:
        joined["tool_calls"] = calls
    return joined
