"""The cause of a finding: its evidence, the confidence of the match, and what looks the same.

The confidence is that of the match on this stream, not of the catalogue's entry.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Final

from inspector.analysis.audit import KINDS, Code, Finding, FindingSide, Severity
from inspector.analysis.audit.facts import Missing, ServerRejection
from inspector.analysis.audit.kinds import OF_DELIVERY
from inspector.analysis.audit.verdict import Clause
from inspector.analysis.reading import Reading
from inspector.issues.catalogue.commands import runnable
from inspector.issues.catalogue.issue import Confidence, Issue, Side
from inspector.issues.catalogue.steps import Situation, beside, first_step, situation_of
from inspector.issues.ranking import Answer, Because, Reason, ranked
from inspector.protocol.engines import DEFAULT, Engine

_EVIDENCE: Final[Mapping[Because, int]] = {
    Because.TOKENS: 4,
    Because.MESSAGE: 3,
    Because.SUPPOSED: 2,
    Because.EXACT_FINDING: 3,
    Because.FINDING: 2,
    Because.OPEN_FINDING: 1,
    Because.PART_OF_MESSAGE: 1,
}
"""What can lead to an answer, by strength."""
_ASIDE: Final = frozenset({Because.RATE, Because.NOT_RATE, Because.HINT, Because.INSIDE})
_OF_A_MESSAGE: Final = frozenset(
    {
        Because.TOKENS,
        Because.SUPPOSED,
        Because.MESSAGE,
        Because.PART_OF_MESSAGE,
        Because.OPEN_FINDING,
        Because.INSIDE,
        Because.OUTSIDE,
    }
)
"""What one message of a capture shows: its tokens and the parser's words about them."""
_FINDINGS: Final = frozenset({Because.FINDING, Because.EXACT_FINDING})
_ONE_MESSAGE: Final = Reason(Because.ONE_MESSAGE, "nothing but one message speaks for it")
_DISPLACED: Final = frozenset({Code.CALL_INDEX_UNNAMED, Code.CALL_INDEX_OUT_OF_PLACE})
_ALTERNATIVES: Final = 2
_ORDER: Final = (Confidence.LOW, Confidence.MEDIUM, Confidence.HIGH)
SHOWN: Final = 3
"""Issues of one finding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """A cause that looks the same on this stream."""

    id: str
    sentence: str
    experiment: str
    """A command whose result tells it from the cause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """An issue of the catalogue named for a finding."""

    id: str
    title: str
    sentence: str
    """The issue, what else it may be, and the first step."""
    evidence: tuple[str, ...]
    """Each ends the sentence "This matches because ..."."""
    confidence: Confidence
    first_step: str
    alternatives: tuple[Alternative, ...] = ()


def cause_of(answers: Sequence[Answer], situation: Situation) -> Cause | None:
    """The first answer with what to do in a situation, or None."""
    if not answers:
        return None
    best = answers[0]
    alternatives = tuple(
        replace(alternative, experiment=runnable(alternative.experiment, model=situation.model))
        for alternative in _alternatives(best, answers[1:], situation.engine)
    )
    issue = best.issue
    sure = _confidence(best, alone=not alternatives)
    step = first_step(issue, situation)
    return Cause(
        id=issue.id,
        title=issue.title,
        sentence=_sentence(issue, step, sure, alternatives),
        evidence=tuple(reason.words for reason in best.reasons),
        confidence=sure,
        first_step=step,
        alternatives=alternatives,
    )


def leading(
    findings: Sequence[Finding], answers: Sequence[Sequence[Answer]], clauses: Sequence[Clause]
) -> int | None:
    """The place of the first finding with an answer, of the verdict's first clause that has such a finding.

    All that gives advice for a capture begins with this: verdict, report and diagnosis.
    """
    places = {id(finding): place for place, finding in enumerate(findings) if answers[place]}
    about = (places.get(id(finding)) for clause in clauses for finding in clause.findings)
    return next((place for place in about if place is not None), None)


def situation_among(answers: Sequence[Answer], findings: Sequence[Finding], reading: Reading) -> Situation:
    """The situation of several answers: the first one decides the release."""
    situation = replace(situation_of(reading), answered=_answered(findings, reading))
    return beside(answers[0].issue, situation) if answers else situation


