"""Faults in Responses streams. They have no token IDs, so each delta counts as one token.

The final object stays complete, as in vLLM, which builds it from the parser's messages and not from deltas.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from inspector.capture.capture import Event
from inspector.capture.errors import InspectorError
from inspector.net.playback.faults import Faults
from inspector.protocol.wire.event_json import payload, rewritten

_DELTA: Final = ".delta"


def reshape_responses(events: Sequence[Event], faults: Faults) -> list[Event]:
    """The events of a Responses stream with the faults that concern deltas, renumbered.

    Raises InspectorError for faults that need token IDs.
    """
    if faults.tokens_change:
        raise InspectorError(
            "a Responses stream has no token IDs, so tokens cannot be removed or added; use "
            "/v1/chat/completions or /v1/completions for this fault"
        )
    pairs = [(event, payload(event)) for event in events]
    if faults.merges:
        pairs = _merged(pairs, faults.sizes(), last_only=faults.last_token_only)
    if faults.split_utf8:
        _split_utf8(pairs)
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
            texts = [str(delta["delta"]) for _, delta in group]
            merged.append((event, {**value, "delta": texts[-1] if last_only else "".join(texts)}))
            group.clear()

    for event, value in events:
        is_delta = value is not None and str(value.get("type")).endswith(_DELTA)
        if not is_delta or (group and value is not None and group[-1][1]["type"] != value["type"]):
            flush()
        if is_delta and value is not None and isinstance(value.get("delta"), str):
            group.append((event, value))
            if len(group) >= size:
                flush()
        else:
            merged.append((event, value))
    flush()
    return merged


def _split_utf8(events: Sequence[tuple[Event, dict[str, Any] | None]]) -> None:
    was_split = False
    for _, value in events:
        if value is not None and str(value.get("type")).endswith(_DELTA):
            text = value.get("delta")
            if isinstance(text, str) and not text.isascii():
                value["delta"] = "".join(char if char.isascii() else "\ufffd\ufffd" for char in text)
                was_split = True
    if not was_split:
        raise InspectorError("every delta of this capture is ASCII; choose one with emoji or accents")
