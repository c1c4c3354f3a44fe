"""What one audited stream adds to the metrics; small, and passed from process to process."""

import os
from dataclasses import dataclass

from inspector.analysis.audit import Finding, Severity
from inspector.analysis.reading import ChoiceReading
from inspector.files.store import load
from inspector.fleet.watch.spans import SpanTold, span_of
from inspector.inspection.inspection import Examined, channel_of, inspect
from inspector.issues import Cause, issues
from inspector.protocol.harmony.vocab import encoding

_NICE = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One finding."""

    kind: str
    severity: str
    cause: str
    """Id of the known issue that explains it; `unknown` where none does."""
    channel: str
    """Channel of the message that it is in; `none` where there is no such message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """One stream."""

    endpoint: str
    model: str
    server_version: str
    front_end: str
    """Name of the server or front end, as in docs/diagnose.md."""
    verdict: str
    tokens: int
    """Tokens whose ids are known or reconstructed; 0 where they are not."""
    found: tuple[Found, ...]
    span: SpanTold
    """The same for OpenTelemetry."""
    served: bool = True
    """False for a response with an error status."""

    @property
    def failing(self) -> bool:
        """Whether there is a finding of severity error, as `audit --fail-on error` has it."""
        return any(one.severity == Severity.ERROR for one in self.found)


def summarise(seen: Examined) -> Summary:
    """The summary of an audited stream."""
    reading = seen.reading
    model = reading.header.model or reading.stream.model or reading.header.request.get("model")
    return Summary(
        endpoint=str(reading.header.endpoint),
        model=model if isinstance(model, str) else "unknown",
        server_version=reading.server_version or "unknown",
        front_end=reading.engine.name,
        verdict=str(seen.verdict.level),
        tokens=sum(len(choice.tokens) for choice in reading.choices),
        found=tuple(
            _found(finding, cause, reading.choices)
            for finding, cause in zip(seen.findings, seen.causes, strict=True)
        ),
        span=span_of(seen),
        served=(reading.header.status or 200) < 400,
    )


def _found(finding: Finding, cause: Cause | None, choices: list[ChoiceReading]) -> Found:
    return Found(
        kind=str(finding.kind),
        severity=str(finding.severity),
        cause=cause.id if cause is not None and cause.id else "unknown",
        channel=channel_of(finding, choices) or "none",
    )


def prepare() -> None:
    """Set up a process that audits: what is served goes first."""
    os.nice(_NICE)
    encoding()
    issues()


def prepared() -> None:
    """Nothing; a process starts with the first call."""


def of_file(path: str) -> Summary:
    """The summary of a recording on disk; raises InspectorError when it cannot be read."""
    [capture, *_] = load(path)
    return summarise(inspect(capture))
