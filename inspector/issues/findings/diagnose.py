"""A capture's findings to known issues: ids for each finding, and ranked answers for the whole."""

import dataclasses
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Final, NamedTuple

from inspector.analysis.audit import (
    KINDS,
    Finding,
    FindingSide,
    Kind,
    Transmission,
    explain,
    kinds_of,
    transmission_of,
)
from inspector.analysis.audit.missing_ids import evidence_hint
from inspector.analysis.audit.verdict import Clause, Level, Verdict, verdict
from inspector.analysis.reading import Reading
from inspector.capture.capture import Endpoint
from inspector.issues.advice import Advice, advice_on
from inspector.issues.catalogue.evidence import FormFacts
from inspector.issues.catalogue.issue import Issue
from inspector.issues.catalogue.issue import Side as IssueSide
from inspector.issues.catalogue.release_bounds import Bounds, release_bounds
from inspector.issues.catalogue.steps import Situation
from inspector.issues.catalogue.table import catalogue
from inspector.issues.catalogue.versions import ReportedVersion
from inspector.issues.diagnosis import Diagnosis, Failure, sentence
from inspector.issues.findings.cause import (
    SHOWN,
    Cause,
    cause_of,
    leading,
    over_all_findings,
    server_lost,
    situation_among,
    together,
)
from inspector.issues.findings.delivered import Delivered
from inspector.issues.findings.forms import (
    FormMatch,
    finding_holds,
    reported_words,
    request_holds,
    token_places,
)
from inspector.issues.ranking import (
    Answer,
    Because,
    Reason,
    of_rejection,
    possible_on,
    ranked,
    sides,
    version_reason,
)
from inspector.issues.reference_parsers import ParserResult, parser_results
from inspector.protocol.harmony.parser_errors import parser_error
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.violations import BETWEEN, Violation

