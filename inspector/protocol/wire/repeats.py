"""Events that arrived twice: a server or a proxy sends them again, and the client gets their text twice."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from inspector.capture.capture import Event, EventKind
from inspector.protocol.wire.endpoints import DONE
from inspector.protocol.wire.stream import Stream

_SEQUENCE: Final = "sequence"
"""Key of the notice about a `sequence_number` that does not follow the one before."""


def repeated_events(events: Sequence[Event], stream: Stream) -> frozenset[int]:
    """Numbers of events that are the event before them once more.

    Two equal chunks can be two equal tokens. They are one event if they have one `sequence_number`, or if the
    server counted just as many tokens fewer than it sent.
    """
    if _SEQUENCE in stream.notices:
        return frozenset(at for at in _equal(events) if '"sequence_number"' in events[at].data)
    usage = stream.usage or {}
    counted = usage.get("completion_tokens", usage.get("output_tokens"))
    tokens = [choice.tokens for choice in stream.choices.values()]
    excess = sum(map(len, tokens)) - counted if type(counted) is int else 0
    if excess <= 0:
        return frozenset()
    sizes = Counter(event for ids in tokens for event in ids.events)
    equal = frozenset(at for at in _equal(events) if sizes[at])
    return equal if sum(sizes[at] for at in equal) == excess else frozenset()


def _equal(events: Sequence[Event]) -> list[int]:
    return [
        at
        for at in range(1, len(events))
        if events[at].data == events[at - 1].data
        and events[at].kind is EventKind.SSE is events[at - 1].kind
        and events[at].data != DONE
    ]
