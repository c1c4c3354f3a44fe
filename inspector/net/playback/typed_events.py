"""Faults in streams of typed events. They have no token IDs, so each delta counts as one token.

The final object of Responses stays complete, as in vLLM, which builds it from the parser's messages and not
from deltas.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from inspector.capture.capture import Event
from inspector.capture.errors import InspectorError
from inspector.net.playback.faults import Faults
from inspector.protocol.wire.endpoints import EndpointSpec
from inspector.protocol.wire.event_json import payload, rewritten
from inspector.protocol.wire.messages import DELTA_KEYS

_DELTA: Final = ".delta"
"""How the types of deltas end on Responses."""


def reshape_typed(events: Sequence[Event], faults: Faults, spec: EndpointSpec) -> list[Event]:
    """The events of a stream with the faults that concern deltas, renumbered.

    Raises InspectorError for faults that need token IDs.
    """
    if faults.tokens_change:
        raise InspectorError(
            f"a {spec.label.capitalize()} stream has no token IDs, so tokens cannot be removed or added; use "
            "/v1/chat/completions or /v1/completions for this fault"
        )
    pairs = [(event, payload(event)) for event in events]
    if faults.merges:
        pairs = _merged(pairs, faults.sizes(), last_only=faults.last_token_only)
    if faults.split_utf8:
        pairs = _split_utf8(pairs)
    number = 0
    numbered: list[Event] = []
    for event, value in pairs:
        if value is not None and "sequence_number" in value:
            value["sequence_number"] = number
            number += 1
        numbered.append(event if value is None or value == payload(event) else rewritten(event, value))
    return numbered


def _merged(
    events: Sequence[tuple[Event, dict[str, Any] | None]], sizes: Iterator[int], *, last_only: bool
) -> list[tuple[Event, dict[str, Any] | None]]:
    merged: list[tuple[Event, dict[str, Any] | None]] = []
    group: list[tuple[Event, dict[str, Any]]] = []
    size = next(sizes)

    def flush() -> None:
        nonlocal size
        if group:
            size = next(sizes)
            event, value = group[-1]
            texts = [_text(delta) or "" for _, delta in group]
            merged.append((event, _with_text(value, texts[-1] if last_only else "".join(texts))))
            group.clear()

    for event, value in events:
        is_delta = value is not None and _text(value) is not None
        if not is_delta or (group and value is not None and not _continues(group[-1][1], value)):
            flush()
        if is_delta and value is not None:
            group.append((event, value))
            if len(group) >= size:
                flush()
        else:
            merged.append((event, value))
    flush()
    return merged


def _split_utf8(
    events: Sequence[tuple[Event, dict[str, Any] | None]],
) -> list[tuple[Event, dict[str, Any] | None]]:
    split = [
        (event, _with_text(value, "".join(char if char.isascii() else "\ufffd\ufffd" for char in text)))
        if value is not None and (text := _text(value)) is not None and not text.isascii()
        else (event, value)
        for event, value in events
    ]
    if split == list(events):
        raise InspectorError("every delta of this capture is ASCII; choose one with emoji or accents")
    return split


def _continues(before: Mapping[str, Any], value: Mapping[str, Any]) -> bool:
    """Whether a delta adds to the text of the delta before it."""
    return before["type"] == value["type"] and before.get("index") == value.get("index")


def _text(value: Mapping[str, Any]) -> str | None:
    """The text of a delta; None for any other event."""
    kind, delta = str(value.get("type")), value.get("delta")
    if isinstance(delta, dict):
        key = DELTA_KEYS.get(str(delta.get("type")), "")
        delta = delta.get(key) if kind == "content_block_delta" else None
    elif not kind.endswith(_DELTA):
        return None
    return delta if isinstance(delta, str) else None


def _with_text(value: Mapping[str, Any], text: str) -> dict[str, Any]:
    delta = value["delta"]
    return {
        **value,
        "delta": {**delta, DELTA_KEYS[delta["type"]]: text} if isinstance(delta, dict) else text,
    }