_LOOK_BACK: Final = 8
"""Places before a finding that are compared with it; several forms of an issue may be close together."""
_REJECTIONS: Final = kinds_of(FindingSide.MODEL)
_WORDS: Final = _REJECTIONS | {Kind.SERVER_ERROR}
"""Kinds whose `delivered` is the message of the parser or the server."""
_BY_FINAL: Final = frozenset(
    {
        Kind.MISROUTED,
        Kind.DROPPED,
        Kind.GARBLED,
        Kind.COUNT_MISMATCH,
        Kind.UNSERVED,
        Kind.PROTOCOL,
        Kind.NO_ANSWER,
    }
)
"""Kinds that a header in the final object of Responses can explain."""
_SERVERS: Final = kinds_of(FindingSide.TEXT, FindingSide.ABORT) | {Kind.SERVER_ERROR}
"""Kinds that are about what the server did."""
_BY_TOKENS: Final = _REJECTIONS | {
    Kind.UNSERVED,
    Kind.TRUNCATED,
    Kind.DISCONNECTED,
    Kind.SPECIAL_TOKEN_IN_BODY,
}
"""Kinds that a token form alone can explain."""
_OF_HEADERS: Final = frozenset({Kind.UNKNOWN_HEADER, Kind.UNOFFERED_CALL, Kind.NO_ANSWER})
"""More kinds that a form of a header or a message can explain."""
_BESIDE: Final = frozenset({Kind.UNOFFERED_CALL, Kind.HARMONY_AS_TEXT})
"""Kinds that replace a token form if no tokens are known; they do not limit an entry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueMatches:
    """The known issues that match the findings of a capture, and what follows from them."""

    answers: Sequence[Sequence[Answer]]
    """By finding, best first."""
    causes: Sequence[Cause | None]
    """The cause of each finding; None where none is known."""
    leading: int | None
    """The place of the finding whose issue is named first."""
    ranked: Sequence[Answer]
    """The answers to all findings, in the order in which every interface names them."""
    situation: Situation
    """In which the steps of all of them are chosen."""

    @property
    def advice(self) -> Sequence[Advice]:
        """The same with what to do about each."""
        return advice_on(self.ranked, self.situation)


def matches_of(
    reading: Reading,
    findings: Sequence[Finding],
    answers: Sequence[Sequence[Answer]],
    clauses: Sequence[Clause],
    situation: Situation | None = None,
) -> IssueMatches:
    """The answers to findings, with what follows from the verdict; `situation` may replace its own."""
    first = leading(findings, answers, clauses)
    in_all = together(findings, answers, first, reading.engine)
    situation = situation_among(in_all, findings, reading) if situation is None else situation
    return IssueMatches(
        answers=answers,
        causes=[cause_of(ranked_answers, situation) for ranked_answers in answers],
        leading=first,
        ranked=in_all,
        situation=situation,
    )


def with_known_issues(findings: Sequence[Finding], answers: Sequence[Sequence[Answer]]) -> list[Finding]:
    """The findings with the ids of their known issues, best first, at most three each."""
    return [
        dataclasses.replace(finding, known_issues=tuple(answer.issue.id for answer in ranked_answers[:SHOWN]))
        for finding, ranked_answers in zip(findings, answers, strict=True)
    ]


def answers_of_findings(
    findings: Sequence[Finding],
    reading: Reading,
    *,
    transmission: Transmission | None = None,
) -> list[list[Answer]]:
    """Ranked answers for each finding; `transmission` is computed where it is not passed."""
    if not findings:
        return []
    transmission = transmission_of(reading) if transmission is None else transmission
    choices = list(reading.choices)
    if any(finding.reconstructed for finding in findings):
        choices += [choice.rebuilt for choice in reading.choices if choice.rebuilt is not None]
    by_choice = {
        (choice.index, choice.reconstructed): FormFacts(reading, choice, transmission=transmission)
        for choice in choices
    }
    kinds = frozenset(finding.kind for finding in findings)
    delivered = Delivered(list(by_choice.values()), findings)
    candidates = _candidates(_catalogue(), reading, list(by_choice.values()), kinds, delivered)
    by_finding: list[list[Answer]] = []
    for finding in findings:
        key = (finding.choice, finding.reconstructed)
        evidence = by_choice.get(key, by_choice[reading.choice.index, False])
        answers = (
            _answer(candidate, finding, evidence)
            for candidate in candidates
            if finding.kind in candidate.kinds
        )
        by_finding.append(ranked(answer for answer in answers if answer is not None))
    rejected = next((place for place, finding in enumerate(findings) if finding.kind in _REJECTIONS), None)
    for place, finding in enumerate(findings):
        if (
            finding.kind is Kind.SERVER_ERROR
            and rejected is not None
            and parser_error(finding.delivered or "") is not None
        ):
            by_finding[place] = of_rejection(by_finding[place], by_finding[rejected])
    return over_all_findings(findings, by_finding)


def diagnose_capture(findings: Sequence[Finding], reading: Reading) -> Diagnosis:
    """The findings of a capture as a diagnosis: a failure each, ranked answers over all."""
    transmission = transmission_of(reading)
    judged = verdict(reading, findings, transmission)
    answers = answers_of_findings(findings, reading, transmission=transmission)
    return diagnosis_of(findings, reading, matches_of(reading, findings, answers, judged.clauses), judged)


def diagnosis_of(
    findings: Sequence[Finding], reading: Reading, matches: IssueMatches, judged: Verdict
) -> Diagnosis:
    """The diagnosis of findings that were matched with the catalogue before."""
    failures = tuple(
        Failure(message=explain(finding), count=1, answers=tuple(answers[:SHOWN]))
        for finding, answers in zip(findings, matches.answers, strict=True)
    )
    answers = tuple(matches.ranked)
    version = reading.server_version
    blame = sides(answers, raw=reading.spec.raw)
    proven = blame == (IssueSide.SERVER,) and server_lost(findings, reading)
    return Diagnosis(
        sentence=sentence(answers, failures, blame=blame, proven=proven) if failures else judged.sentence,
        sides=blame,
        answers=answers,
        failures=failures,
        version=version,
        server=reading.engine.label,
        versions=(ReportedVersion(version, "the capture", 0),) if version else (),
        situation=matches.situation,
        parser_results=_parser_results(findings, reading),
        paste_next=_ask_for(reading, None if failures else judged),
        proven=not failures and judged.level is Level.CLEAN,
    )


def _ask_for(reading: Reading, judged: Verdict | None) -> str:
    """How to get the evidence that a capture lacks; empty where it lacks none."""
    if judged is not None:
        return judged.why if judged.level is Level.UNKNOWN else ""
    if all(choice.has_ids for choice in reading.choices):
        return ""
    return evidence_hint(reading)


class _Listed(NamedTuple):
    """An issue with what is the same for all captures."""

    issue: Issue
    possible: frozenset[Kind]
    """Kinds of finding that it can explain if its token form holds."""
    without: frozenset[Kind]
    """Those that it can explain without that."""
    by_message: bool
    """Whether a message of the final object can show it."""


@cache
def _catalogue() -> Sequence[_Listed]:
    return tuple(map(_listed, catalogue()))


def _listed(issue: Issue) -> _Listed:
    by_message = bool(issue.tokens)
    return _Listed(issue, _kinds(issue, bool(issue.tokens)), _kinds(issue, False), by_message)


class _Candidate(NamedTuple):
    """An issue that the endpoint and the request allow, with what is the same for all findings."""

    issue: Issue
    kinds: frozenset[Kind]
    """Kinds of finding that it can explain at all."""
    places: Mapping[tuple[int, bool], Sequence[FormMatch]]
    """Where its token forms hold, by choice and whether its tokens were reconstructed."""
    by_request: Reason | None
    released: Callable[[Issue], Reason | None]
    """Whether the server's release is inside the issue's affected range."""


def _candidates(
    listed: Sequence[_Listed],
    reading: Reading,
    by_choice: Sequence[FormFacts],
    finding_kinds: frozenset[Kind],
    delivered: Delivered,
) -> list[_Candidate]:
    """The issues that can explain findings of these kinds."""
    candidates = []
    by_final_object = (
        _BY_FINAL if any(evidence.reported_messages for evidence in by_choice) else frozenset[Kind]()
    )
    endpoints, engine, request = reading.spec.has_issues_of, reading.engine, reading.header.request
    version = reading.server_version
    released = partial(
        version_reason,
        version=version,
        engine=engine,
        bounds=release_bounds(reading) if version is None else Bounds(),
    )
    for issue, possible, without, by_message in listed:
        if finding_kinds.isdisjoint(possible) and not (
            by_message and not finding_kinds.isdisjoint(by_final_object)
        ):
            continue
        if issue.endpoints and issue.endpoints.isdisjoint(endpoints) and not reading.header.endpoint_guessed:
            continue
        if not possible_on(issue, engine):
            continue
        request_matches = request_holds(issue, request)
        if request_matches is False or (
            request_matches is None and issue.request and not (issue.patterns or issue.may_match)
        ):
            continue
        places = (
            {_key(evidence): token_places(issue, evidence) for evidence in by_choice} if issue.tokens else {}
        )
        kinds = possible if any(places.values()) else without
        if by_message:
            kinds |= by_final_object
        if finding_kinds.isdisjoint(kinds) or delivered.disproves(issue):
            continue
        words = ", ".join(f"{key} {setting}" for key, setting in issue.request.items())
        reason = Reason(Because.REQUEST, f"the request has {words}") if request_matches else None
        candidates.append(_Candidate(issue, kinds, places, reason, released))
    return candidates


def _key(evidence: FormFacts) -> tuple[int, bool]:
    return evidence.choice.index, evidence.choice.reconstructed


def _kinds(issue: Issue, form_holds: bool) -> frozenset[Kind]:
    """Kinds that an issue can explain; `form_holds` where its token form holds somewhere."""
    kinds = frozenset[Kind]().union(*(form.kinds for form in issue.findings))
    by_form = form_holds and not _limited(issue)
    if by_form:
        kinds |= _BY_TOKENS
        if any(form.message or form.violations - BETWEEN for form in issue.tokens):
            kinds |= _OF_HEADERS
    return kinds | _WORDS if by_form or issue.patterns or issue.may_match else kinds


def _limited(issue: Issue) -> bool:
    """Whether an entry explains the kinds of its findings only."""
    return any(form.kinds - _BESIDE for form in issue.findings)


def _parser_results(findings: Sequence[Finding], reading: Reading) -> tuple[ParserResult, ...]:
    rejected = {finding.choice for finding in findings if finding.kind in _REJECTIONS}
    choice = next((choice for choice in reading.choices if choice.index in rejected), None)
    return () if choice is None else parser_results(choice.tokens.ids)


def _answer(candidate: _Candidate, finding: Finding, evidence: FormFacts) -> Answer | None:
    near = _near(candidate.places.get(_key(evidence), ()), finding, evidence)
    reasons = _reasons(candidate.issue, finding, evidence, near)
    if not reasons:
        return None
    release = (
        candidate.released(candidate.issue) if _release_counts(candidate.issue, finding, evidence) else None
    )
    if release is not None:
        did = candidate.issue.sides[0] is IssueSide.SERVER and finding.kind in _SERVERS
        if release.because is Because.OUTSIDE and (did or not _by_tokens(reasons)):
            return None
        reasons.append(release)
    if candidate.by_request is not None:
        reasons.append(candidate.by_request)
    return Answer(issue=candidate.issue, reasons=tuple(reasons))


def _by_tokens(reasons: Sequence[Reason]) -> bool:
    return not {Because.TOKENS, Because.SUPPOSED}.isdisjoint(reason.because for reason in reasons)


def _release_counts(issue: Issue, finding: Finding, evidence: FormFacts) -> bool:
    """Whether the server's release is evidence for or against an issue.

    A release determines what the server does, not what the model writes; plain completions are not parsed.
    """
    if evidence.reading.header.endpoint is Endpoint.COMPLETIONS:
        return False
    if issue.sides[0] is IssueSide.SERVER:
        return not (finding.kind in _REJECTIONS and finding.sent)
    return finding.kind in _SERVERS


def _reasons(
    issue: Issue, finding: Finding, evidence: FormFacts, near: FormMatch | None
) -> list[Reason] | None:
    """Evidence that an issue is the cause of a finding; None if the issue is ruled out.

    For it: one of its finding forms holds; one of its token forms holds at the finding (`near`), in a message
    of the final object, or with the stop token that was not sent before the rejected one; the finding quotes
    an error message that the issue produces.

    Against it: a condition of its own does not hold; it has finding forms, and none holds; or the tokens
    before the rejected one lack its token form, see `_without_token_form`.
    """
    rejected = finding.kind in _REJECTIONS
    if not all(condition.holds(finding, evidence) for condition in issue.when):
        return None
    reported = reported_words(issue, finding, evidence)
    by_finding = _by_finding(issue, finding, evidence)
    if not by_finding and _limited(issue) and finding.kind not in _WORDS and not reported:
        return None
    words = near.words if near is not None and finding.kind in _BY_TOKENS | _OF_HEADERS else reported
    if words:
        rest: list[Reason] | None = [Reason(Because.TOKENS, words), *_by_message(issue, finding)]
    elif rejected:
        rest = _without_token_form(issue, finding, evidence)
    else:
        rest = _by_message(issue, finding)
    return None if rest is None else by_finding + rest


def _by_finding(issue: Issue, finding: Finding, evidence: FormFacts) -> list[Reason]:
    """The reason that one of the issue's finding forms holds, if one does."""
    forms = [form for form in issue.findings if finding_holds(form, finding, evidence)]
    if not forms:
        return []
    if evidence.has_several_causes(finding):
        because = Because.OPEN_FINDING
    else:
        exact = any(form.codes or form.message for form in forms)
        because = Because.EXACT_FINDING if exact else Because.FINDING
    return [Reason(because, f"the finding {KINDS[finding.kind].label} matches it")]


