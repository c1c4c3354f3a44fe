"""How much is sent and how: workers or a rate, budgets, levels of a sweep; how far a run is. No I/O."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final

from inspector.capture.errors import InspectorError
from inspector.fleet.probe.judging import Result, Row
from inspector.fleet.probe.rates import proves, rate, streams_needed

CONCURRENCY_AT_MOST: Final = 1024
THRESHOLD: Final = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """How requests are sent. Raises InspectorError for numbers that cannot be."""

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
    """What ends a run; None is no bound. Requests count for each server."""

    requests: int | None = None
    tokens: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("requests", self.requests), ("tokens", self.tokens), ("seconds", self.seconds)):
            if value is not None and not 0 < value < inf:
                raise InspectorError(f"invalid budget: {value} {name}; choose a positive number")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """Levels of workers, each until its answer is certain."""

    limit: int = 64
    """The highest level."""
    smallest: float = 0.01
    """The loss rate that is to be ruled out, with 95 % confidence, before a level counts as free of loss."""

    def __post_init__(self) -> None:
        if not 1 <= self.limit <= CONCURRENCY_AT_MOST:
            raise InspectorError(f"invalid limit: {self.limit}; choose 1 to {CONCURRENCY_AT_MOST:,}")
        if not 0.0001 <= self.smallest <= 0.5:
            raise InspectorError(f"invalid smallest rate: {self.smallest:g}; choose 0.0001 to 0.5")

    @property
    def threshold(self) -> float:
        """The rate above which a level counts as one that loses."""
        return min(self.smallest, THRESHOLD)

    @property
    def streams(self) -> int:
        """Streams of one level without a loss that end it."""
        return streams_needed(self.smallest)

    def certain(self, level: int, rows: Sequence[Row]) -> bool:
        """True when more streams of a level would not change its answer.

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

    def far(self, rows: Sequence[Row]) -> tuple[int, int, bool]:
        """How far a level is: so many of so many, and whether fewer may do.

        Without a loss, responses that could be checked count; once one is damaged, how many more it takes
        depends on the rest.
        """
        damaged, checked = _counted(rows)
        return (len(rows), self.most, True) if damaged else (checked, self.streams, False)

    def loses(self, rows: Sequence[Row]) -> bool:
        """Whether the streams of a level show that it loses."""
        return proves(*_counted(rows), self.threshold)


def _counted(rows: Sequence[Row]) -> tuple[int, int]:
    """How many responses were damaged, and of how many that is known."""
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
class Progress:
    """How far a run is."""

    done: int
    total: int | None
    """Requests in all, where they are counted."""
    in_flight: int
    level: int
    at_level: tuple[int, int, bool] | None
    """Of a sweep that is under way: `Sweep.far` for its level."""
    per_s: float | None
    """Requests that ended per second, lately."""
    left_s: float | None
    """By that rate, or by the budget of time."""
    damaged: int
    failed: int
    unknown: int
    waited_s: float
    """How long servers asked to wait."""
    elapsed_s: float
