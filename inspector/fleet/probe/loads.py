"""Load, budget, sweep and progress of a probe. No I/O."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, inf, log
from typing import Final

from inspector.capture.errors import InspectorError
from inspector.capture.formats import number
from inspector.fleet.probe.rows import ProbeRow, Result

CONCURRENCY_AT_MOST: Final = 1024
_ERROR: Final = 0.05
"""How often a sweep may call a rate of `tolerated` losing, and a level's rate of `smallest` free of loss."""


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
    def tolerated(self) -> float:
        """The loss rate, a tenth of `smallest`, that must be ruled out before a level counts as losing."""
        return self.smallest / 10

    def loses(self, level: int, damaged: Iterable[bool]) -> bool | None:
        """Whether a level loses, by its checked responses in order; None while that is not certain.

        A sequential probability ratio test (Wald) of `smallest` against `tolerated`, so it may look after
        each response. A single damaged response never decides, as the rates differ by less than the bound.
        It waits for twice as many responses as the level has workers, as those that end first are not
        typical, and for 20. `bench/sweep.py` simulates it.
        """
        # Ville: a ratio that is 1 on average exceeds 1/e with a probability of at most e. All levels share e.
        upper, least = log(len(list(levels_of(self))) / _ERROR), max(2 * level, 20)
        if_damaged, otherwise = self._evidence
        evidence = 0.0
        for checked, loss in enumerate(damaged, 1):
            evidence += if_damaged if loss else otherwise
            if checked >= least and not log(_ERROR) < evidence < upper:
                return evidence >= upper
        return None

    @property
    def _evidence(self) -> tuple[float, float]:
        """Logarithms of the likelihood ratios of one response: damaged, not damaged."""
        return log(self.smallest / self.tolerated), log((1 - self.smallest) / (1 - self.tolerated))

    @property
    def streams(self) -> int:
        """Streams of one level without a loss that end it."""
        return ceil(log(_ERROR) / self._evidence[1])

    @property
    def most(self) -> int:
        """Requests after which a level ends, certain or not: failed streams decide nothing."""
        return 4 * self.streams

    def far(self, rows: Sequence[ProbeRow]) -> tuple[int, int, bool]:
        """Progress of a level: done, needed, and whether fewer may be enough.

        Without a loss, responses that could be checked count; once one is damaged, how many more it takes
        depends on the rest.
        """
        losses = checked_losses(rows)
        return (len(rows), self.most, True) if any(losses) else (len(losses), self.streams, False)


def checked_losses(rows: Iterable[ProbeRow]) -> list[bool]:
    """For each response that could be checked, in order, whether it was damaged."""
    checked = (row for row in rows if not row.control and row.result in {Result.DAMAGED, Result.OK})
    return [row.result is Result.DAMAGED for row in checked]


def at_once(level: int) -> str:
    """A level in words."""
    return "one stream at a time" if level == 1 else f"{number(level)} streams at once"


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
