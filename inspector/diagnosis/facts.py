"""What a sentence says, as facts: "content is null", "no final answer" and "never returns content" are one.

A sentence is a list of words without their inflections. `concepts.yaml` knows the phrases for things, for what
happens to them, and for where and when. A state belongs to the thing that is nearest in its clause; a negation turns
a verb that delivers into a loss, and a loss into nothing. Facts are words such as `answer missing`, `think in answer`,
`only think` and `stream`; every fact keeps the words that it was read from.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from inspector.diagnosis.safe_yaml import read_yaml

__all__ = ["DEFAULT_FILE", "Fact", "Sort", "facts_of", "is_fact_name", "stem"]

DEFAULT_FILE: Final = Path(__file__).with_name("concepts.yaml")

_WORD: Final = re.compile(
    r"<\|[\w ]{1,20}\|>|[a-z0-9]+(?:\.[0-9]+)*(?:['’][a-z]+)?|\[done\]|\[\s*\]|\{\s*\}|''|\"\"|!{4,}|[.,;:!?()\n—→=]",
    re.IGNORECASE,
)
_IRREGULAR: Final = {
    "lost": "lose",
    "left": "leave",
    "gave": "give",
    "given": "give",
    "got": "get",
    "gotten": "get",
    "sent": "send",
    "came": "come",
    "went": "go",
    "goes": "go",
    "wrote": "write",
    "written": "write",
    "made": "make",
    "shown": "show",
    "seen": "see",
    "saw": "see",
    "broke": "break",
    "broken": "break",
    "ran": "run",
    "hid": "hide",
    "hidden": "hide",
    "bled": "bleed",
    "kept": "keep",
    "froze": "freeze",
    "frozen": "freeze",
    "died": "die",
    "dies": "die",
    "ate": "eat",
    "eaten": "eat",
    "has": "have",
    "had": "have",
    "does": "do",
    "did": "do",
    "threw": "throw",
    "thrown": "throw",
    "began": "begin",
    "put": "put",
    "puts": "put",
    "found": "find",
    "held": "hold",
    "told": "tell",
    "said": "say",
    "args": "arg",
    "params": "param",
    "choose": "choose",
}
_WHOLE: Final = frozenset(
    "reasoning thinking thoughts analysis none this is was has does nothing during string missing this using "
    "process status always less class access unless thus ours its content address news series responses "
    "building meaning setting settings being need speed feed indeed exceed red bed used".split()
)
"""Words that only look inflected, or mean something else without their ending."""
_NOT: Final = frozenset(
    "not never cannot cant unable fails fail failed refuses refuse refused failing rarely seldom hardly".split()
)
_NO: Final = frozenset({"no", "without", "zero", "neither", "nor", "0"})
_FILLERS: Final = frozenset(
    "seem to be been able even ever really actually always quite yet still any get at all even supposed".split()
)
"""Words between a negation and its verb."""
_NO_ADVERBS: Final = frozenset("only apply reply rely supply comply".split())
_DETERMINERS: Final = frozenset(
    "a an the any my our its their his this that these those some your every each".split()
)
_COPULA: Final = frozenset(
    "is are was were be been being get gets got gotten remain remains remained stay stays stayed become becomes "
    "returned returns as always come comes came arrive arrives = still sometimes often simply just completely "
    "entirely only all both also partially turned".split()
)
_DELIVERS: Final = frozenset(
    "return produc giv get generat emit send deliver writ show receiv see output yield provid hav contain reach creat "
    "print mak use execut call invok do perform trigger arriv appear com display render populat fill exist detect "
    "recogniz recognis pars extract find hold includ reply answer respond respons expos surfac serv forward trigg "
    "fir run pop mak pick turn assembl present set available there visible stream".split()
)
"""Verbs, without their endings, that bring something: with a negation it is missing."""
_INTRANSITIVE: Final = frozenset(
    "arriv appear com exist pop turn fir there visible available present".split()
)
_INTO: Final = frozenset("in into inside as within under onto through to".split())
_PLACES: Final = frozenset("answer reply think args toolname plain history".split())
_HOLDS: Final = frozenset("contain has have hold includ start begin carri carry get receiv full fill".split())
_ONLY: Final = frozenset({"only", "just", "solely", "merely", "purely"})
_HARD: Final = frozenset(".;!?\n")
_WISHES: Final = frozenset("should shall suppos ought".split())
"""What follows in the clause is not so, or nobody says that it is."""
_PROPOSALS: Final = frozenset("support add feat featur docs chor implement introduc bump pr allow".split())
"""Words, without their endings, that open a sentence about a change that somebody proposes."""
_TURN: Final = frozenset(
    "but while although though whereas however yet because since so unless until".split()
)
_FAR: Final = 7
"""Words between a state and its thing at most."""
_NEAR: Final = 4
_COMMA: Final = 3
"""Words that a comma counts as."""
_STOPS: Final = frozenset(
    "when if with for is are was and or of instead rather stream streaming , mode".split()
)
"""Words between "in" and a place that make it none."""
_READS: Final = frozenset("read look know pars expect understand check handl support".split())
_LINKS: Final = frozenset(
    "in into with from of after before when and or for on at is are was as if , : =".split()
)
"""Words after a state that end it: what follows is not what is missing."""


class Sort(NamedTuple):
    """A concept and what kind of one it is."""

    kind: str
    """`things`, `states`, `contexts` or `others`."""
    name: str


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that a text says."""

    name: str
    said: str
    """The words that say it."""


