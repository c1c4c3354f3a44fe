"""One capture looked at whole: reading, alignments, findings, verdict. Every face starts here.

`examine` is the path from a reading on, for a stream that still grows; `inspect` begins with the capture.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from inspector.analysis.alignment import Alignment, alignments
from inspector.analysis.audit import Finding, Rejection, Severity, audit, rejection
from inspector.analysis.audit.verdict import Verdict, verdict
from inspector.analysis.reading import ChoiceReading, Reading, read
from inspector.capture.bounds import FINDINGS
from inspector.capture.capture import Capture
from inspector.capture.formats import number
from inspector.issues import Cause, leading, named_causes


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """A reading with everything that is derived from it, each thing computed once."""

    reading: Reading
    alignments: Mapping[int, Alignment | None]
    """By choice: where its tokens were delivered; None where that cannot be determined."""
    stopped: Rejection | None
    """What the server's own error says that its parser rejected."""
    findings: list[Finding]
    causes: Sequence[Cause | None]
    """The cause of each finding; None where none is known."""
    verdict: Verdict
    cause: Cause | None
    """The cause of the verdict's first clause that has one."""

    @property
    def worst(self) -> Severity | None:
        """The worst severity found; None without findings."""
        severities = {finding.severity for finding in self.findings}
        return next((one for one in (Severity.ERROR, Severity.WARNING) if one in severities), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection(Examined):
    """A capture with all that is derived from it."""

    name: str
    """File name, or what the reader calls it."""
    capture: Capture


def examine(reading: Reading) -> Examined:
    """Align, audit and judge a reading."""
    aligned = alignments(reading)
    stopped = rejection(reading)
    found = audit(reading, aligned, stopped)
    judged = verdict(reading, found, stopped)
    if len(found) > FINDINGS:
        told = f"Only the first {number(FINDINGS)} of {number(len(found))} findings are listed."
        reading.notes = (*reading.notes, told)
        found = found[:FINDINGS]
    findings, causes = named_causes(found, reading)
    cause = leading(causes, findings, reading)
    return Examined(
        reading=reading,
        alignments=aligned,
        stopped=stopped,
        findings=findings,
        causes=causes,
        verdict=replace(judged, known="" if cause is None else cause.sentence),
        cause=cause,
    )


def inspect(capture: Capture, *, name: str = "", truth: Sequence[int] | None = None) -> Inspection:
    """Read, audit and judge a capture; `truth` are token IDs known from outside the stream."""
    seen = examine(read(capture, truth=truth))
    return Inspection(
        name=name,
        capture=capture,
        reading=seen.reading,
        alignments=seen.alignments,
        stopped=seen.stopped,
        findings=seen.findings,
        causes=seen.causes,
        verdict=seen.verdict,
        cause=seen.cause,
    )


def channel_of(finding: Finding, choices: Sequence[ChoiceReading]) -> str | None:
    """The channel of the message that a finding begins in; None where it is in no message with a channel."""
    place = finding.token_start
    choice = next((one for one in choices if one.index == finding.choice), None)
    if place is None or choice is None:
        return None
    messages = choice.transcript.messages
    before = bisect_right(messages, place, key=lambda message: message.start) - 1
    inside = before >= 0 and place < messages[before].end
    return messages[before].header.channel if inside else None
