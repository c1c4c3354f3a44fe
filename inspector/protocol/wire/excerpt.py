"""Pieces of streams: people paste a few events of one, and a file does not say that it has all of them."""

from collections.abc import Iterable
from enum import StrEnum

from inspector.capture.capture import End, Event, EventKind, Header
from inspector.protocol.wire.endpoints import DONE, spec_of
from inspector.protocol.wire.stream import loads


class Excerpt(StrEnum):
    """What a file may lack of a response, where nobody recorded how its stream went."""

    BEGINNING = "beginning"
    """The first event is not one that begins a response."""
    INSIDE = "inside"
    """Events are left out, or of each event all but its delta."""
    END = "end"
    """The response does not end: somebody saved a part, or the stream broke off."""

    @property
    def is_certain(self) -> bool:
        """False where the stream itself may have ended so."""
        return self is not Excerpt.END


def is_recorded(header: Header, end: End | None) -> bool:
    """Whether a program recorded the response, and so knows how its connection ended."""
    return end is not None or header.started_at is not None


def excerpt_of(header: Header, events: Iterable[Event], end: End | None) -> Excerpt | None:
    """Whether events are certainly not all of a stream."""
    if is_recorded(header, end):
        return None
    if header.excerpt:
        return Excerpt.INSIDE
    return Excerpt.BEGINNING if _begins_inside(header, events) else None


def _begins_inside(header: Header, events: Iterable[Event]) -> bool:
    """Whether the first event is one that comes later in a stream.

    A chat chunk without a role, an event of Responses with a number above 0, an event of Messages that is not
    the first of a message, a completion's token IDs without those of its prompt.
    """
    spec = spec_of(header.endpoint)
    inside = False
    for event in events:
        if event.kind is EventKind.BODY:
            return False
        payload = None if event.kind is EventKind.COMMENT or event.data == DONE else loads(event.data)
        if not isinstance(payload, dict):
            continue
        if spec.first_type:
            kind, number = payload.get("type"), payload.get("sequence_number")
            if spec.numbered:
                return type(number) is int and number > 0 and kind != spec.first_type
            if isinstance(kind, str) and kind.startswith(spec.event_prefixes):
                return kind != spec.first_type
            continue  # a ping
        choices = payload.get("choices")
        if not isinstance(choices, list):
            return False
        if choices:
            return not any(_begins(choice, parsed=spec.parsed) for choice in choices)
        inside = True  # a chunk with the token count alone is the last one
    return inside


def _begins(choice: object, *, parsed: bool) -> bool:
    """Whether a chunk's choice may be the first of its completion; `parsed` is false for raw text."""
    if not isinstance(choice, dict):
        return True
    if parsed:
        delta = choice.get("delta")
        return not isinstance(delta, dict) or "role" in delta
    # vLLM has the key in all chunks of a completion.
    return not choice.get("token_ids") or choice.get("prompt_token_ids", ()) is not None
