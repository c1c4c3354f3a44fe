from fractions import Fraction
from itertools import product
from math import comb

import pytest

from inspector.inspection.compare import significance
from inspector.inspection.compare.significance import fisher_exact
from inspector.inspection.inspection import inspect
from tests.support.streams import CLEAN, LEAK, chat


def test_the_test_gives_the_published_values() -> None:
    # Fisher's tea: 3 of 4 cups right, one-sided 17/70; two-sided both tails count (Agresti, table 2.8).
    assert fisher_exact(3, 1, 1, 3) == pytest.approx(34 / 70)
    # R: fisher.test(matrix(c(1, 11, 9, 3), 2))$p.value
    assert fisher_exact(1, 9, 11, 3) == pytest.approx(0.002759456, abs=1e-9)


def share(a: int, b: int, c: int, d: int) -> float:
    """The p-value by every way to put the failures on the runs, one by one."""
    tables_by_count: dict[int, int] = {}
    total, left, failed = a + b + c + d, a + b, a + c
    for bits in range(1 << total):
        if bits.bit_count() == failed:
            on_left = (bits & ((1 << left) - 1)).bit_count()
            tables_by_count[on_left] = tables_by_count.get(on_left, 0) + 1
    return float(
        Fraction(sum(n for n in tables_by_count.values() if n <= tables_by_count[a]), comb(total, failed))
    )


def test_the_test_is_the_share_of_tables_no_more_probable_than_the_one_seen() -> None:
    tables = list(product(range(4), repeat=4))[1:]
    p_values = {counts: fisher_exact(*counts) for counts in tables}
    wrong = {counts: p for counts, p in p_values.items() if p != pytest.approx(share(*counts))}
    assert wrong == {}
    assert len(tables) == 255


def test_ten_runs_that_all_lose_text_against_ten_whole_ones_are_more_than_chance() -> None:
    repeats = significance([inspect(chat(LEAK))] * 10, [inspect(chat(CLEAN))] * 10)
    assert (repeats.left_failed, repeats.right_failed, repeats.more_than_chance) == (10, 0, True)
    assert repeats.sentence == (
        "Left: 10 of 10 runs (100%) with errors, right: 0 of 10 runs (0%). The difference is "
        "statistically significant (Fisher's exact test, two-sided, p < 0.0001)."
    )


def test_one_failure_in_three_runs_may_be_chance() -> None:
    left = [inspect(chat(LEAK)), inspect(chat(CLEAN)), inspect(chat(CLEAN))]
    repeats = significance(left, [inspect(chat(CLEAN))] * 3)
    assert repeats.p_value == 1.0
    assert "not statistically significant" in repeats.sentence


def test_runs_without_evidence_count_in_no_rate() -> None:
    blind = inspect(chat(CLEAN, with_ids=False))
    repeats = significance([blind, inspect(chat(LEAK))], [blind])
    assert (repeats.left_runs, repeats.left_unknown, repeats.right_runs, repeats.right_unknown) == (
        1,
        1,
        0,
        1,
    )
    assert repeats.p_value is None
    assert repeats.more_than_chance is None
    assert "No test is possible" in repeats.sentence
