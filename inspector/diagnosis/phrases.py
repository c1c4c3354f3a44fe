"""Words of a sentence without their inflections, and the phrases of `concepts.yaml` by their first word."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from inspector.diagnosis.safe_yaml import read_yaml

__all__ = ["DEFAULT_FILE", "Lexicon", "Sort", "Word", "grammar", "lexicon", "stem", "verbs", "words_of"]

DEFAULT_FILE: Final = Path(__file__).with_name("concepts.yaml")

_WORD: Final = re.compile(
    r"<\|[\w ]{1,20}\|>|\bto=functions[\w.]*"
    r"|[a-z0-9]+(?:\.[0-9]+)*(?:['’][a-z]+)?"
    r"|\[done\]|\[\s{0,3}\]|''|\"\"|!{4,}|\.(?![a-z0-9])|[,;:!?()\n—=]",
    re.IGNORECASE,
)
_SIGNS: Final = {"[done]": "done", "''": "empty", '""': "empty"}


class Sort(NamedTuple):
    """A concept and what kind of one it is."""

    kind: str
    """`things`, `states`, `contexts` or `others`."""
    name: str


class Word(NamedTuple):
    """A word of a sentence, or a sign that ends a clause."""

    stem: str
    """The same for all inflections; every negation is `not`, every marker `<marker>`."""
    raw: str
    """In lower case."""
    start: int
    end: int
    """Half-open place in the sentence."""


@dataclass(frozen=True, slots=True)
class Lexicon:
    """What `concepts.yaml` says."""

    phrases: Mapping[str, tuple[tuple[tuple[str, ...], tuple[Sort, ...]], ...]]
    """Phrases as stems with what they mean, by their first stem, the longest first."""
    names: Mapping[str, frozenset[str]]
    """Names of the concepts by kind."""


_OWN: Final = {
    ("<marker>",): [Sort("things", "marker")],
    ("<list>",): [Sort("states", "emptied"), Sort("contexts", "emptylist")],
}
"""Phrases that are no words: a special token, and an empty list."""


_KINDS: Final = ("things", "states", "contexts", "others")
_VOWEL: Final = re.compile("[aeiouy]")


@cache
def _loaded() -> Mapping[str, Mapping[str, str]]:
    loaded: Mapping[str, Mapping[str, str]] = read_yaml(DEFAULT_FILE.read_text(encoding="utf-8"))
    return loaded


@cache
def grammar(name: str) -> frozenset[str]:
    """A group of words as they are written."""
    return frozenset(_loaded()["words"][name].replace(",", " ").split())


@cache
def verbs(name: str) -> frozenset[str]:
    """A group of words without their inflections."""
    return frozenset(stem(word) for word in _loaded()["inflected"][name].replace(",", " ").split())


@cache
def lexicon() -> Lexicon:
    """The phrases of `concepts.yaml`."""
    known: dict[tuple[str, ...], list[Sort]] = {words: list(sorts) for words, sorts in _OWN.items()}
    names = {
        kind: {one.name for sorts in _OWN.values() for one in sorts if one.kind == kind} for kind in _KINDS
    }
    for kind in _KINDS:
        for name, phrases in _loaded()[kind].items():
            names[kind].add(name)
            for phrase in phrases.split(","):
                words = tuple(word.stem for word in words_of(phrase))
                known.setdefault(words, []).append(Sort(kind, name))
    by_first: dict[str, list[tuple[tuple[str, ...], tuple[Sort, ...]]]] = {}
    for words, sorts in known.items():
        by_first.setdefault(words[0], []).append((words, tuple(dict.fromkeys(sorts))))
    return Lexicon(
        {first: tuple(sorted(some, key=lambda one: -len(one[0]))) for first, some in by_first.items()},
        {kind: frozenset(some) for kind, some in names.items()},
    )


def stem(word: str) -> str:
    """A word without its inflection; the same for all forms of a word, and no word itself."""
    word = word.lower().replace("’", "'").removesuffix("'s")
    if word in grammar("as they are"):
        return word
    word = _irregular().get(word, word)
    if len(word) > 4 and word.endswith("ies"):
        word = word[:-3] + "y"
    elif len(word) > 4 and word.endswith(("sses", "shes", "ches", "xes", "zes")):
        word = word[:-2]
    elif len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        root = word.removesuffix(ending)
        if root != word and len(root) > 2 and _VOWEL.search(root):
            doubled = root[-1] == root[-2] and root[-1] not in "lsz"
            word = root[:-1] if doubled else root
            break
    return word.removesuffix("e") if len(word) > 3 else word


@cache
def _irregular() -> Mapping[str, str]:
    return {
        form: word
        for word, forms in _loaded()["irregular"].items()
        for form in forms.replace(",", " ").split()
    }


def words_of(sentence: str) -> list[Word]:
    """Words, special tokens and the signs that end a clause, without articles and what follows a negation."""
    found: list[Word] = []
    determined = False
    for one in _WORD.finditer(sentence.replace("_", " ")):
        raw = one[0].lower().replace("’", "'")
        last = found[-1] if found else None
        if raw in grammar("determiners"):
            determined = True
            continue
        said = _meant(raw, noun=determined or (last is not None and last.raw in grammar("counts")))
        determined = False
        if last is not None and last.stem == "not" and (said == "not" or _fills(raw)):
            continue
        if last is not None and last.stem == "no" and raw == "longer":
            found[-1] = last._replace(stem="not")
            continue
        if last is not None and last.raw == "nothing" and raw == "but":
            found[-1] = Word("only", "only", last.start, one.end())
            continue
        found.append(Word(said, raw, one.start(), one.end()))
    return found


def _meant(raw: str, *, noun: bool) -> str:
    if raw.startswith(("<|", "to=")):
        return "<marker>"
    if raw.startswith("[") and raw not in _SIGNS:
        return "<list>"
    if raw.startswith("!!!!"):
        return "exclamation"
    if raw.endswith("n't") or raw in grammar("not"):
        return "not"
    if noun and raw in ("call", "calls"):
        return "thecall"
    return _SIGNS.get(raw) or stem(raw)


def _fills(raw: str) -> bool:
    """Whether a word may stand between a negation and its verb."""
    return raw in grammar("fillers") or (raw.endswith("ly") and raw not in grammar("no adverbs"))
