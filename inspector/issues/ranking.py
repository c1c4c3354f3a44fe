"""Answers: issues with the reasons that lead to them, best first, by the weights in one table.

Rules of thumb behind the weights: the text or the tokens of an issue come first, then what was asked,
then the version; a general entry yields to a precise one; between entries that make the same text the
likelier one wins unless a hint, a rate, a version or the tokens support another.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from inspector.capture.formats import listed
from inspector.issues.catalogue.issue import Confidence, Issue, RequestSetting, Side
from inspector.issues.catalogue.release_bounds import Bounds
from inspector.issues.catalogue.versions import as_version
from inspector.protocol.engines import DEFAULT, ENGINES, UNKNOWN, Engine


class Because(StrEnum):
    """What an answer rests on."""

    MESSAGE = "message"
    PART_OF_MESSAGE = "message of several issues"
    TOKENS = "tokens"
    SUPPOSED = "tokens that were not sent"
    """Tokens that the format puts before the rejected one, in the place of those that were not sent."""
    FINDING = "finding"
    EXACT_FINDING = "finding by code or message"
    OPEN_FINDING = "finding that several causes have"
    """What was delivered, where nothing tells whether the model wrote it so."""
    REQUEST = "request"
    BEGINNING = "beginning of the message"
    HINT = "hint"
    ENDPOINT = "endpoint against"
    RATE = "rate"
    NOT_RATE = "rate against"
    INSIDE = "version"
    OUTSIDE = "version against"
    ONE_MESSAGE = "one message against"
    """An entry that accuses, and nothing but one message leads to it."""


_WEIGHTS: Final = {
    Because.MESSAGE: 40,
    Because.TOKENS: 40,
    Because.EXACT_FINDING: 40,
    Because.FINDING: 30,
    Because.OPEN_FINDING: 30,
    Because.SUPPOSED: 30,
    Because.RATE: 20,
    Because.REQUEST: 15,
    Because.HINT: 14,
    Because.PART_OF_MESSAGE: 12,
    Because.BEGINNING: 12,
    Because.INSIDE: 8,
    Because.NOT_RATE: -10,
    Because.ENDPOINT: -20,
    Because.OUTSIDE: -30,
    Because.ONE_MESSAGE: -100,
}
_GENERAL: Final = -25
_ASKED_FOR: Final = 30
"""More for a request that is known to make what the tokens show."""
_ALL_THAT_IS_KNOWN: Final = 25
"""More for what a request asks for where the tokens before the rejected one were not sent."""
_LESS_LIKELY: Final = -6
"""For each entry that shares the text and is likelier."""
_SUPPORT: Final = frozenset({Because.TOKENS, Because.REQUEST, Because.HINT, Because.RATE, Because.INSIDE})
"""What tells entries of one text apart."""
_AGAINST: Final = frozenset({Because.NOT_RATE, Because.ENDPOINT, Because.OUTSIDE, Because.ONE_MESSAGE})
_OPEN: Final = Bounds()
_CONFIDENCE: Final = {Confidence.HIGH: 2, Confidence.MEDIUM: 1, Confidence.LOW: 0}


@dataclass(frozen=True, slots=True)
class Reason:
    """Evidence for or against a match."""

    because: Because
    words: str
    """Ends the sentence "This matches because ..."."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One issue that may explain a failure."""

    issue: Issue
    reasons: tuple[Reason, ...]
    contested: bool = False
    """Other entries make the same text."""
    sure: Confidence | None = None
    """How sure the match is among the answers to one finding; None where no finding leads here."""

    @property
    def match(self) -> Confidence:
        """How sure it is that this entry is what happened here; `issue.confidence` is of the entry itself."""
        if self.sure is not None:
            return self.sure
        kinds = {reason.because for reason in self.reasons}
        if kinds & _AGAINST:
            return Confidence.LOW
        if Because.TOKENS in kinds:
            return Confidence.HIGH
        supported = bool(kinds & _SUPPORT)
        if kinds & {Because.MESSAGE, Because.EXACT_FINDING}:
            return Confidence.HIGH if supported or not self.contested else Confidence.MEDIUM
        if kinds & {Because.FINDING, Because.PART_OF_MESSAGE}:
            return Confidence.MEDIUM if supported else Confidence.LOW
        return Confidence.LOW

    @property
    def weight(self) -> float:
        """The sum of the evidence; only comparable between answers to the same failure."""
        kinds = {reason.because for reason in self.reasons}
        weight = sum(_WEIGHTS[kind] for kind in kinds)
        if sum(reason.because is Because.HINT for reason in self.reasons) > 1:
            weight += _WEIGHTS[Because.HINT]
        if Because.OUTSIDE in kinds and Because.TOKENS in kinds:
            # The tokens are there whatever the server's release makes of them.
            weight -= _WEIGHTS[Because.OUTSIDE]
        direct = {Because.TOKENS, Because.SUPPOSED, Because.MESSAGE, Because.PART_OF_MESSAGE}
        if Because.REQUEST in kinds and kinds & direct and not self.issue.general:
            weight += _ASKED_FOR
            if Because.TOKENS not in kinds and RequestSetting.SET in self.issue.request.values():
                weight += _ALL_THAT_IS_KNOWN
        if self.issue.general:
            weight += _GENERAL
            if {Because.TOKENS, Because.MESSAGE} <= kinds:  # the same evidence twice
                weight -= _WEIGHTS[Because.MESSAGE]
        weight += _LESS_LIKELY * len(self.issue.shares_text_with)
        return weight + _CONFIDENCE[self.issue.confidence]


