"""Selects the capture for a request: the one it names, else the next that fits, round-robin.

The name is in a header, the query or the model; the model may also be the recorded one.
"""

from collections.abc import Mapping
from typing import Final

from inspector.capture.capture import Capture, Endpoint, EventKind
from inspector.capture.errors import InspectorError

ANY: Final = "playback"
"""Model name that fits every capture."""


class UnknownModel(InspectorError):
    """The requested model is neither the name of a capture nor a recorded model."""


def fits(capture: Capture, endpoint: Endpoint, *, streamed: bool) -> bool:
    """True if a capture can be served at an endpoint: recorded there, or chat token IDs at completions."""
    unstreamed = any(event.kind is EventKind.BODY for event in capture.events)
    if unstreamed and streamed and (capture.header.status or 200) < 400:
        return False
    recorded = capture.header.endpoint
    if recorded is endpoint:
        return True
    return (
        endpoint is Endpoint.COMPLETIONS
        and recorded is Endpoint.CHAT
        and not unstreamed
        and any('"token_ids"' in event.data for event in capture.events)
    )


def choose(
    captures: Mapping[str, Capture],
    endpoint: Endpoint,
    *,
    name: str | None,
    model: str | None,
    streamed: bool,
    turn: int,
) -> str:
    """The name of the capture to serve; `turn` selects round-robin among those that fit.

    Raises InspectorError if none fits, UnknownModel if the model is the reason.
    """
    chosen = name or (model if model in captures else None)
    if chosen is not None:
        if chosen not in captures:
            raise InspectorError(f"no capture {chosen[:80]!r}; /v1/models lists the captures")
        if not fits(captures[chosen], endpoint, streamed=streamed):
            recorded = captures[chosen].header.endpoint.value
            raise InspectorError(
                f"the capture {chosen[:80]!r} ({recorded}) cannot be served on {endpoint.value}"
                f"{' with stream' if streamed else ''}; use its own endpoint, or another capture"
            )
        return chosen
    models = {capture.header.model for capture in captures.values()} | {ANY, None}
    if model not in models:
        raise UnknownModel(f"The model `{(model or '')[:80]}` does not exist.")
    able = [
        capture_name
        for capture_name, capture in captures.items()
        if model in {ANY, None, capture.header.model} and fits(capture, endpoint, streamed=streamed)
    ]
    # Only successful responses are served round-robin; recorded failures are served by name.
    complete = [capture_name for capture_name in able if _ended_well(captures[capture_name])]
    if not (able := complete or able):
        raise InspectorError(f"no capture can be served on {endpoint.value}; /v1/models lists the captures")
    return able[turn % len(able)]


def _ended_well(capture: Capture) -> bool:
    return (capture.header.status or 200) < 400 and not (capture.end is not None and capture.end.cut)
