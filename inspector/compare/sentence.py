"""The sentence over a comparison, by rules: whose fault it looks like, and where it begins."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from inspector.audit import KINDS, Finding, Kind, Severity, Side
from inspector.audit.wording import loss_clauses
from inspector.audit.words import field_words, quote
from inspector.compare.causes import cause
from inspector.compare.comparison import ChoiceComparison, Divergence, Outcome
from inspector.compare.matching import FindingPairs
from inspector.compare.settings import Setting
from inspector.formats import listed
from inspector.harmony.text import text_of
from inspector.inspection import Inspection

__all__ = ["Judgement", "Pair", "judge", "labels"]

_SERVERS: Final = frozenset(kind for kind, info in KINDS.items() if info.side in {Side.TEXT, Side.ABORT})
"""Kinds that are a server's doing, whatever the model emitted."""

_MODELS: Final = frozenset(kind for kind, info in KINDS.items() if info.side is Side.MODEL)
_BROKEN_OFF: Final = frozenset({Kind.SERVER_ERROR, Kind.DISCONNECTED})

_BY_IDS: Final = "token ids on both sides"
_BY_FINALS: Final = "the final objects; without token ids, text that both lack cannot be seen"


class Judgement(NamedTuple):
    """What the comparison says."""

    outcome: Outcome
    sentence: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """All that the sentence is made from."""

    left: Inspection
    right: Inspection
    choices: Sequence[ChoiceComparison]
    findings: FindingPairs
    settings: Sequence[Setting]

    @property
    def by_token(self) -> bool:
        """True when both sides have ids."""
        return all(one.tokens is not None for one in self.choices)

    @property
    def apart(self) -> list[str]:
        """Fields that were delivered with other texts."""
        unequal = {pair.field for one in self.choices for pair in one.delivered if pair.equal is False}
        return [field_words(field) for field in sorted(unequal)]

    @property
    def shared(self) -> str:
        """What both servers did wrong."""
        return _clauses([one for one, _ in self.findings.both if one.severity is Severity.ERROR])


def labels(left: Inspection, right: Inspection) -> tuple[str, str]:
    """What to call the sides: their versions where these tell them apart."""
    mine, other = left.reading.server_version, right.reading.server_version
    if mine and other and mine != other:
        return mine, other
    return "the left server", "the right server"


def judge(pair: Pair) -> Judgement:
    """The outcome in words."""
    known = [one.same_generated for one in pair.choices]
    if None in known or (False in known and not pair.by_token):
        return _untold(pair, known)
    if False in known:
        return _gave_up(pair) or _other_tokens(pair)
    if pair.findings.equal and not pair.apart:
        return _same(pair)
    subject = "The tokens are the same" if pair.by_token else "The servers' final texts are the same"
    return Judgement(Outcome.DELIVERY, f"{subject}; {_who(pair)}.", _delivery_why(pair))


def _same(pair: Pair) -> Judgement:
    subject = "The tokens are the same" if pair.by_token else "The servers' final texts are the same"
    if not (pair.left.reading.spec.delivers and pair.right.reading.spec.delivers):
        return Judgement(
            Outcome.SAME, f"{subject}.", "A bare list of token ids holds no delivery to compare."
        )
    shared = f"; both {pair.shared}" if pair.shared else ""
    why = f"This rests on {_BY_IDS if pair.by_token else _BY_FINALS}."
    if shared and pair.left.reading.server_version != pair.right.reading.server_version:
        why = f"The version makes no difference here. {why}"
    return Judgement(Outcome.SAME, f"{subject}, and so is what was delivered{shared}.", why)


def _who(pair: Pair) -> str:
    """Who lost what; errors of one side only come first."""
    names = labels(pair.left, pair.right)
    mine, other = (_clauses(_faults(one)) for one in (pair.findings.errors_left, pair.findings.errors_right))
    if mine and other:
        return f"{names[0]} {mine}, and {names[1]} {other}"
    if mine or other:
        return f"only {names[0] if mine else names[1]} {mine or other}"
    if pair.apart:
        return (
            f"they were delivered differently in {listed(pair.apart)}, and nothing that was promised was lost"
        )
    alone = (*pair.findings.only_left, *pair.findings.only_right)
    return f"so are the delivered texts; only the findings differ ({_kinds(alone)})"


def _faults(errors: Sequence[Finding]) -> list[Finding]:
    """Errors without those that the model makes: equal tokens hold them on both sides, seen or unseen."""
    return [one for one in errors if one.kind not in _MODELS]


def _delivery_why(pair: Pair) -> str:
    endpoints = [one.reading.header.endpoint for one in (pair.left, pair.right)]
    if endpoints[0] is not endpoints[1]:
        return (
            f"The endpoints differ ({listed([str(one) for one in endpoints])}), and so do their fields: read "
            "the findings of each side."
        )
    mine, other = (_faults(one) for one in (pair.findings.errors_left, pair.findings.errors_right))
    if mine and other:
        what = "Each server has faults of its own."
    elif mine or other:
        what = "The model did the same on both sides, so the fault is the server's."
    else:
        what = "The servers treat the same tokens differently."
    if pair.shared:
        what += f" Both {pair.shared}."
    return f"{what} This rests on {_BY_IDS if pair.by_token else _BY_FINALS}."


