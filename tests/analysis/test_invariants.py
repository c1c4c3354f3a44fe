"""Invariants of every verdict, over random deliveries whose truth is known (tests/support/deliveries.py)."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import inspector
from inspector.capture.capture import Capture
from inspector.inspection.inspection import Inspection
from tests.support import invariants
from tests.support.deliveries import FAULTS, Delivery, delivery
from tests.support.recut import as_bytes, commented, merged, split
from tests.support.tiers import choose

_SEEDS = range(choose(150, 600))
_MORE_SEEDS = [range(start, start + 600) for start in range(600, 6000, 600)]
_SHOWN = 4

Check = Callable[[Delivery, Inspection], Iterator[str]]


@cache
def deliveries() -> Sequence[tuple[Delivery, Inspection]]:
    return [(made := delivery(seed), inspector.inspect(made.capture)) for seed in _SEEDS]


def holds(check: Check, judged: Iterable[tuple[Delivery, Inspection]]) -> None:
    broken = [f"{made}: {words}" for made, seen in judged for words in check(made, seen)]
    assert not broken, "\n".join([f"{len(broken)} broken", *broken[:_SHOWN]])


def interfaces(made: Delivery, seen: Inspection) -> Iterator[str]:
    return invariants.contradictions(seen)


def recut(cut: Callable[[Capture, Random], Capture], *, causes: bool = False) -> Check:
    def check(made: Delivery, seen: Inspection) -> Iterator[str]:
        if not invariants.is_settled(made):
            return iter(())
        return invariants.moved(seen, inspector.inspect(cut(made.capture, Random(made.seed))), causes=causes)  # noqa: S311

    return check


def respelled(made: Delivery, seen: Inspection) -> Iterator[str]:
    """The same events in other bytes: line ends, a BOM, comments, fields that no client acts on."""
    if made.streamed and any(event.data.startswith("{") for event in made.capture.events):
        other = as_bytes(made.capture, Random(made.seed))  # noqa: S311
        plain, again = (inspector.loads(content) for content in (as_bytes(made.capture), other))
        yield from invariants.moved(inspector.inspect(plain), inspector.inspect(again))


_CHECKS: dict[str, Check] = {
    "no alarm about a right delivery": invariants.alarms,
    "clean means equal": invariants.unequal_clean,
    "a fault that the tokens prove is an error": invariants.missed_faults,
    "complete is proven": invariants.hollow_proofs,
    "less evidence adds no error": invariants.new_errors,
    "less evidence adds no cause": invariants.new_causes,
    "no cause is refuted": invariants.refuted_causes,
    "interfaces agree": interfaces,
    "events cut": recut(split),
    "events joined": recut(merged),
    "keep-alives": recut(commented, causes=True),
    "other bytes": respelled,
}


@pytest.mark.parametrize("name", _CHECKS)
def test_the_invariants_hold_for_random_deliveries(name: str) -> None:
    holds(_CHECKS[name], deliveries())


_CERTAIN = (
    "no alarm about a right delivery",
    "clean means equal",
    "complete is proven",
    "no cause is refuted",
    "interfaces agree",
    "keep-alives",
    "other bytes",
)
"""What holds of all; of the others a few streams in a thousand leave a choice that no rule here describes."""


@pytest.mark.sweep
@pytest.mark.parametrize("seeds", _MORE_SEEDS, ids=lambda seeds: f"from {seeds.start}")
def test_the_invariants_hold_for_thousands(seeds: range) -> None:
    def all_certain(made: Delivery, seen: Inspection) -> Iterator[str]:
        for name in _CERTAIN:
            yield from (f"{name}: {words}" for words in _CHECKS[name](made, seen))

    holds(all_certain, ((made := delivery(seed), inspector.inspect(made.capture)) for seed in seeds))


@given(st.sampled_from(_SEEDS), st.randoms(use_true_random=False))
@settings(derandomize=True)
def test_any_token_ids_may_be_missing(seed: int, random: Random) -> None:
    made, seen = deliveries()[seed]
    assume(made.evidence.usage)
    less = inspector.inspect(invariants.without("some ids", made.capture, random))
    broken = list(invariants.more_blame(made, seen, less, "some ids"))
    assert not broken, f"{made}: {broken[0]}"


def test_the_deliveries_are_what_they_say() -> None:
    faults = set()
    for made, _ in deliveries():
        faults.add(made.fault)
        assert made.same is (made.fault not in FAULTS), made
        assert all(not choice.faulty or made.fault in FAULTS for choice in made.choices)
    assert faults >= {*FAULTS, "none", "hold", "stop", "hide_reasoning", "lose_end", "unfinished"}
    assert delivery(7).capture == delivery(7).capture
