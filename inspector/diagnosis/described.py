"""Which entries a person describes: the facts of a text against the facts that an entry is described by.

A description holds where all that it needs is said close together and nothing that rules it out is said at
all. Order, inflection and synonyms do not matter, and the number of facts decides between entries.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from inspector.diagnosis.facts import Fact, facts_of

__all__ = ["Description", "Told", "best_told", "facts_by_sentence"]

_TOGETHER: Final = 3
"""How many neighbouring sentences the facts of a description may come from."""
_WEIGHTS: Final = (0.0, 1.0, 3.0, 4.0)
"""Of a fact of so many words: a word for where or when, a thing with its state, a thing in a place."""
_VAGUE: Final = 0.5
"""Less for what is only said of the reply, which is everything that a model returns."""
_MORE: Final = 0.75
_APART: Final = 0.25
"""Less for each sentence more."""


@dataclass(frozen=True, slots=True)
class Description:
    """One way to describe an issue, in names of facts."""

    needs: tuple[tuple[str, ...], ...]
    """Of each group one must be said."""
    more: tuple[str, ...] = ()
    """What speaks for the issue beside that."""
    unless: tuple[str, ...] = ()
    """What speaks of another issue."""


class Told(NamedTuple):
    """How much of a description a text says."""

    weight: float
    said: tuple[str, ...]
    """The words that say it."""


def facts_by_sentence(sentences: Iterable[str]) -> list[Mapping[str, Fact]]:
    """The facts of each sentence by name, with the first words that say them."""
    found: list[Mapping[str, Fact]] = []
    for sentence in sentences:
        facts: dict[str, Fact] = {}
        for fact in facts_of(sentence):
            facts.setdefault(fact.name, fact)
        found.append(facts)
    return found


def best_told(descriptions: Sequence[Description], facts: Sequence[Mapping[str, Fact]]) -> Told | None:
    """The description that a text says most of; None where it says none."""
    everywhere = {name for some in facts for name in some}
    found = [
        told
        for one in descriptions
        if everywhere.isdisjoint(one.unless) and all(not everywhere.isdisjoint(group) for group in one.needs)
        for told in _told(one, facts, everywhere)
    ]
    return max(found, key=lambda told: told.weight, default=None)


def _told(
    description: Description, facts: Sequence[Mapping[str, Fact]], everywhere: set[str]
) -> Iterator[Told]:
    more = _MORE * sum(name in everywhere for name in description.more)
    for size in range(1, min(_TOGETHER, len(facts)) + 1):
        for start in range(len(facts) - size + 1):
            window = facts[start : start + size]
            weight = more - _APART * (size - 1)
            said = []
            for group in description.needs:
                fact = _first(group, window, facts)
                if fact is None:
                    break
                weight += _weight(fact.name)
                said.append(fact.said)
            else:
                yield Told(weight, tuple(dict.fromkeys(said)))


def _first(
    group: Sequence[str], window: Sequence[Mapping[str, Fact]], facts: Sequence[Mapping[str, Fact]]
) -> Fact | None:
    """The heaviest fact of a group; a single word counts wherever it is said."""
    names = sorted(group, key=_weight, reverse=True)
    for name in names:
        for some in window if " " in name else (*window, *facts):
            if name in some:
                return some[name]
    return None


def _weight(name: str) -> float:
    return _WEIGHTS[len(name.split())] - (_VAGUE if name.startswith("reply ") else 0.0)
