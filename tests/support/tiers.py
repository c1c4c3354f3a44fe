"""How much a tier has time for: `pytest` alone a part of long tables, with `slow` (`.ci/run`) all of them."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

from hypothesis import HealthCheck, settings

T = TypeVar("T")

__all__ = ["choose", "load", "part"]

# No test asserts a time: a loaded machine is no failure.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("any machine"), max_examples=25)
settings.register_profile("thorough", settings.get_profile("any machine"), max_examples=200)


def load(*, thorough: bool) -> None:
    """Choose the tier, before test modules are imported."""
    settings.load_profile("thorough" if thorough else "quick")


def choose(quick: int, thorough: int) -> int:
    """A size, by the tier."""
    return thorough if settings.default is settings.get_profile("thorough") else quick


def part(rows: Iterable[T], number: int = 0) -> Iterator[T]:
    """Every third row from a place that depends on `number`, or all of them."""
    step = choose(3, 1)
    return islice(rows, number % step, None, step)