def _answered(findings: Sequence[Finding], reading: Reading) -> bool | None:
    """Whether the client got an answer or a call, and nothing was lost; None where that cannot be known."""
    arrived = [choice.delivered() for choice in reading.choices]
    lost = any(
        finding.kind in OF_DELIVERY
        or (isinstance(finding.facts, ServerRejection) and finding.facts.missing is not Missing.NONE)
        for finding in findings
    )
    if lost or not all(texts.content or texts.tool_calls for texts in arrived):
        return False
    return True if all(choice.has_ids for choice in reading.choices) else None


def server_lost(findings: Sequence[Finding], reading: Reading) -> bool:
    """Whether token IDs show that the server delivered other text than was generated."""
    ids = {choice.index for choice in reading.choices if choice.has_ids}
    return any(KINDS[finding.kind].side is FindingSide.TEXT and finding.choice in ids for finding in findings)


def together(
    findings: Sequence[Finding], answers: Sequence[Sequence[Answer]], first: int | None, engine: Engine
) -> list[Answer]:
    """The answers to all findings: the verdict's first, then those that explain more findings."""
    settled = [_settled(ranked_answers[:SHOWN], engine) for ranked_answers in answers]
    leader = None if first is None else settled[first][0]
    best: dict[str, Answer] = {}
    explained: dict[str, int] = {}
    errors: set[str] = set()
    for finding, settled_answers in zip(findings, settled, strict=True):
        if finding.severity is Severity.ERROR:
            errors |= {answer.issue.id for answer in settled_answers}
        for answer in settled_answers:
            name = answer.issue.id
            explained[name] = explained.get(name, 0) + 1
            if name not in best or answer.weight > best[name].weight:
                best[name] = answer
    if leader is not None:
        best[leader.issue.id] = leader
    return sorted(
        best.values(),
        key=lambda answer: (
            answer is not leader,
            answer.issue.id not in errors,
            -answer.weight,
            -explained[answer.issue.id],
        ),
    )


def over_all_findings(
    findings: Sequence[Finding], by_finding: Sequence[Sequence[Answer]]
) -> list[list[Answer]]:
    """The answers to each finding, in the light of the other findings."""
    displaced = next(
        (
            answers
            for finding, answers in zip(findings, by_finding, strict=True)
            if finding.code in _DISPLACED
        ),
        (),
    )
    moved = {answer.issue.id for answer in displaced}
    by_field = _of_fields(findings, by_finding)
    by_finding = [
        by_field.get((finding.choice, finding.field), answers)
        if finding.code is Code.ARGUMENTS_BROKEN
        else ranked([*displaced, *(answer for answer in answers if answer.issue.id not in moved)])
        if finding.code is Code.ARGUMENTS_INVALID_ORIGIN_UNKNOWN
        else answers
        for finding, answers in zip(findings, by_finding, strict=True)
    ]
    choices: dict[str, set[int]] = {}
    for finding, answers in zip(findings, by_finding, strict=True):
        for answer in answers:
            choices.setdefault(answer.issue.id, set()).add(finding.choice)
    rejected = (finding for finding in reversed(findings) if KINDS[finding.kind].side is FindingSide.MODEL)
    malformed_at = {finding.choice: finding.token_start or 0 for finding in rejected}
    settled = []
    for finding, answers in zip(findings, by_finding, strict=True):
        at = malformed_at.get(finding.choice)
        malformed = at is not None and (finding.token_start is None or finding.token_start >= at)
        from_one_message = _OF_A_MESSAGE | _FINDINGS if malformed else _OF_A_MESSAGE
        doubted = [
            replace(answer, reasons=(*answer.reasons, _ONE_MESSAGE))
            if answer.issue.accuses
            and len(choices[answer.issue.id]) == 1
            and {reason.because for reason in answer.reasons} <= from_one_message
            else answer
            for answer in answers
        ]
        any_other = any(_ONE_MESSAGE not in answer.reasons for answer in doubted)
        settled.append(ranked(doubted) if any_other else [])
    return settled


