"""Load, budget, sweep and progress of a probe. No I/O."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final

from inspector.capture.errors import InspectorError
from inspector.capture.formats import number
from inspector.fleet.probe.rates import proves, rate, streams_needed
from inspector.fleet.probe.rows import ProbeRow, Result

CONCURRENCY_AT_MOST: Final = 1024
THRESHOLD: Final = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeLoad:
    """How requests are sent. Raises InspectorError for invalid numbers."""

    concurrency: int = 1
    """Workers that send one request after the other; with `rate`, the most requests in flight."""
    rate: float | None = None
    """Requests per second that arrive independently of each other; None for workers."""

    def __post_init__(self) -> None:
        if not 1 <= self.concurrency <= CONCURRENCY_AT_MOST:
            raise InspectorError(
                f"invalid concurrency: {self.concurrency}; choose 1 to {CONCURRENCY_AT_MOST:,}"
            )
        if self.rate is not None and not 0 < self.rate < inf:
            raise InspectorError(
                f"invalid rate: {self.rate:g}; choose a positive number of requests per second"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What ends a run; None means no limit. `requests` is per server."""

    requests: int | None = None
    tokens: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("requests", self.requests), ("tokens", self.tokens), ("seconds", self.seconds)):
            if value is not None and not 0 < value < inf:
                raise InspectorError(f"invalid budget: {value} {name}; choose a positive number")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """Levels of workers, each until its result is certain."""

    limit: int = 64
    """The highest level."""
    smallest: float = 0.01
    """The loss rate to rule out, with 95 % confidence, before a level counts as free of loss."""

    def __post_init__(self) -> None:
        if not 1 <= self.limit <= CONCURRENCY_AT_MOST:
            raise InspectorError(f"invalid limit: {self.limit}; choose 1 to {CONCURRENCY_AT_MOST:,}")
        if not 0.0001 <= self.smallest <= 0.5:
            raise InspectorError(f"invalid smallest rate: {self.smallest:g}; choose 0.0001 to 0.5")

    @property
    def threshold(self) -> float:
        """The loss rate above which a level counts as losing."""
        return min(self.smallest, THRESHOLD)

    @property
    def streams(self) -> int:
        """Streams of one level without a loss that end it."""
        return streams_needed(self.smallest)

    def certain(self, level: int, rows: Sequence[ProbeRow]) -> bool:
        """True when more streams of a level would not change its result.

        A loss is decided where the lower end of the rate's interval is above `threshold`, so never by a
        single damaged response. Then twice as many streams as the level has workers are waited for, as those
        that end first are not typical, and 20 for an interval. Without a loss it takes `streams`; with a few,
        as many as bring the upper end below `smallest`.
        """
        damaged, checked = _counted(rows)
        if proves(damaged, checked, self.threshold):
            return len(rows) >= max(2 * level, 20)
        if damaged == 0:
            return checked >= self.streams
        return rate(damaged, checked).high < self.smallest

    @property
    def most(self) -> int:
        """Requests after which a level ends, certain or not: failed streams decide nothing."""
        return 4 * self.streams

    def far(self, rows: Sequence[ProbeRow]) -> tuple[int, int, bool]:
        """Progress of a level: done, needed, and whether fewer may be enough.

        Without a loss, responses that could be checked count; once one is damaged, how many more it takes
        depends on the rest.
        """
        damaged, checked = _counted(rows)
        return (len(rows), self.most, True) if damaged else (checked, self.streams, False)

    def loses(self, rows: Sequence[ProbeRow]) -> bool:
        """Whether the streams of a level show that it loses."""
        return proves(*_counted(rows), self.threshold)


def at_once(level: int) -> str:
    """A level in words."""
    return "one stream at a time" if level == 1 else f"{number(level)} streams at once"


def _counted(rows: Sequence[ProbeRow]) -> tuple[int, int]:
    """How many responses were damaged, and how many could be checked."""
    results = [row.result for row in rows if not row.control]
    damaged = results.count(Result.DAMAGED)
    return damaged, damaged + results.count(Result.OK)


def levels_of(sweep: Sweep) -> Iterator[int]:
    """1, 2, 4 and so on to the limit."""
    level = 1
    while level < sweep.limit:
        yield level
        level *= 2
    yield sweep.limit


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeProgress:
    """Progress of a run."""

    done: int
    total: int | None
    """Requests in all, where they are counted."""
    in_flight: int
    level: int
    at_level: tuple[int, int, bool] | None
    """Of a sweep that is under way: `Sweep.far` for its level."""
    per_s: float | None
    """Requests per second that ended recently."""
    left_s: float | None
    """Estimated by `per_s`, or by the time budget."""
    damaged: int
    failed: int
    unknown: int
    waited_s: float
    """How long servers asked to wait."""
    elapsed_s: float
