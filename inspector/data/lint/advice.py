"""What the rules of `lint` and the causes of `rollout` have in common: how bad it is, and what to change."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from inspector.analysis.audit.kinds import Severity

K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class Advice:
    """One row of a table of rules or causes."""

    severity: Severity
    what: str
    """What was found, one sentence."""
    remedy: str


def amount(counts: Mapping[K, int], table: Mapping[K, Advice], severity: Severity) -> int:
    """How many of a severity were found."""
    return sum(amount_of_rule for key, amount_of_rule in counts.items() if table[key].severity is severity)


def level(counts: Mapping[K, int], table: Mapping[K, Advice], *, checked: bool) -> str:
    """`error`, `warning`, `unknown` where nothing was checked, else `ok`."""
    if amount(counts, table, Severity.ERROR):
        return "error"
    if counts:
        return "warning"
    return "ok" if checked else "unknown"
