"""What a sentence says, as facts: "content is null" and "never returns any content" are one.

A sentence is a list of words without their inflections (`phrases`). Phrases stand for things, what happens
to them, and where and when. A state belongs to the nearest thing of its clause. A negation turns a verb
that delivers into a loss, and a loss into nothing. Names of facts are words such as `answer missing`,
`think in answer`, `only think` and `stream`; every fact keeps the words that it was read from.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from inspector.diagnosis.phrases import Sort, Word, grammar, lexicon, verbs, words_of

__all__ = ["Fact", "facts_of", "is_fact_name"]

_HARD: Final = frozenset(".;!?\n")
"""What ends a sentence."""
_FAR: Final = 7
"""Words between a state and its thing at most."""
_NEAR: Final = 4
_COMMA: Final = 2
"""Words that a comma counts as."""
_LONGEST: Final = 200
"""Words of a clause that are read together; in parts, the work is proportional to the length."""
_AND: Final = frozenset({"and", "or", "nor", "neither"})
_SIGNS: Final = frozenset({",", ":", "="})
_OF: Final = frozenset({"of", "a", "an", "the", "each", "every", "its", "my", "our", "their", "any"})
_PLACES: Final = frozenset({"answer", "reply", "think", "args", "toolname", "plain", "history"})
_UNSTREAMED: Final = frozenset({"non", "no", "without", "disabl", "unary", "un"})
_OFF: Final = frozenset({"fals", "off", "disabl"})


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that a text says."""

    name: str
    said: str
    """The words that say it."""


class _Item(NamedTuple):
    """A phrase of a clause; places count words."""

    sorts: tuple[Sort, ...]
    at: int
    until: int

    def named(self, kind: str) -> list[str]:
        return [one.name for one in self.sorts if one.kind == kind]


def is_fact_name(name: str) -> bool:
    """Whether `facts_of` may ever give a fact of this name."""
    things, states, contexts = (lexicon().names[kind] for kind in ("things", "states", "contexts"))
    match name.split():
        case [one]:
            return one in things | contexts | states | {"unstreamed"}
        case ["only", thing]:
            return thing in things
        case [thing, state]:
            return name in ("unstreamed works", "stream works") or (thing in things and state in states)
        case [thing, "in", place]:
            return thing in things and place in _PLACES
    return False


def facts_of(sentence: str) -> Iterator[Fact]:
    """Everything that a sentence says; a fact may come several times."""
    clause: list[Word] = []
    subject: tuple[str, ...] = ()
    opening = True
    wished = False
    for word in [*words_of(sentence), Word(".", ".", 0, 0)]:
        ends = word.stem in _HARD
        turns = ends or word.raw in grammar("turns") or word.stem in verbs("wishes")
        if turns or len(clause) == _LONGEST:
            if clause and not wished:
                read = _Clause(sentence, clause, subject)
                yield from read.facts()
                subject = read.subject
            clause = []
        if turns:
            wished = word.stem in verbs("wishes") or (
                wished and not ends and word.raw not in grammar("turns")
            )
            if ends:
                subject, opening = (), True
            continue
        if opening and word.stem in verbs("proposals"):
            wished = True
        opening = False
        clause.append(word)