def _gave_up(pair: Pair) -> Judgement | None:
    """Streams that agree until one server breaks off: its later tokens are unseen, not different."""
    place = next(one.divergence for one in pair.choices if one.divergence is not None)
    cut = [
        name
        for name, one in zip(labels(pair.left, pair.right), (pair.left, pair.right), strict=True)
        if _token(one, place) is None and any(finding.kind in _BROKEN_OFF for finding in one.findings)
    ]
    if len(cut) != 1 or sum(one.same_generated is False for one in pair.choices) != 1:
        return None
    why = f"What {cut[0]} would have sent from token {place.token:,} on is unseen, not different."
    alone = (*pair.findings.only_left, *pair.findings.only_right)
    refused = next((one for one in alone if one.kind in _MODELS), None)
    if refused is not None:
        why += f" On the other side the model breaks the format there: {refused.delivered}."
    else:
        why += f" {_delivery_why(pair)}"
    return Judgement(
        Outcome.DELIVERY,
        f"The tokens are the same up to token {place.token:,}, where {cut[0]} breaks off; {_who(pair)}.",
        why,
    )


def _other_tokens(pair: Pair) -> Judgement:
    place = next(one.divergence for one in pair.choices if one.divergence is not None)
    names = labels(pair.left, pair.right)
    errors = (pair.findings.errors_left, pair.findings.errors_right)
    faults = [
        f"{name} also {words}"
        for name, alone in zip(names, errors, strict=True)
        if (words := _clauses([one for one in alone if one.kind in _SERVERS]))
    ]
    sentence = "; ".join([_divergence_words(pair, place), *([listed(faults)] if faults else [])])
    why = [cause(pair.left.reading, pair.right.reading, pair.settings)]
    for name, one in zip(names, (pair.left, pair.right), strict=True):
        if any(finding.kind is Kind.COUNT_MISMATCH for finding in one.findings):
            why.append(f"By its count {name} did not send all token ids, so some may only be unseen.")
    return Judgement(Outcome.TOKENS, f"{sentence}.", " ".join(why))


def _divergence_words(pair: Pair, place: Divergence) -> str:
    left, right = (_token(one, place) for one in (pair.left, pair.right))
    where = f"token {place.token:,}" + (f" of choice {place.choice}" if place.choice else "")
    if left is None or right is None:
        short, long = ("left", "right") if left is None else ("right", "left")
        return (
            f"The tokens are the same, but the {short} stream ends before {where} and the {long} one goes on"
        )
    return f"The tokens differ from {where} on: {left} on the left, {right} on the right"


def _token(one: Inspection, place: Divergence) -> str | None:
    choice = next((choice for choice in one.reading.choices if choice.index == place.choice), None)
    if choice is None or place.token >= len(choice.tokens):
        return None
    token_id = choice.tokens.ids[place.token]
    return quote(text_of([token_id]) or str(token_id), 24)


def _untold(pair: Pair, known: Sequence[bool | None]) -> Judgement:
    unequal = [one.field for choice in pair.choices for one in choice.generated if one.equal is False]
    if len(pair.left.reading.choices) != len(pair.right.reading.choices):
        subject = "The two answers hold different numbers of choices"
    elif None in known or not unequal:
        subject = "Whether the tokens are the same cannot be told"
    else:
        fields = listed([field_words(field) for field in dict.fromkeys(unequal)])
        subject = f"The final texts differ in {fields}; whether by model or by server cannot be told"
    texts = (
        f"the delivered texts differ in {listed(pair.apart)}"
        if pair.apart
        else "the delivered texts are the same"
    )
    blind = {
        name: one.reading.engine
        for name, one in (("left", pair.left), ("right", pair.right))
        if not all(choice.has_ids for choice in one.reading.choices)
    }
    why = (
        f"The {' and the '.join(blind)} capture {'carries' if len(blind) == 1 else 'carry'} no token ids: "
        f"{'; '.join(dict.fromkeys(engine.ids_hint() for engine in blind.values()))} to know."
        if blind
        else "Compare answers of one request each."
    )
    return Judgement(Outcome.UNKNOWN, f"{subject}; {texts}.", why)


def _clauses(errors: Sequence[Finding]) -> str:
    """Errors as what a server did, e.g. `lost 2 tokens of the reasoning and broke off the connection`."""
    found = loss_clauses(errors)
    kinds = {one.kind for one in errors}
    if Kind.SERVER_ERROR in kinds:
        found.append("gave up with an error")
    if Kind.DISCONNECTED in kinds:
        found.append("broke off the connection")
    if errors and not found:
        found.append(f"failed with {_kinds(errors)}")
    return listed(found)


def _kinds(findings: Sequence[Finding]) -> str:
    return listed(sorted({str(one.kind).replace("_", " ") for one in findings}))