def _by_message(issue: Issue, finding: Finding) -> list[Reason]:
    """The reason that the finding quotes a message of the issue, if it does."""
    if finding.kind not in _WORDS:
        return []
    words = finding.delivered or ""
    for patterns, because in (
        (issue.patterns, Because.MESSAGE),
        (issue.may_match, Because.PART_OF_MESSAGE),
    ):
        if any(pattern.literal in words and pattern.expression.search(words) for pattern in patterns):
            if issue.needs and not any(need.expression.search(words) for need in issue.needs):
                return []
            return [Reason(because, f"the message is “{words}”")]
    return []


def _without_token_form(issue: Issue, finding: Finding, evidence: FormFacts) -> list[Reason] | None:
    """What the rejected token and the parser's message say where no token form of the issue holds.

    Several issues produce the same message; the tokens decide between them. So the message counts only as
    far as the tokens are unknown, and an issue is ruled out (None) once they show that its form is absent.
    """
    if evidence.ids and evidence.has_all(finding):  # all tokens are known
        if not issue.patterns:
            return []
        return None if issue.tokens else _by_message(issue, finding)
    if _closing_token_unknown(issue, finding, evidence):
        supposed = _by_supposed_tokens(issue, evidence)
        return supposed + _by_message(issue, finding) if supposed else None
    if evidence.opened and _opens(issue):
        return None
    return _by_message(issue, finding)