class _Word(NamedTuple):
    stem: str
    raw: str
    start: int
    end: int


class _Item(NamedTuple):
    """A phrase of a clause; places count words."""

    sorts: tuple[Sort, ...]
    at: int
    until: int

    def named(self, kind: str) -> list[str]:
        return [one.name for one in self.sorts if one.kind == kind]


def stem(word: str) -> str:
    """A word without its inflection; the same for all forms of a word, and no word itself."""
    word = word.lower().replace("’", "'").removesuffix("'s")
    if word in _WHOLE:
        return word
    word = _IRREGULAR.get(word, word)
    if len(word) > 4 and word.endswith("ies"):
        word = word[:-3] + "y"
    elif len(word) > 4 and word.endswith(("sses", "shes", "ches", "xes", "zes")):
        word = word[:-2]
    elif len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        root = word.removesuffix(ending)
        if root != word and len(root) > 2 and re.search("[aeiouy]", root):
            doubled = root[-1] == root[-2] and root[-1] not in "lsz"
            word = root[:-1] if doubled else root
            break
    return word.removesuffix("e") if len(word) > 3 else word


@dataclass(frozen=True, slots=True)
class _Lexicon:
    phrases: Mapping[str, tuple[tuple[tuple[str, ...], tuple[Sort, ...]], ...]]
    """By first word, longest phrase first."""
    names: Mapping[str, frozenset[str]]


_SIGNS: Final = {
    ("<marker>",): [Sort("things", "marker")],
    ("<list>",): [Sort("states", "emptied"), Sort("contexts", "emptylist")],
}
"""What is no word in the file."""


@cache
def _lexicon() -> _Lexicon:
    known: dict[tuple[str, ...], list[Sort]] = {words: list(sorts) for words, sorts in _SIGNS.items()}
    names: dict[str, frozenset[str]] = {}
    for kind, table in read_yaml(DEFAULT_FILE.read_text(encoding="utf-8")).items():
        concepts = table if isinstance(table, dict) else {"": table}
        names[kind] = frozenset(
            (*concepts, *(one.name for sorts in _SIGNS.values() for one in sorts if one.kind == kind))
        )
        for name, phrases_of in concepts.items():
            for phrase in phrases_of.split(","):
                known.setdefault(_phrase(phrase), []).append(Sort(kind, name))
    phrases: dict[str, list[tuple[tuple[str, ...], tuple[Sort, ...]]]] = {}
    for words, sorts in known.items():
        phrases.setdefault(words[0], []).append((words, tuple(dict.fromkeys(sorts))))
    return _Lexicon(
        {first: tuple(sorted(some, key=lambda one: -len(one[0]))) for first, some in phrases.items()}, names
    )


def _phrase(phrase: str) -> tuple[str, ...]:
    return tuple(word.stem for word in _words(phrase))


def is_fact_name(name: str) -> bool:
    """Whether `facts_of` may ever give a fact of this name."""
    things, states, contexts = (_lexicon().names[kind] for kind in ("things", "states", "contexts"))
    match name.split():
        case [one]:
            return one in things | contexts | states | {"unstreamed"}
        case ["only", thing]:
            return thing in things
        case [thing, state]:
            return (
                name in ("unstreamed works", "stream works")
                or thing in things
                and state in states | {"present"}
            )
        case [thing, "in", place]:
            return thing in things and place in things | {"plain"}
    return False


def _words(sentence: str) -> list[_Word]:
    """Words, markers and the signs that end a clause; every negation is `not`, every lack `no`."""
    found: list[_Word] = []
    determined = False
    for one in _WORD.finditer(sentence.replace("_", " ")):
        raw = one[0].lower().replace("’", "'")
        if raw.startswith("<|"):
            said = "<marker>"
        elif raw in ("''", '""'):
            said = "empty"
        elif raw in ("null", "none", "nil"):
            said = raw
        elif raw.startswith("["):
            said = "done" if "done" in raw else "<list>"
        elif raw.startswith("!!!!"):
            said = "exclamation"
        elif raw.endswith("n't") or raw in _NOT:
            said = "not"
        elif raw in _DETERMINERS:
            determined = True
            continue
        elif raw in ("call", "calls") and determined:
            said = "thecall"
        else:
            said = stem(raw)
        determined = False
        if (
            found
            and found[-1].stem == "not"
            and (raw in _FILLERS or raw.endswith("ly"))
            and raw not in _NO_ADVERBS
        ):
            continue
        if said == "not" and found and found[-1].stem == "not":
            continue
        if raw == "longer" and found and found[-1].stem == "no":
            found[-1] = found[-1]._replace(stem="not")
            continue
        found.append(_Word(said, raw, one.start(), one.end()))
    return found


