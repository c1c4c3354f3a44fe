"""A capture with everything that is derived from it; all interfaces start here.

`examine` is the path from a reading on, for a stream that still grows; `inspect` begins with the capture.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from operator import index
from os import PathLike
from typing import Final

from inspector.analysis.alignment import Alignment, alignments
from inspector.analysis.audit import (
    FieldTexts,
    Finding,
    FindingSide,
    Kind,
    Rejection,
    Severity,
    Transmission,
    audit,
    field_texts,
    kinds_of,
    transmission_of,
)
from inspector.analysis.audit.verdict import Verdict, verdict
from inspector.analysis.reading import ChoiceReading, Reading, read
from inspector.capture.bounds import FINDINGS
from inspector.capture.capture import Capture
from inspector.capture.errors import InspectorError
from inspector.capture.formats import clip, count, number
from inspector.issues import (
    Advice,
    Answer,
    Cause,
    Diagnosis,
    DiagnosisOutcome,
    IssueMatches,
    Situation,
    answers_of_findings,
    diagnosis_of,
    matches_of,
    with_known_issues,
)
from inspector.protocol.engines import UNKNOWN

_STOP_SHOWN: Final = 60
_REPR_SHOWN: Final = 160
_OF_ERROR: Final = {Kind.SERVER_ERROR, *kinds_of(FindingSide.MODEL)}
"""Findings that an error message alone can make."""
_OF_ALL: Final = frozenset({Kind.SERVER_ERROR, Kind.DISCONNECTED, Kind.ABORTED})
"""Kinds of what ended the response with all its choices."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Examined:
    """A reading with everything that is derived from it, each thing computed once."""

    reading: Reading
    alignments: Mapping[int, Alignment | None]
    """By choice: where its tokens were delivered; None where that cannot be determined."""
    transmission: Transmission
    findings: list[Finding]
    matches: IssueMatches
    verdict: Verdict
    notes: tuple[str, ...]
    """What was noted while the file was read, and whether findings are left out."""

    def __repr__(self) -> str:
        words = f"{self.verdict.level}, {count(len(self.findings), 'finding')}"
        return f"<{type(self).__name__}: {words}. {clip(self.verdict.sentence, _REPR_SHOWN)}>"

    @property
    def rejection(self) -> Rejection | None:
        """What the server's own error says that its parser rejected."""
        return self.transmission.rejection

    @property
    def causes(self) -> Sequence[Cause | None]:
        """The cause of each finding; None where none is known."""
        return self.matches.causes

    @property
    def cause(self) -> Cause | None:
        """The cause of the verdict's first clause that has one."""
        return None if self.matches.leading is None else self.matches.causes[self.matches.leading]

    @property
    def advice(self) -> Sequence[Advice]:
        """The causes of all findings, the verdict's first, with what to do about each."""
        return self.matches.advice

    @property
    def situation(self) -> Situation:
        """The situation in which the steps of known issues are chosen."""
        return self.matches.situation

    def fields(self, choice: ChoiceReading) -> list[FieldTexts]:
        """Every field of a choice that has text, generated or delivered."""
        return field_texts(self.reading, choice, self.findings, ids_missing=self.transmission.ids_missing)

    @property
    def worst(self) -> Severity | None:
        """The worst severity of the findings; None without findings."""
        severities = {finding.severity for finding in self.findings}
        return next((severity for severity in Severity if severity in severities), None)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Inspection(Examined):
    """A capture with all that is derived from it."""

    name: str
    """File name, or what the reader calls it."""
    capture: Capture

    def _repr_html_(self) -> str:
        """What a notebook shows; `views` is above this module, and only a notebook needs it."""
        html: str = import_module("inspector.views.report.notebook").notebook_html(self)
        return html


def examine(reading: Reading) -> Examined:
    """Align and audit a reading, match its findings with known issues, and judge it."""
    aligned = alignments(reading)
    transmission = transmission_of(reading, aligned)
    audited = audit(reading, aligned, transmission)
    if transmission.ids_missing:  # where the other tokens belong cannot be determined
        aligned = dict.fromkeys(aligned)
    listed = audited[:FINDINGS]
    by_text = _of_error_alone(reading, listed)
    if by_text is None:
        answers: Sequence[Sequence[Answer]] = answers_of_findings(listed, reading, transmission=transmission)
    else:
        answers = [by_text.answers if finding.kind in _OF_ERROR else () for finding in listed]
    findings = with_known_issues(listed, answers)
    judged = verdict(reading, [*findings, *audited[FINDINGS:]], transmission)
    situation = None if by_text is None else by_text.situation
    matches = matches_of(reading, findings, answers, judged.clauses, situation)
    stops = dict.fromkeys(each.delivered_stop for each in aligned.values() if each and each.delivered_stop)
    notes = [
        f"The text ends with the stop string “{clip(stop, _STOP_SHOWN)}”, which OpenAI's API leaves out."
        for stop in stops
    ]
    cut = f"Only the first {number(FINDINGS)} of {number(len(audited))} findings are listed."
    examined = Examined(
        reading=reading,
        alignments=aligned,
        transmission=transmission,
        findings=findings,
        matches=matches,
        verdict=judged,
        notes=(*reading.notes, *notes, *((cut,) if len(audited) > FINDINGS else ())),
    )
    cause = examined.cause
    return examined if cause is None else replace(examined, verdict=replace(judged, known=cause.sentence))