def ranked(answers: Iterable[Answer]) -> list[Answer]:
    """Best first; what weighs the same stays in the order of the catalogue."""
    return sorted(answers, key=lambda answer: -answer.weight)


def of_rejection(answers: Sequence[Answer], rejected: Sequence[Answer]) -> list[Answer]:
    """Answers to a parser's error: those to what it rejected, whose tokens decide; its words alone do not."""
    named = {answer.issue.id for answer in rejected}
    by_form = [
        answer
        for answer in answers
        if answer.issue.id not in named
        and not {Because.FINDING, Because.EXACT_FINDING}.isdisjoint(
            reason.because for reason in answer.reasons
        )
    ]
    return ranked([*rejected, *by_form]) if rejected else list(answers)


def sides(answers: Sequence[Answer], *, raw: bool = False) -> tuple[Side, ...]:
    """The sides at fault: those of the best answer, likeliest first.

    On a `raw` endpoint, whose output no server parses, another one than its parser, if there is one.
    """
    at_fault = answers[0].issue.sides if answers else ()
    besides_server = tuple(side for side in at_fault if side is not Side.SERVER)
    return besides_server if raw and besides_server else at_fault


def possible_on(issue: Issue, engine: Engine) -> bool:
    """Whether a server can have an issue: one of server code is that of the servers that it names."""
    if issue.engines:
        return engine.name in issue.engines
    of_parser = issue.sides[0] is Side.SERVER
    return not of_parser or engine.may_be_among(issue.affected.keys() or {DEFAULT.program})


def version_reason(
    issue: Issue,
    version: str | None,
    source: str = "",
    engine: Engine | None = None,
    bounds: Bounds = _OPEN,
) -> Reason | None:
    """Whether the server and its version support an issue or count against it; None if neither.

    Without `engine` the default is meant, and an issue of another one is not ruled out. `bounds` are those of
    a release that is not known.
    """
    server = DEFAULT if engine is None else engine
    affected = issue.affected.get(server.program)
    labels = [
        affected_engine.label for affected_engine in ENGINES if affected_engine.program in issue.affected
    ]
    named = engine is not None and engine is not UNKNOWN and engine.may_be.isdisjoint(issue.affected)
    if affected is None and labels and named:
        return Reason(Because.OUTSIDE, f"it is an issue of {listed(labels)}, and this is {server.label}")
    if affected is None:
        return None
    if version is None or as_version(version) is None:
        inside, release = bounds.within(affected), f"{server.label} {bounds.words} (according to the stream)"
    else:
        inside = version in affected
        release = f"{server.labelled(version)}{f' ({source})' if source else ''}"
    if inside is None:
        return None
    if inside:
        return Reason(Because.INSIDE, f"{release} is inside the affected versions {affected.text}")
    return Reason(Because.OUTSIDE, f"{release} is outside the affected versions {affected.text}")
