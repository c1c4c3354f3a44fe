"""Rates with confidence intervals, and percentiles that count failures. Pure arithmetic."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, exp, inf, log, sqrt
from typing import Final

_Z: Final = 1.959963984540054
"""Of the 95 % interval."""
_SPAN: Final = log(1.02)
"""Width of a bucket of waits: a percentile is at most 1 % off."""
_LEAST_S: Final = 1e-6

Gaps = Mapping[int, int]
"""Waits by bucket (see `bucket_of`), and how many."""


@dataclass(frozen=True, slots=True)
class Proportion:
    """`count` of `of`, with the 95 % Wilson interval."""

    count: int
    of: int
    low: float
    high: float

    @property
    def share(self) -> float | None:
        """The observed share; None if `of` is 0."""
        return self.count / self.of if self.of else None

    @property
    def words(self) -> str:
        """The share and its interval, e.g. `0.6% (95% interval 0.2% to 1.7%)`."""
        if not self.of:
            return "unknown"
        return f"{percent(self.count / self.of)} (95% interval {percent(self.low)} to {percent(self.high)})"


def rate(count: int, of: int) -> Proportion:
    """The rate of `count` in `of`; from 0 to 1 if `of` is 0."""
    if of == 0:
        return Proportion(0, 0, 0.0, 1.0)
    share, square = count / of, _Z * _Z
    middle = share + square / (2 * of)
    spread = _Z * sqrt(share * (1 - share) / of + square / (4 * of * of))
    scale = 1 + square / of
    low, high = (middle - spread) / scale, (middle + spread) / scale
    return Proportion(count, of, 0.0 if count == 0 else low, 1.0 if count == of else high)


def percent(share: float) -> str:
    """A share in percent with two significant digits."""
    value = 100 * share
    if value == 0 or value >= 99.95:
        return f"{value:.0f}%"
    digits = 0 if value >= 10 else 1 if value >= 1 else 2
    return f"{value:.{digits}f}%" if value >= 0.01 else "<0.01%"


def percentile(values: Sequence[float], share: float) -> float | None:
    """The smallest value that `share` of all values do not exceed; None if infinite or without values.

    A token that never arrived counts as infinite, so failures make a percentile worse and never better.
    """
    if not values:
        return None
    smallest = sorted(values)[max(ceil(share * len(values)) - 1, 0)]
    return None if smallest == inf else smallest


def bucket_of(seconds: float) -> int:
    """Index of the bucket of a duration."""
    return round(log(max(seconds, _LEAST_S)) / _SPAN)


def gap_percentile(histograms: Iterable[Gaps], share: float) -> float | None:
    """The percentile of waits in buckets; None without any."""
    counts: dict[int, int] = {}
    for histogram in histograms:
        for bucket, count in histogram.items():
            counts[bucket] = counts.get(bucket, 0) + count
    place, cumulative = ceil(share * sum(counts.values())), 0
    for bucket in sorted(counts):
        cumulative += counts[bucket]
        if cumulative >= place:
            return exp(bucket * _SPAN)
    return None