def _closing_token_unknown(issue: Issue, finding: Finding, evidence: FormFacts) -> bool:
    """Whether the issue's form is one between messages, and the tokens there were not sent."""
    return (
        bool(evidence.supposed)
        and not finding.sent
        and any(form.violations & BETWEEN for form in issue.tokens)
    )


def _by_supposed_tokens(issue: Issue, evidence: FormFacts) -> list[Reason]:
    """The reason that the rejected token makes the issue's form after a stop token that the format allows.

    The usual stop token counts for more than the others.
    """
    for number, supposed in enumerate(evidence.supposed):
        if any(place.end == len(supposed.ids) for place in token_places(issue, supposed)):
            stop, token = (text_of([token_id]) for token_id in supposed.ids[-2:])
            words = f"{token} was rejected, and the open message ends in {stop}"
            if number == 0:
                return [Reason(Because.SUPPOSED, words)]
            return [Reason(Because.PART_OF_MESSAGE, f"{words}, if it was closed so")]
    return []


def _opens(issue: Issue) -> bool:
    """True for an issue that shows at the beginning of a completion only."""
    return bool(issue.tokens) and all(form.violations == {Violation.NO_HEADER} for form in issue.tokens)


def _near(places: Sequence[FormMatch], finding: Finding, evidence: FormFacts) -> FormMatch | None:
    """The place of a token form at or next to a finding; for a broken connection, at what broke it."""
    if finding.kind is Kind.DISCONNECTED:
        reading = evidence.reading
        if reading.header.endpoint not in reading.engine.silent:
            return None  # an error of the parser does not break this connection
        rejected_at = [rejected_run.at for rejected_run in evidence.choice.transcript.rejected_runs[:1]]
        rejected_at.append(len(evidence.ids) - 1)
        return next(
            (place for place in places if any(place.start <= at < place.end for at in rejected_at)), None
        )
    if finding.token_start is None or finding.token_end is None:
        return None
    after = bisect_right(places, finding.token_end, key=lambda place: place.start)
    # Forms are short, but for whole messages and headers; those of one form do not overlap.
    close = places[max(after - _LOOK_BACK, 0) : after]
    # A message that ends where a token is rejected does not explain why it was sampled.
    begin = finding.token_start + (finding.kind is Kind.UNEXPECTED_TOKEN)
    return next((place for place in close if begin <= place.end), None)
