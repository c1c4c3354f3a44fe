"""Events of a capture as values that can be changed; what is not JSON stays as it is.

Written as vLLM writes JSON (pydantic): no spaces, UTF-8 as it is. Only events that changed are written again.
"""

import json
from typing import Any

from inspector.capture.capture import Event, EventKind
from inspector.protocol.wire.endpoints import DONE, TERMINAL_TYPES
from inspector.protocol.wire.stream import loads, token_ids


def dumps(value: object) -> str:
    """JSON as vLLM's pydantic models write it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def payload(event: Event) -> dict[str, Any] | None:
    """The JSON object of a server-sent event; None for anything else."""
    parsed = loads(event.data) if event.kind is EventKind.SSE else None
    return parsed if isinstance(parsed, dict) else None


def choice_of(chunk: dict[str, Any] | None) -> dict[str, Any] | None:
    """The only choice of a chunk; None when it has none or several (vLLM sends one per chunk)."""
    choices = chunk.get("choices") if chunk else None
    if isinstance(choices, list) and len(choices) == 1 and isinstance(choices[0], dict):
        return choices[0]
    return None


def ids_of(chunk: dict[str, Any] | None) -> list[int]:
    """Token IDs of a chunk."""
    choice = choice_of(chunk)
    return token_ids(choice.get("token_ids")) if choice else []


def rewritten(event: Event, value: dict[str, Any]) -> Event:
    """The same event with another payload."""
    return event._replace(data=dumps(value))


def terminal_type(event: Event) -> bool:
    """True for the event that ends a response by the protocol."""
    if event.data == DONE:
        return True
    parsed = payload(event)
    kind = None if parsed is None else parsed.get("type")
    return isinstance(kind, str) and kind in TERMINAL_TYPES
