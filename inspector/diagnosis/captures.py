"""A capture's findings to known issues: ids for each finding, and ranked answers for the whole."""

import dataclasses
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from inspector.audit import KINDS, Finding, Kind, Side, explain
from inspector.diagnosis.catalogue import catalogue
from inspector.diagnosis.forms import Evidence, Place, finding_holds, request_holds, token_places
from inspector.diagnosis.issue import Issue
from inspector.diagnosis.judges import Judgement, judgements
from inspector.diagnosis.ranking import Answer, Because, Reason, ranked, sides, version_reason
from inspector.diagnosis.result import Diagnosis, Failure, sentence
from inspector.diagnosis.scan import VersionSeen
from inspector.reading import Reading

__all__ = [
    "answers_of_capture",
    "answers_of_findings",
    "diagnose_capture",
    "match_findings",
    "with_known_issues",
]

_SHOWN: Final = 3
"""Known issues named for one finding."""
_LOOK_BACK: Final = 8
"""Places before a finding that are looked at; several forms of an issue may stand close together."""
_REFUSALS: Final = frozenset(kind for kind, info in KINDS.items() if info.side is Side.MODEL)
_WORDS: Final = _REFUSALS | {Kind.SERVER_ERROR}
"""Kinds whose `delivered` holds the parser's or the server's own words."""
_BY_TOKENS: Final = _REFUSALS | {Kind.UNSERVED, Kind.TRUNCATED, Kind.GARBLED, Kind.DISCONNECTED}
"""Kinds that a token form alone can explain."""


def match_findings(
    findings: Sequence[Finding], reading: Reading, issues: Sequence[Issue] | None = None
) -> list[tuple[str, ...]]:
    """Ids of known issues for each finding, best first, at most three each."""
    return [
        tuple(answer.issue.id for answer in answers[:_SHOWN])
        for answers in answers_of_findings(findings, reading, issues)
    ]


def with_known_issues(findings: Sequence[Finding], reading: Reading) -> list[Finding]:
    """The findings with their `known_issues` filled in."""
    return [
        dataclasses.replace(finding, known_issues=ids)
        for finding, ids in zip(findings, match_findings(findings, reading), strict=True)
    ]


def answers_of_findings(
    findings: Sequence[Finding], reading: Reading, issues: Sequence[Issue] | None = None
) -> list[list[Answer]]:
    """Ranked answers for each finding."""
    if not findings:
        return []
    by_choice = {choice.index: Evidence(reading, choice) for choice in reading.choices}
    known = _candidates(catalogue() if issues is None else issues, reading, list(by_choice.values()))
    found: list[list[Answer]] = []
    for finding in findings:
        evidence = by_choice.get(finding.choice, by_choice[reading.choice.index])
        answers = (_answer(one, finding, evidence) for one in known if finding.kind in one.kinds)
        found.append(ranked(answer for answer in answers if answer is not None))
    return found


def answers_of_capture(
    findings: Sequence[Finding], reading: Reading, issues: Sequence[Issue] | None = None
) -> list[Answer]:
    """Ranked answers for a capture as a whole; of equal ones the one that explains more findings is first."""
    return _together(answers_of_findings(findings, reading, issues))


def _together(found: Sequence[Sequence[Answer]]) -> list[Answer]:
    best: dict[str, Answer] = {}
    explained: dict[str, int] = {}
    for answers in found:
        for answer in answers[:_SHOWN]:
            name = answer.issue.id
            explained[name] = explained.get(name, 0) + 1
            if name not in best or answer.weight > best[name].weight:
                best[name] = answer
    return sorted(best.values(), key=lambda answer: (-answer.weight, -explained[answer.issue.id]))


def diagnose_capture(findings: Sequence[Finding], reading: Reading) -> Diagnosis:
    """The findings of a capture as a diagnosis: a failure each, ranked answers over all."""
    found = answers_of_findings(findings, reading)
    failures = tuple(
        Failure(message=explain(finding), count=1, answers=tuple(answers[:_SHOWN]))
        for finding, answers in zip(findings, found, strict=True)
    )
    answers = tuple(_together(found))
    version = reading.server_version
    return Diagnosis(
        sentence=sentence(answers, failures),
        sides=sides(answers),
        answers=answers,
        failures=failures,
        version=version,
        server=reading.engine.label,
        versions=(VersionSeen(version, "the capture", 0),) if version else (),
        judges=_judges(findings, reading),
    )