def _of_fields(
    findings: Sequence[Finding], by_finding: Sequence[Sequence[Answer]]
) -> Mapping[tuple[int, str | None], Sequence[Answer]]:
    """By choice and field, the answers to the first finding about its text, which explain what follows."""
    by_field: dict[tuple[int, str | None], Sequence[Answer]] = {}
    for finding, answers in zip(findings, by_finding, strict=True):
        if answers and KINDS[finding.kind].side is FindingSide.TEXT:
            for field in (finding.field, finding.delivered_in):
                by_field.setdefault((finding.choice, field), answers)
    return by_field


def _settled(answers: Sequence[Answer], engine: Engine) -> list[Answer]:
    """The answers to one finding with the confidence of their match, less behind the first."""
    if not answers:
        return []
    first = _confidence(answers[0], alone=not _alternatives(answers[0], answers[1:], engine))
    below = Confidence.MEDIUM if first is Confidence.HIGH else Confidence.LOW
    rest = [
        replace(answer, sure=min(below, _confidence(answer, alone=True), key=_ORDER.index))
        for answer in answers[1:]
    ]
    return [replace(answers[0], sure=first), *rest]


def _sentence(issue: Issue, step: str, sure: Confidence, alternatives: Sequence[Alternative]) -> str:
    if not alternatives:
        opening = "Looks like" if sure is Confidence.LOW else "Known issue"
        return f"{opening}: {issue.title}. {step}"
    alternative = alternatives[0]
    experiment = f"To tell them apart: `{alternative.experiment}`"
    return f"Looks like: {issue.title}. {step} Or: {alternative.sentence} {experiment}"


def _strength(answer: Answer) -> int:
    return max((_EVIDENCE.get(reason.because, 0) for reason in answer.reasons), default=0)


def _confidence(best: Answer, *, alone: bool) -> Confidence:
    kinds = {reason.because for reason in best.reasons}
    strength = _strength(best)
    released = best.issue.sides[0] is Side.SERVER and DEFAULT.program in best.issue.affected
    if Because.ONE_MESSAGE in kinds:
        return Confidence.LOW
    if best.issue.general or (Because.OUTSIDE in kinds and Because.TOKENS not in kinds):
        open_release = Because.EXACT_FINDING in kinds and released and Because.INSIDE not in kinds
        sure = Confidence.MEDIUM if strength >= 2 and not open_release else Confidence.LOW
    elif strength >= 3:
        sure = Confidence.HIGH
    elif strength == 2:
        sure = Confidence.MEDIUM if not released or Because.INSIDE in kinds else Confidence.LOW
    else:
        sure = Confidence.LOW
    if alone:
        return sure
    return Confidence.MEDIUM if sure is Confidence.HIGH else Confidence.LOW


def _alternatives(best: Answer, answers: Sequence[Answer], engine: Engine) -> list[Alternative]:
    """Answers that rest on the same evidence, where an experiment tells them from the best."""
    alternatives: list[Alternative] = []
    kinds = _kinds(best)
    for answer in answers:
        if _kinds(answer) != kinds:
            continue
        if answer.issue.general and not best.issue.general:
            continue
        experiment = _experiment(best, answer, engine)
        if experiment:
            alternatives.append(
                Alternative(id=answer.issue.id, sentence=f"{answer.issue.title}.", experiment=experiment)
            )
    return alternatives[:_ALTERNATIVES]


def _kinds(answer: Answer) -> Set[Because]:
    """What an answer rests on, without what does not tell equal ones apart."""
    kinds = {reason.because for reason in answer.reasons} - _ASIDE
    # By the same message: then the tokens before it were not sent, and which they were is supposed.
    return kinds - {Because.SUPPOSED, Because.PART_OF_MESSAGE} if Because.MESSAGE in kinds else kinds


def _experiment(first: Answer, second: Answer, engine: Engine) -> str:
    """A command that separates two answers: the release where it tells, else what the catalogue knows."""
    released = {Because.INSIDE, Because.OUTSIDE}
    decided = any(reason.because in released for reason in (*first.reasons, *second.reasons))
    texts = [
        answer.issue.affected[engine.program].text
        for answer in (first, second)
        if engine.program in answer.issue.affected
    ]
    if not decided and len(set(texts)) == 2:
        releases = f"{texts[0]} means the first, {texts[1]} the second"
        return f"curl -s http://localhost:8000{engine.version_path}  # {releases}"
    return second.issue.experiment or first.issue.experiment
