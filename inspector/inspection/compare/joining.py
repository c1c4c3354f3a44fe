"""Two captures of one response: one between gateway and server, one between client and gateway.

A gateway may give the response another ID, and serve another endpoint than it asks. What it cannot change is
that its request to the server is open only while the client's is; clocks of two machines may differ a little.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from inspector.capture.capture import Capture
from inspector.protocol.wire.event_json import payload
from inspector.protocol.wire.stream import loads

_TOLERANCE: Final = timedelta(milliseconds=50)
_EVENTS_READ: Final = 8
"""The first events name the response."""
_PROMPT_KEYS: Final = ("system", "instructions", "messages", "input", "prompt")


class JoinedBy(StrEnum):
    """By what two captures are known to be of one response, the strongest first."""

    LAB = "the lab's recording"
    """The lab played the one to a gateway and recorded the other."""
    TRACE = "trace"
    """Both requests have one `traceparent`."""
    RESPONSE = "response ID"
    PROMPT = "prompt and time"


@dataclass(frozen=True, slots=True)
class _Facts:
    """What is compared of a capture."""

    capture: Capture
    start: datetime | None
    end: datetime | None
    keys: Mapping[JoinedBy, Hashable]

    def encloses(self, other: "_Facts") -> bool:
        """Whether the other request was open only while this one was."""
        if self.start is None or self.end is None or other.start is None or other.end is None:
            return False
        return self.start <= other.start + _TOLERANCE and other.end <= self.end + _TOLERANCE


@dataclass(frozen=True, slots=True)
class Joined:
    """Captures of one response, by their places in what was given."""

    server_side: int
    client_side: int
    by: JoinedBy


def joined(server_side: Capture, client_side: Capture) -> JoinedBy | None:
    """By what two captures are of one response that passed a gateway; None if nothing shows that they are.

    Two servers that are asked the same at the same time have equal prompts too, so prompts show nothing here.
    """
    if _through(client_side) and not _through(server_side):
        return JoinedBy.LAB
    inner, outer = _facts(server_side), _facts(client_side)
    if not outer.encloses(inner) or list(server_side.events) == list(client_side.events):
        return None
    strong = (JoinedBy.TRACE, JoinedBy.RESPONSE)
    return next((by for by in strong if by in inner.keys and inner.keys[by] == outer.keys.get(by)), None)


def join(server_side: Sequence[Capture], client_side: Sequence[Capture]) -> Iterator[Joined]:
    """Pair the captures of taps behind and before a gateway; what fits none or several is left out."""
    inner = [_facts(capture) for capture in server_side]
    by_key: dict[tuple[JoinedBy, Hashable], list[int]] = defaultdict(list)
    for place, facts in enumerate(inner):
        for by, key in facts.keys.items():
            by_key[by, key].append(place)
    taken: set[int] = set()
    for outer_place, capture in enumerate(client_side):
        outer = _facts(capture)
        for by in JoinedBy:
            places = by_key.get((by, outer.keys[by]), ()) if by in outer.keys else ()
            fitting = [place for place in places if place not in taken and outer.encloses(inner[place])]
            if len(fitting) == 1:
                taken.add(fitting[0])
                yield Joined(fitting[0], outer_place, by)
                break


def _facts(capture: Capture) -> _Facts:
    start = end = None
    if capture.header.started_at is not None and capture.end is not None:
        try:
            start = datetime.fromisoformat(capture.header.started_at)
            end = start + timedelta(seconds=capture.end.at_s or 0.0)
        except (ValueError, OverflowError):
            start = end = None
    keys: dict[JoinedBy, Hashable] = {}
    if capture.header.traceparent:
        keys[JoinedBy.TRACE] = capture.header.traceparent.split("-")[1]
    if (response_id := _response_id(capture)) is not None:
        keys[JoinedBy.RESPONSE] = response_id
    if texts := tuple(_texts([capture.header.request.get(key) for key in _PROMPT_KEYS])):
        keys[JoinedBy.PROMPT] = texts
    return _Facts(capture, start, end, keys)


def _through(capture: Capture) -> bool:
    lab = capture.header.extra.get("lab")
    return isinstance(lab, dict) and "through" in lab


def _response_id(capture: Capture) -> str | None:
    for event in capture.events[:_EVENTS_READ]:
        value: object = payload(event) or loads(event.data)
        if isinstance(value, dict):
            for holder in (value, value.get("response"), value.get("message")):
                if isinstance(holder, dict) and isinstance(holder.get("id"), str) and holder["id"]:
                    return str(holder["id"])
    return None


def _texts(value: Any) -> Iterator[str]:
    """The texts of a prompt in order, in whatever form an endpoint has them; roles and types are left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        for key in ("text", "content", "output", "arguments"):
            yield from _texts(value.get(key))
