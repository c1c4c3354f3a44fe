"""Bounds of a server's vLLM release, by what its events have or lack.

Used where the version is unknown. Each mark was looked for in every capture of the lab's matrix. A mark that
0.18.0 lacks and 0.23.0 has proves "newer than 0.18.0" where it is and "older than 0.23.0" where it is not.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

from inspector.analysis.reading import Reading
from inspector.capture.capture import Endpoint
from inspector.issues.catalogue.versions import Range, as_version
from inspector.protocol.engines import DEFAULT
from inspector.protocol.harmony.vocab import Marker

_FIRST_EVENTS: Final = 64
"""Events that are searched for members that only some releases send."""
_RELEASES: Final = tuple(f"0.{minor}.{patch}" for minor in range(10, 60) for patch in range(3))
_Pair = tuple[str | None, str | None]


@dataclass(frozen=True, slots=True)
class Bounds:
    """The server is at least the one release and below the other; None where that is open."""

    at_least: str | None = None
    below: str | None = None

    def within(self, affected: Range) -> bool | None:
        """True when every release between the bounds is affected, False when none is, else None."""
        if self.at_least is None and self.below is None:
            return None
        return _within(self.at_least, self.below, affected)

    @property
    def words(self) -> str:
        """What is known, e.g. `0.16.0 or newer`."""
        if self.at_least is None:
            return f"older than {self.below}"
        return f"{self.at_least} or newer" + (f", older than {self.below}" if self.below else "")


@cache
def _between(low: str | None, high: str | None) -> tuple[str, ...]:
    clauses = [f">={low}"] if low else []
    clauses += [f"<{high}"] if high else []
    inside = Range(",".join(clauses))
    return tuple(release for release in _RELEASES if release in inside)


@cache
def _within(low: str | None, high: str | None, affected: Range) -> bool | None:
    inside = {release in affected for release in _between(low, high)}
    return inside.pop() if len(inside) == 1 else None


def release_bounds(reading: Reading) -> Bounds:
    """Bounds of the server's release, from the stream itself; open for another server than vLLM."""
    if not reading.engine.is_among({DEFAULT.program}):
        return Bounds()
    match reading.header.endpoint:
        case Endpoint.CHAT:
            pairs = list(_chat(reading))
        case Endpoint.RESPONSES:
            pairs = list(_responses(reading))
        case _:
            pairs = []
    at_least = max((low for low, _ in pairs if low is not None), key=_number, default=None)
    below = min((high for _, high in pairs if high is not None), key=_number, default=None)
    if at_least is not None and below is not None and _number(at_least) >= _number(below):
        return Bounds()  # a proxy or another server: the marks contradict each other
    return Bounds(at_least, below)


def _number(release: str) -> tuple[int, ...]:
    return as_version(release) or ()


def _has(reading: Reading, *keys: str) -> list[bool]:
    """Whether the first events have each key; a text cannot imitate one, as its quotes are escaped."""
    first_events = [reading.events[place].data for place in range(min(len(reading.events), _FIRST_EVENTS))]
    return [any(f'"{key}":' in text for text in first_events) for key in keys]


def _chat(reading: Reading) -> Iterator[_Pair]:
    old, new = _has(reading, "reasoning_content", "reasoning")
    if old and new:
        yield "0.11.1", "0.16.0"
    elif old:
        yield None, "0.16.0"
    elif new:
        yield "0.15.1", None
    for choice in reading.choices:
        ids, events = choice.tokens.ids, choice.tokens.events
        first = choice.deltas[0].event if choice.deltas else len(reading.events)
        if ids and ids[0] == Marker.CHANNEL and 0 <= events[0] < first:
            yield "0.13.0", None  # a header's ids in a chunk without text
    for error in reading.stream.errors:
        if error.code == 400:
            yield None, "0.18.0"
        elif error.code == 500:
            yield "0.17.1", None
    if "completion_tokens_details" in (reading.stream.usage or {}):
        yield "0.27.2", None  # its absence says nothing: a server without reasoning parser leaves it out


def _responses(reading: Reading) -> Iterator[_Pair]:
    created, penalty, transfer, part = _has(
        reading, "response", "presence_penalty", "ec_transfer_params", "delta"
    )
    if created or reading.stream.final_object is not None:
        yield ("0.18.1", None) if penalty else (None, "0.23.0")
        if transfer:
            yield "0.23.1", None
    details = (reading.stream.usage or {}).get("input_tokens_details")
    if isinstance(details, dict):
        yield ("0.27.2", None) if "cache_write_tokens" in details else (None, "0.31.0")
    for event in reading.events if part else ():
        if event.name == "response.mcp_call_arguments.delta":
            yield "0.13.1", None
        elif event.name == "response.reasoning_part.added":
            yield None, "0.32.0"
    if any(key.startswith("item_id:function_call") for key in reading.stream.notices):
        yield None, "0.14.0"