def facts_of(sentence: str) -> Iterator[Fact]:
    """Everything that a sentence says; a fact may come several times."""
    clause: list[_Word] = []
    subject: tuple[str, ...] = ()
    opening = True
    wished = False
    for word in [*_words(sentence), _Word(".", ".", 0, 0)]:
        ends = word.stem in _HARD
        if ends or word.stem in _TURN or word.stem in _WISHES:
            if clause and not wished:
                read = _Clause(sentence, clause, subject)
                yield from read.facts()
                subject = read.subject
            clause = []
            wished = word.stem in _WISHES or (wished and not ends and word.stem not in _TURN)
            if ends:
                subject, opening = (), True
            continue
        if opening and word.stem in _PROPOSALS:
            wished = True
        opening = False
        clause.append(word)


class _Clause:
    """Words between two ends of a clause, and what they say."""

    def __init__(self, sentence: str, words: list[_Word], subject: tuple[str, ...] = ()) -> None:
        self.sentence = sentence
        self.before = subject
        """What the clause before is about, for a clause that names nothing: "tool calls work but are lost ..."."""
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
        lexicon = _lexicon().phrases
        at = 0
        stems = [word.stem for word in self.words]
        while at < len(stems):
            for phrase, sorts in lexicon.get(stems[at], ()):
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
                    before[-1] in ("non", "no", "without", "disabl", "unary", "un")
                    or (before[-1] == "not" and not raw.endswith("ed"))
                )
                if off or {"fals", "off", "disabl"} & set(after):
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
        if left is not None and self._far(left.until, item.at) > _FAR:
            left = None
        if right is not None and self._far(item.until, right.at) > _NEAR:
            right = None
        if left is None or right is None:
            found = left or right
        else:
            before = self.words[max(item.at - 2, 0) : item.at]
            predicate = any(word.raw in _COPULA for word in before)
            gap = self._far(item.until, right.at)
            between = self.words[item.until : right.at]
            adjacent = gap <= 1
            away = self._far(left.until, item.at)
            if predicate:
                found = left
            elif (adjacent or gap < away) and not {word.raw for word in between} & _LINKS:
                found = right
            else:
                found = left
        return [] if found is None else [found, *self._joined(found)]

    def _joined(self, thing: _Item) -> Iterator[_Item]:
        place = self.things.index(thing)
        for other in self.things[max(place - 2, 0) : place + 3]:
            if other is thing:
                continue
            start, end = (other.until, thing.at) if other.until <= thing.at else (thing.until, other.at)
            between = {word.stem for word in self.words[start:end]}
            if end - start <= 3 and between & {"and", "or", "nor", "neither"}:
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
                    if self.words[place].stem in _DELIVERS
                ),
                None,
            )
            if verb is None:
                continue
            passive = at > 0 and self.words[at - 1].raw in _COPULA
            moves = self.words[verb].stem in _INTRANSITIVE
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
        """ "no answer", "without a tool call", "prose instead of a call"."""
        for at, word in enumerate(self.words):
            instead = word.stem in ("instead", "rather") and at + 1 < len(self.words)
            if word.stem not in _NO and not instead:
                continue
            start = at + 2 if instead else at + 1
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
        """ "X in Y", and "Y contains X"."""
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
                (at for at in range(place.at - 1, max(place.at - 5, -1), -1) if self.words[at].stem in _INTO),
                None,
            )
        )
        if "plain" in names and not own and into is None:
            into = place.at
        if into is None or any(
            word.stem in ("not", "instead") for word in self.words[max(into - 1, 0) : into]
        ):
            return
        if {word.raw for word in self.words[into + 1 : place.at]} & _STOPS:
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
            if self.words[at].stem not in _HOLDS:
                continue
            if any(word.stem in ("not", "no") for word in self.words[place.until : at + 3]):
                return
            thing = next(
                (one for one in self.things if one.at > at and self._far(at + 1, one.at) <= _NEAR), None
            )
            if thing is not None:
                for name in thing.named("things"):
                    for where in names:
                        if name != where:
                            yield self._fact(f"{name} in {where}", place.at, thing.until)
            return

    def _working(self) -> Iterator[Fact]:
        """ "works without streaming"."""
        said = {fact.name: item for item in self.items for fact in self._context(item)}
        if "works" in said:
            for name in ("unstreamed", "stream"):
                if name in said:
                    start = min(said[name].at, said["works"].at)
                    yield self._fact(f"{name} works", start, max(said[name].until, said["works"].until))
                    return

    def _alone(self) -> Iterator[Fact]:
        """ "only reasoning", "reasoning only", "nothing but thoughts"."""
        for thing in self.things:
            before = [word.stem for word in self.words[max(thing.at - 4, 0) : thing.at]]
            after = [word.stem for word in self.words[thing.until : thing.until + 1]]
            first = next(
                (at for at in range(max(thing.at - 4, 0), thing.at) if self.words[at].stem in _ONLY), thing.at
            )
            if _READS & set(before[-3:]):
                continue
            if _ONLY & set(before) or ("noth" in before and "but" in before) or _ONLY & set(after):
                for name in thing.named("things"):
                    yield self._fact(f"only {name}", thing.at if _ONLY & set(after) else first, thing.until)