def _of_error_alone(reading: Reading, findings: Sequence[Finding]) -> Diagnosis | None:
    """The diagnosis of an error by its text, where nothing else is known: no response, request or server.

    So it has the causes and steps that the same text has without a capture around it.
    """
    if reading.engine is not UNKNOWN or reading.header.request:
        return None
    if any(choice.tokens or choice.deltas for choice in reading.choices):
        return None
    if not any(finding.kind is Kind.SERVER_ERROR for finding in findings):
        return None
    from inspector.issues.texts.diagnose import diagnose_text  # noqa: PLC0415 -- captures need none of it

    by_text = diagnose_text(event.data for event in reading.events)
    return by_text if by_text.outcome is DiagnosisOutcome.KNOWN else None


def of_choice(examined: Examined, choice: ChoiceReading) -> Examined:
    """What is true of one of several choices: its findings, and those that ended all of them; its verdict."""
    if len(examined.reading.choices) == 1:
        return examined
    reading = replace(examined.reading, choices=[choice])
    findings = [
        finding for finding in examined.findings if finding.choice == choice.index or finding.kind in _OF_ALL
    ]
    answers = answers_of_findings(findings, reading, transmission=examined.transmission)
    judged = verdict(reading, findings, examined.transmission)
    matches = matches_of(reading, findings, answers, judged.clauses)
    return replace(examined, reading=reading, findings=findings, matches=matches, verdict=judged)


def inspect(capture: Capture, *, name: str = "", truth: Sequence[int] | None = None) -> Inspection:
    """Read, audit and judge a capture; `truth` are token IDs known from outside the stream.

    Raises InspectorError for anything but a capture, and for a truth that is no token IDs.
    """
    if not isinstance(capture, Capture):
        raise InspectorError(f"inspect takes a Capture, not a {type(capture).__name__}; {_instead(capture)}")
    ids = None if truth is None else _token_ids(truth)
    return inspection_of(capture, examine(read(capture, truth=ids)), name=name)


def inspection_of(capture: Capture, examined: Examined, *, name: str) -> Inspection:
    """The inspection of a capture that was examined."""
    return Inspection(
        name=name,
        capture=capture,
        reading=examined.reading,
        alignments=examined.alignments,
        transmission=examined.transmission,
        findings=examined.findings,
        matches=examined.matches,
        verdict=examined.verdict,
        notes=examined.notes,
    )


def _token_ids(truth: Sequence[int]) -> Sequence[int]:
    try:
        ids = [*map(index, truth)]
    except TypeError:
        ids = [-1]
    if any(token_id < 0 for token_id in ids):
        raise InspectorError("truth takes the token IDs of the response, as integers: [200005, 17196, ...]")
    return ids


def _instead(value: object) -> str:
    if isinstance(value, list | tuple):
        return "inspect each of them: [inspect(capture) for capture in load_all(path)]"
    if isinstance(value, str | PathLike):
        return "load the file first: inspect(load(path))"
    return "read what a server sent with loads(content), or build a Capture"


def diagnose(examined: Examined) -> Diagnosis:
    """The findings as a diagnosis: a failure each, ranked answers over all."""
    return diagnosis_of(examined.findings, examined.reading, examined.matches, examined.verdict)


def channel_of(finding: Finding, choices: Sequence[ChoiceReading]) -> str | None:
    """The channel of the message that a finding begins in; None where it is in no message with a channel."""
    place = finding.token_start
    choice = next((choice for choice in choices if choice.index == finding.choice), None)
    if place is None or choice is None:
        return None
    messages = choice.transcript.messages
    before = bisect_right(messages, place, key=lambda message: message.start) - 1
    inside = before >= 0 and place < messages[before].end
    return messages[before].header.channel if inside else None
