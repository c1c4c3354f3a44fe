"""Intervals and percentiles, by values from textbooks and by what must hold for any numbers."""

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.fleet.probe.rates import (
    bucket_of,
    gap_percentile,
    percent,
    percentile,
    rate,
)


@pytest.mark.parametrize(
    ("count", "of", "low", "high"),
    [  # Wilson's interval without correction; Newcombe 1998, table I
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (0, 500, 0.0, 0.00762),
    ],
)
def test_the_interval_is_wilson_s(count: int, of: int, low: float, high: float) -> None:
    proportion = rate(count, of)
    assert proportion.low == pytest.approx(low, abs=6e-5)
    assert proportion.high == pytest.approx(high, abs=6e-5)


@given(st.integers(0, 10_000).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of))))
def test_an_interval_holds_the_share_and_stays_within_0_and_1(counts: tuple[int, int]) -> None:
    proportion = rate(*counts)
    assert 0.0 <= proportion.low <= proportion.high <= 1.0
    if proportion.share is not None:
        assert proportion.low - 1e-9 <= proportion.share <= proportion.high + 1e-9


def test_shares_have_the_digits_that_count() -> None:
    shares = [0.0, 0.00002, 0.0076, 0.0349, 0.349, 0.9996, 1.0]
    assert [percent(share) for share in shares] == ["0%", "<0.01%", "0.76%", "3.5%", "35%", "100%", "100%"]


def test_what_never_came_makes_a_percentile_worse() -> None:
    assert percentile([1.0, 2.0, 3.0], 0.5) == 2.0
    assert percentile([1.0, 2.0, 3.0, inf], 0.9) is None
    assert percentile([], 0.5) is None


@given(st.lists(st.floats(1e-5, 1e3), min_size=1, max_size=200), st.sampled_from([0.5, 0.9, 0.99]))
def test_a_percentile_of_buckets_is_that_of_the_waits_within_one_percent(
    waits: list[float], share: float
) -> None:
    halves: list[dict[int, int]] = [{}, {}]
    for place, wait in enumerate(waits):
        half = halves[place % 2]
        half[bucket_of(wait)] = half.get(bucket_of(wait), 0) + 1
    assert gap_percentile(halves, share) == pytest.approx(percentile(waits, share), rel=0.0101)
    assert gap_percentile([], share) is None
