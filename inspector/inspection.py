"""One capture looked at whole: reading, alignments, findings, verdict. Every face starts here.

`examine` is the path from a reading on, for a stream that still grows; `inspect` begins with the capture.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from inspector.alignment import Alignment, alignments
from inspector.audit import Finding, Rejection, Severity, audit, rejection
from inspector.audit.verdict import Verdict, clauses, verdict
from inspector.capture import Capture
from inspector.diagnosis import issues, with_known_issues
from inspector.reading import Reading, read

__all__ = ["Examined", "Inspection", "examine", "inspect"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """A reading with everything that is derived from it, each thing computed once."""

    reading: Reading
    alignments: Mapping[int, Alignment | None]
    """By choice: where its tokens were delivered; None where that cannot be determined."""
    stopped: Rejection | None
    """What the server's own error says that its parser rejected."""
    findings: list[Finding]
    verdict: Verdict

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
    findings = with_known_issues(audit(reading, aligned, stopped), reading)
    judged = verdict(reading, findings, stopped)
    return Examined(
        reading=reading,
        alignments=aligned,
        stopped=stopped,
        findings=findings,
        verdict=replace(judged, known=_known(reading, findings)),
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
        verdict=seen.verdict,
    )


def _known(reading: Reading, findings: Sequence[Finding]) -> str:
    """The issue behind the first clause of the verdict, and what to do about it."""
    for clause in clauses(reading, findings):
        for finding in clause.findings:
            if finding.known_issues:
                issue = issues()[finding.known_issues[0]]
                return f"Known issue: {issue.title}. {issue.first_step(reading.server_version)}"
    return ""
