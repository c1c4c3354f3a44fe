"""One capture looked at whole: reading, findings, verdict. All faces start here."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from inspector.audit import Finding, Severity, audit
from inspector.audit.verdict import Verdict, verdict
from inspector.capture import Capture
from inspector.diagnosis import issues, with_known_issues
from inspector.reading import Reading, read

__all__ = ["Inspection", "inspect"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """A capture with all that is computed from it."""

    name: str
    """File name, or what the reader calls it."""
    capture: Capture
    reading: Reading
    findings: list[Finding]
    verdict: Verdict

    @property
    def worst(self) -> Severity | None:
        """The worst severity found; None without findings."""
        severities = {finding.severity for finding in self.findings}
        return next((one for one in (Severity.ERROR, Severity.WARNING) if one in severities), None)


def inspect(capture: Capture, *, name: str = "", truth: Sequence[int] | None = None) -> Inspection:
    """Read, audit and judge a capture; `truth` are token IDs known from outside the stream."""
    reading = read(capture, truth=truth)
    findings = with_known_issues(audit(reading), reading)
    judged = replace(verdict(reading, findings), known=_known(findings, reading.server_version))
    return Inspection(name=name, capture=capture, reading=reading, findings=findings, verdict=judged)


def _known(findings: Sequence[Finding], version: str | None) -> str:
    """The issue that most findings of the worst severity share, and what to do about it."""
    counts: Counter[str] = Counter()
    worst = findings[0].severity if findings else None
    for finding in findings:
        if finding.severity is worst and finding.known_issues:
            counts[finding.known_issues[0]] += 1
    if not counts:
        return ""
    issue = issues()[counts.most_common(1)[0][0]]
    return f"Known issue: {issue.title}. {issue.first_step(version)}"
