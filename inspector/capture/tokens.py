"""Tokens as columns: the IDs of one completion and the event that each came in.

Columns, not objects: a capture of 131,072 tokens is two lists. `Token` is the value for one place,
made on request.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from inspector.capture.bounds import TOKENS


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """One sampled token."""

    index: int
    """Place in the completion, from 0."""
    id: int
    """Vocabulary ID as the server sent it; may lie outside the vocabulary."""
    event: int
    """Index of the event that it came in."""
    arrival_s: float | None
    """Seconds since the request; None when the capture has no times."""


@dataclass(slots=True)
class Tokens:
    """The tokens of one completion, in order; `ids[i]` came in event `events[i]`."""

    ids: list[int] = field(default_factory=list)
    events: list[int] = field(default_factory=list)
    cut: bool = False
    """True when there were more than `TOKENS`, which are not read."""

    def __len__(self) -> int:
        return len(self.ids)

    def extend(self, ids: Sequence[int], event: int) -> None:
        """Append the IDs that one event brought."""
        if len(ids) == 1:  # the common stream; half the cost
            self.ids.append(ids[0])
            self.events.append(event)
            return
        if len(self.ids) + len(ids) > TOKENS:
            self.cut = True
            ids = ids[: max(TOKENS - len(self.ids), 0)]
        self.ids.extend(ids)
        self.events.extend([event] * len(ids))
