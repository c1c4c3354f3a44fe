"""Repeated runs: how many of each side have an error finding, and whether the difference is significant.

The test is Fisher's exact test, two-sided: the share of all tables with the same margins that are at most
as probable as the observed one. It uses integer arithmetic, so it is exact for any count.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from typing import Final

from inspector.analysis.audit import Severity
from inspector.inspection.inspection import Inspection

TEST: Final = "Fisher's exact test, two-sided"
_LEVEL: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """N runs of each side."""

    left_runs: int
    left_failed: int
    """Runs with at least one error finding."""
    right_runs: int
    right_failed: int
    left_unknown: int
    """Runs without evidence and without findings; not part of the rates."""
    right_unknown: int
    p_value: float | None
    """None if a side has no run with evidence."""
    sentence: str
    test: str = TEST

    @property
    def more_than_chance(self) -> bool | None:
        """True if the rates differ significantly (5 % level); None if no test is possible."""
        return None if self.p_value is None else self.p_value < _LEVEL


def significance(left: Sequence[Inspection], right: Sequence[Inspection]) -> Repeats:
    """Compare the error rates of two groups of runs."""
    (a, failed_a), (b, failed_b) = _judged(left), _judged(right)
    p_value = fisher_exact(failed_a, a - failed_a, failed_b, b - failed_b) if a and b else None
    return Repeats(
        left_runs=a,
        left_failed=failed_a,
        right_runs=b,
        right_failed=failed_b,
        left_unknown=len(left) - a,
        right_unknown=len(right) - b,
        p_value=p_value,
        sentence=_sentence(a, failed_a, b, failed_b, p_value),
    )


def fisher_exact(a: int, b: int, c: int, d: int) -> float:
    """Two-sided p-value of the table [[a, b], [c, d]]; counts must not be negative."""
    failed, left, total = a + c, a + b, a + b + c + d
    ways = {
        k: comb(left, k) * comb(total - left, failed - k)
        for k in range(max(0, failed - (total - left)), min(left, failed) + 1)
    }
    observed = ways[a]
    return sum(way for way in ways.values() if way <= observed) / comb(total, failed)


def mcnemar_exact(only_left: int, only_right: int) -> float:
    """Two-sided p-value for discordant pairs in each direction; 1 without any."""
    differ = only_left + only_right
    tail, ways = 0, 1
    for k in range(min(only_left, only_right) + 1):
        tail, ways = tail + ways, ways * (differ - k) // (k + 1)
    return min(1.0, 2 * tail / (1 << differ))


def p_words(p_value: float) -> str:
    """A p-value in words."""
    return f"p = {p_value:.2g}" if p_value >= 0.0001 else "p < 0.0001"


def _judged(runs: Sequence[Inspection]) -> tuple[int, int]:
    """The number of runs with a verdict, and of those with an error."""
    judged = [run for run in runs if run.verdict.level != "unknown"]
    failed = sum(any(finding.severity is Severity.ERROR for finding in run.findings) for run in judged)
    return len(judged), failed


def _sentence(a: int, failed_a: int, b: int, failed_b: int, p_value: float | None) -> str:
    rates = f"Left: {_rate(failed_a, a)} with errors, right: {_rate(failed_b, b)}"
    if p_value is None:
        return f"{rates}. No test is possible, because one side has no runs with evidence."
    if p_value < _LEVEL:
        return f"{rates}. The difference is statistically significant ({TEST}, {p_words(p_value)})."
    return f"{rates}. The difference is not statistically significant ({TEST}, {p_words(p_value)})."


def _rate(failed: int, runs: int) -> str:
    share = f" ({100 * failed / runs:.0f}%)" if runs else ""
    return f"{failed:,} of {runs:,} runs{share}"
