"""What one audited stream adds to the metrics; small, because it is sent between processes."""

import os
from dataclasses import dataclass

from inspector.analysis.audit import Finding, Severity
from inspector.analysis.audit.outcome import ResponseOutcome
from inspector.analysis.reading import ChoiceReading
from inspector.files.store import load_all, loads
from inspector.fleet.watch.spans import SpanData, span_of
from inspector.inspection.inspection import Examined, channel_of, inspect
from inspector.issues import Cause, issues
from inspector.protocol.harmony.vocab import encoding

_NICE = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingSummary:
    """One finding."""

    kind: str
    severity: str
    cause: str
    """Id of the known issue that explains it; `unknown` where none does."""
    channel: str
    """Channel of the finding's message; `none` for a finding outside messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSummary:
    """One stream."""

    endpoint: str
    model: str
    server_version: str
    front_end: str
    """Name of the server or front end, as in docs/diagnose.md."""
    verdict: str
    outcome: ResponseOutcome
    sentence: str
    """The verdict in words."""
    tokens: int
    """Tokens whose ids are known or reconstructed; 0 where they are not."""
    findings: tuple[FindingSummary, ...]
    span: SpanData
    """The same for OpenTelemetry."""
    served: bool = True
    """False for a response with an error status."""

    @property
    def failing(self) -> bool:
        """Whether there is a finding of severity error, as `audit --fail-on error` has it."""
        return any(finding.severity == Severity.ERROR for finding in self.findings)


def summarise(examined: Examined) -> StreamSummary:
    """The summary of an audited stream."""
    reading = examined.reading
    model = reading.header.model or reading.stream.model or reading.header.request.get("model")
    return StreamSummary(
        endpoint=str(reading.header.endpoint),
        model=model if isinstance(model, str) else "unknown",
        server_version=reading.server_version or "unknown",
        front_end=reading.engine.name,
        verdict=str(examined.verdict.level),
        outcome=examined.verdict.outcome,
        sentence=examined.verdict.sentence,
        tokens=reading.token_count,
        findings=tuple(
            _finding_summary(finding, cause, reading.choices)
            for finding, cause in zip(examined.findings, examined.causes, strict=True)
        ),
        span=span_of(examined),
        served=(reading.header.status or 200) < 400,
    )


def _finding_summary(finding: Finding, cause: Cause | None, choices: list[ChoiceReading]) -> FindingSummary:
    return FindingSummary(
        kind=str(finding.kind),
        severity=str(finding.severity),
        cause=cause.id if cause is not None and cause.id else "unknown",
        channel=channel_of(finding, choices) or "none",
    )


def prepare() -> None:
    """Set up a process that audits, with a low priority."""
    os.nice(_NICE)
    encoding()
    issues()


def prepared() -> None:
    """Does nothing: the first call starts a process."""


def of_file(path: str) -> StreamSummary:
    """The summary of a recording on disk; raises InspectorError when it cannot be read."""
    [capture, *_] = load_all(path)
    return summarise(inspect(capture))


def of_content(content: bytes) -> StreamSummary:
    """The summary of a recording in memory."""
    return summarise(inspect(loads(content)))