@dataclass(frozen=True, slots=True)
class _Candidate:
    """An issue that the endpoint and the request allow, with what is the same for all findings."""

    issue: Issue
    kinds: frozenset[Kind]
    """Kinds of finding that it can explain at all."""
    places: Mapping[int, Sequence[Place]]
    """Where its token forms hold, by choice."""
    version: Reason | None
    asked: Reason | None


def _candidates(known: Sequence[Issue], reading: Reading, by_choice: Sequence[Evidence]) -> list[_Candidate]:
    found = []
    for issue in known:
        if issue.endpoints and reading.header.endpoint not in issue.endpoints:
            continue
        if issue.engines and reading.engine.name not in issue.engines:
            continue
        asked = request_holds(issue, reading.header.request)
        if asked is False:
            continue
        words = ", ".join(f"{key} {wanted}" for key, wanted in issue.request.items())
        places = {one.choice.index: token_places(issue, one) for one in by_choice} if issue.tokens else {}
        candidate = _Candidate(
            issue=issue,
            kinds=_kinds(issue, any(places.values())),
            places=places,
            version=version_reason(issue, reading.server_version, engine=reading.engine),
            asked=Reason(Because.REQUEST, f"the request has {words}") if asked else None,
        )
        if candidate.kinds:
            found.append(candidate)
    return found


def _kinds(issue: Issue, shown: bool) -> frozenset[Kind]:
    """Kinds that an issue can explain; `shown` where its token form holds somewhere."""
    kinds = frozenset[Kind]().union(*(form.kinds for form in issue.findings))
    if shown and not issue.findings:
        kinds |= _BY_TOKENS
    return kinds | _WORDS if shown or issue.patterns or issue.may_match else kinds


def _judges(findings: Sequence[Finding], reading: Reading) -> tuple[Judgement, ...]:
    refused = {finding.choice for finding in findings if finding.kind in _REFUSALS}
    choice = next((one for one in reading.choices if one.index in refused), None)
    return () if choice is None else judgements(choice.tokens.ids)


def _answer(one: _Candidate, finding: Finding, evidence: Evidence) -> Answer | None:
    near = _near(one.places.get(evidence.choice.index, ()), finding, evidence)
    reasons = _reasons(one.issue, finding, evidence, near)
    if not reasons:
        return None
    outside = one.version is not None and one.version.because is Because.OUTSIDE
    if one.version is not None and not (outside and finding.kind in _REFUSALS and finding.sent):
        # A refusal is our own judge's word; whether the server raises for it says nothing about the cause.
        if outside and Because.TOKENS not in {reason.because for reason in reasons}:
            return None
        reasons.append(one.version)
    if one.asked is not None:
        reasons.append(one.asked)
    return Answer(issue=one.issue, reasons=tuple(reasons))


def _reasons(issue: Issue, finding: Finding, evidence: Evidence, near: Place | None) -> list[Reason]:
    reasons: list[Reason] = []
    by_ids = finding.kind in _REFUSALS and bool(evidence.ids) and evidence.has_all(finding)
    if any(finding_holds(form, finding, evidence) for form in issue.findings):
        reasons.append(Reason(Because.FINDING, f"the finding {finding.kind.replace('_', ' ')} fits it"))
    elif issue.findings and finding.kind not in _WORDS:
        return []
    if near is not None and finding.kind in _BY_TOKENS:
        reasons.append(Reason(Because.TOKENS, near.words))
    elif by_ids and not issue.patterns:
        return reasons
    elif by_ids and issue.tokens:
        return []  # the ids are known and have another form: the words alone would mislead
    if finding.kind in _WORDS:
        words = finding.delivered or ""
        for patterns, because in (
            (issue.patterns, Because.MESSAGE),
            (issue.may_match, Because.PART_OF_MESSAGE),
        ):
            if any(pattern.expression.search(words) for pattern in patterns):
                reasons.append(Reason(because, f"the message is “{words}”"))
                break
    return reasons


def _near(places: Sequence[Place], finding: Finding, evidence: Evidence) -> Place | None:
    """Where a token form stands at a finding, or next to it; a broken connection is at what broke it."""
    if finding.kind is Kind.DISCONNECTED:
        refused = [one.at for one in evidence.choice.transcript.refusals[:1]]
        refused.append(len(evidence.ids) - 1)
        return next((place for place in places if any(place.start <= at < place.end for at in refused)), None)
    if finding.token_start is None or finding.token_end is None:
        return None
    after = bisect_right(places, finding.token_end, key=lambda place: place.start)
    # Forms are short, but for whole messages and headers; those of one form do not overlap.
    close = places[max(after - _LOOK_BACK, 0) : after]
    return next((place for place in close if finding.token_start <= place.end), None)