class _Clause:
    """Words between two ends of a clause, and what they say."""

    def __init__(self, sentence: str, words: list[Word], subject: tuple[str, ...] = ()) -> None:
        self.sentence = sentence
        self.before = subject
        """What the clause before is about, for one that names nothing: "tool calls work but are lost"."""
        self.words = words
        self.items = list(self._items())
        self.things = [item for item in self.items if item.named("things")]
        self.subject = tuple(self.things[0].named("things")) if self.things else subject

    def facts(self) -> Iterator[Fact]:
        """Everything that this clause says."""
        for item in self.items:
            for name in item.named("things"):
                yield self._fact(name, item.at, item.until)
            yield from self._context(item)
            for state in item.named("states"):
                yield from self._bound(item, state)
        yield from self._undelivered()
        yield from self._lacking()
        yield from self._placed()
        yield from self._alone()
        yield from self._working()

    def _fact(self, name: str, start: int, end: int) -> Fact:
        said = self.sentence[self.words[start].start : self.words[end - 1].end]
        return Fact(name, " ".join(said.split()))

    def _items(self) -> Iterator[_Item]:
        for kinds in (("things", "states", "others"), ("contexts",)):
            yield from self._items_of(kinds)

    def _items_of(self, kinds: tuple[str, ...]) -> Iterator[_Item]:
        """Phrases from left to right, the longest at each place; contexts may overlap with others."""
        phrases = lexicon().phrases
        at = 0
        stems = [word.stem for word in self.words]
        while at < len(stems):
            for phrase, sorts in phrases.get(stems[at], ()):
                meant = tuple(one for one in sorts if one.kind in kinds)
                if meant and tuple(stems[at : at + len(phrase)]) == phrase:
                    yield _Item(meant, at, at + len(phrase))
                    at += len(phrase)
                    break
            else:
                at += 1

    def _context(self, item: _Item) -> Iterator[Fact]:
        for name in item.named("contexts"):
            before = [word.stem for word in self.words[max(item.at - 2, 0) : item.at]]
            after = [word.stem for word in self.words[item.until : item.until + 2]]
            if name == "stream":
                raw = self.words[item.at].raw
                off = before and (
                    before[-1] in _UNSTREAMED or (before[-1] == "not" and not raw.endswith("ed"))
                )
                if off or _OFF & set(after):
                    yield self._fact("unstreamed", max(item.at - 1, 0), item.until)
                    continue
            elif {"not", "no", "without"} & set(before) and name != "notools":
                continue
            yield self._fact(name, item.at, item.until)

    def _bound(self, item: _Item, state: str) -> Iterator[Fact]:
        """A state with the thing that it is said of; without one, the state alone."""
        before = [word.stem for word in self.words[max(item.at - 3, 0) : item.at]]
        first = self.words[item.at].stem
        if first not in ("not", "no", "without") and "not" in before:
            return
        if "no" in before[-2:] and state not in ("missing", "cut"):
            return
        yield self._fact(state, item.at, item.until)
        if not self.things:
            for name in self.before:
                yield self._fact(f"{name} {state}", item.at, item.until)
        for thing in self._thing_of(item):
            for name in thing.named("things"):
                start, end = min(thing.at, item.at), max(thing.until, item.until)
                yield self._fact(f"{name} {state}", start, end)

    def _thing_of(self, item: _Item) -> list[_Item]:
        """The thing that a state is said of, with those that are joined to it by "and" or "or"."""
        left = next((one for one in reversed(self.things) if one.until <= item.at), None)
        right = next((one for one in self.things if one.at >= item.until), None)
        if left is not None and (self._far(left.until, item.at) > _FAR or self._of_other(left, item)):
            left = None
        if right is not None and self._far(item.until, right.at) > _NEAR:
            right = None
        if left is None or right is None:
            found = left or right
        else:
            before = self.words[max(item.at - 2, 0) : item.at]
            predicate = any(word.raw in grammar("copulas") or word.raw == "=" for word in before)
            gap = self._far(item.until, right.at)
            between = self.words[item.until : right.at]
            adjacent = gap <= 1
            away = self._far(left.until, item.at)
            if predicate:
                found = left
            elif (adjacent or gap < away) and not {word.raw for word in between} & (
                grammar("links") | _SIGNS
            ):
                found = right
            else:
                found = left
        if found is None:
            return []
        found = self._head(found)
        return [found, *self._joined(found)]

    def _head(self, thing: _Item) -> _Item:
        """What a thing is named for: in "the first words of each answer are lost" words are lost."""
        place = self.things.index(thing)
        if place == 0:
            return thing
        head = self.things[place - 1]
        between = [word.raw for word in self.words[head.until : thing.at]]
        return head if between[:1] == ["of"] and set(between) <= _OF else thing

    def _of_other(self, thing: _Item, state: _Item) -> bool:
        """Whether a state is said of a word that nobody knows: "messages whose channel is null"."""
        between = self.words[thing.until : state.at]
        place = next((at for at, word in enumerate(between) if word.raw in grammar("be")), None)
        if not place:
            return False
        word = between[place - 1]
        return not any(one.raw in grammar("by") or one.raw == "," for one in between[:place]) and not (
            word.raw in grammar("own")
            or word.raw in grammar("copulas")
            or word.raw.endswith("ly")
            or not word.raw.isalpha()
        )

    def _joined(self, thing: _Item) -> Iterator[_Item]:
        place = self.things.index(thing)
        for other in self.things[max(place - 2, 0) : place + 3]:
            if other is thing:
                continue
            start, end = (other.until, thing.at) if other.until <= thing.at else (thing.until, other.at)
            between = {word.stem for word in self.words[start:end]}
            if between & _AND and between <= _AND | {"no", "not", ",", "empty"}:
                yield other

    def _far(self, start: int, end: int) -> int:
        """Words between two places; a comma counts as three."""
        return sum(_COMMA if word.stem in ",—()" else word.stem not in ":=" for word in self.words[start:end])

    def _undelivered(self) -> Iterator[Fact]:
        """A negated verb that delivers: its object is missing, or its subject."""
        for at, word in enumerate(self.words):
            if word.stem != "not":
                continue
            verb = next(
                (
                    place
                    for place in range(at + 1, min(at + 4, len(self.words)))
                    if self.words[place].stem in verbs("delivers")
                ),
                None,
            )
            if verb is None:
                continue
            passive = at > 0 and self.words[at - 1].raw in grammar("copulas")
            moves = self.words[verb].stem in verbs("arrives")
            right = next(
                (one for one in self.things if one.at > verb and self._far(verb + 1, one.at) <= _NEAR), None
            )
            left = next(
                (
                    one
                    for one in reversed(self.things)
                    if one.until <= at and self._far(one.until, at) <= _FAR
                ),
                None,
            )
            found = left if (passive or moves) and left is not None else (right or left)
            after = self.words[verb + 1].raw if verb + 1 < len(self.words) else ""
            if after in ("it", "them") and self.things and self.things[0].until <= at:
                found = self.things[0]
            if found is None:
                for name in () if self.things else self.before:
                    yield self._fact(f"{name} missing", at, verb + 1)
                continue
            if any("missing" in one.named("states") for one in self.items if verb < one.at < found.at):
                continue  # "no longer returns null content"
            for thing in (found, *self._joined(found)):
                for name in thing.named("things"):
                    yield self._fact(f"{name} missing", min(thing.at, at), max(thing.until, verb + 1))

    def _lacking(self) -> Iterator[Fact]:
        """Things that are named as lacking: "no answer", "without a tool call", "prose instead of a call"."""
        for at, word in enumerate(self.words):
            instead = (
                word.stem in ("instead", "rather")
                or (word.raw == "expected" and at > 0 and self.words[at - 1].raw in ("i", "we", "client"))
            ) and at + 1 < len(self.words)
            if word.stem not in grammar("no") and not instead:
                continue
            start = at + 2 if word.stem in ("instead", "rather") else at + 1
            thing = next((one for one in self.things if one.at >= start), None)
            if thing is None or self._far(start, thing.at) > 3:
                continue
            if word.raw == "without" and "think" in thing.named("things"):
                continue  # an answer without reasoning is a wish as often
            for one in (thing, *self._joined(thing)):
                if one.at < start:
                    continue
                for name in one.named("things"):
                    yield self._fact(f"{name} missing", at, one.until)

    def _placed(self) -> Iterator[Fact]:
        """Things in places: "X in Y", and "Y contains X"."""
        for item in self.items:
            places = [name for one in item.sorts if (name := one.name) in _PLACES]
            if not places:
                continue
            yield from self._inside(item, places)
            yield from self._holding(item, places)

    def _inside(self, place: _Item, names: list[str]) -> Iterator[Fact]:
        own = self.words[place.at].stem in ("as", "in", "into")
        into = (
            place.at
            if own
            else next(
                (
                    at
                    for at in range(place.at - 1, max(place.at - 5, -1), -1)
                    if self.words[at].stem in grammar("into")
                ),
                None,
            )
        )
        if "plain" in names and not own and into is None:
            into = place.at
        if into is None or any(
            word.stem in ("not", "instead") for word in self.words[max(into - 1, 0) : into]
        ):
            return
        if {word.raw for word in self.words[into + 1 : place.at]} & (grammar("stops") | _SIGNS):
            return
        if into > 0 and self.words[into - 1].stem == "nothing":
            for where in names:
                yield self._fact(f"{where} missing", into - 1, place.until)
            return
        for thing in reversed(self.things):
            if thing.until <= into and thing is not place and self._far(thing.until, into) <= _FAR:
                for one in (thing, *self._joined(thing)):
                    for name in one.named("things"):
                        for where in names:
                            if name != where:
                                yield self._fact(f"{name} in {where}", min(one.at, thing.at), place.until)
                break

    def _holding(self, place: _Item, names: list[str]) -> Iterator[Fact]:
        for at in range(place.until, min(place.until + 4, len(self.words))):
            if self.words[at].stem not in verbs("holds"):
                continue
            if any(word.stem in ("not", "no") for word in self.words[place.until : at + 3]):
                return
            thing = next(
                (one for one in self.things if one.at > at and self._far(at + 1, one.at) <= _NEAR), None
            )
            lost = {"missing", "emptied"}
            if thing is not None and not any(
                lost & set(one.named("states")) for one in self.items if at < one.at < thing.at
            ):
                for name in thing.named("things"):
                    for where in names:
                        if name != where:
                            yield self._fact(f"{name} in {where}", place.at, thing.until)
            return

    def _working(self) -> Iterator[Fact]:
        """Where it works: "fine without streaming"."""
        said = {fact.name: item for item in self.items for fact in self._context(item)}
        if "works" in said:
            for name in ("unstreamed", "stream"):
                if name in said:
                    start = min(said[name].at, said["works"].at)
                    yield self._fact(f"{name} works", start, max(said[name].until, said["works"].until))

    def _alone(self) -> Iterator[Fact]:
        """Things that came alone: "only reasoning", "reasoning only", "nothing but thoughts"."""
        for thing in self.things:
            before = [word.stem for word in self.words[max(thing.at - 4, 0) : thing.at]]
            after = [word.stem for word in self.words[thing.until : thing.until + 1]]
            first = next(
                (
                    at
                    for at in range(max(thing.at - 4, 0), thing.at)
                    if self.words[at].stem in grammar("only")
                ),
                thing.at,
            )
            if verbs("reads") & set(before[-3:]):
                continue
            if grammar("only") & set(before) or grammar("only") & set(after):
                for name in thing.named("things"):
                    yield self._fact(
                        f"only {name}", thing.at if grammar("only") & set(after) else first, thing.until
                    )
