"""One row per request: result, findings and times of its response. Never raises for content.

A loss is counted only if the stream itself proves it: by token IDs, logprobs, or the final object.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from inspector.analysis.audit.kinds import KINDS, FindingSide
from inspector.analysis.audit.outcome import ResponseOutcome
from inspector.analysis.reading import Reading
from inspector.capture.capture import Capture, Endpoint
from inspector.capture.formats import clip
from inspector.fleet.probe.rates import bucket_of
from inspector.inspection.inspection import Inspection, inspect
from inspector.net.client.outcome import OutcomeKind, Problem
from inspector.views.summary import Fix, fixes

_FRAMING: Final = "framing"
"""The channel of tokens that frame messages."""
_SENTENCE: Final = 400
_ALIKE: Final = {"reasoning": "analysis", "content": "final", "text": "text"}


class Result(StrEnum):
    """Result of a request."""

    OK = "ok"
    """Checked, and everything was delivered."""
    FAILED = "failed"
    """With an error that the client sees: an HTTP status, an error in the stream, an early end."""
    DAMAGED = "damaged"
    """No error, and text was lost, changed or put into another field."""
    UNKNOWN = "unknown"
    """No error, and not enough evidence."""


_RESULTS: Final = {
    ResponseOutcome.COMPLETE: Result.OK,
    ResponseOutcome.DAMAGED: Result.DAMAGED,
    ResponseOutcome.FAILED: Result.FAILED,
    ResponseOutcome.REJECTED: Result.FAILED,
    ResponseOutcome.ABORTED: Result.UNKNOWN,
    ResponseOutcome.UNKNOWN: Result.UNKNOWN,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedResponse:
    """The audit of one response."""

    result: Result
    sentence: str
    """The verdict, or the failure."""
    kinds: tuple[str, ...] = ()
    cause: str = ""
    """ID of the known issue; empty if there is none."""
    cause_title: str = ""
    fixes: tuple[Fix, ...] = ()
    """What to do about the cause."""
    failure: str = ""
    """How it failed, in a word or two; empty if it did not fail."""
    status: int | None = None
    evidence: str = ""
    tokens: int = 0
    """Tokens of the response; by the server's own count where it sends no IDs."""
    events: int = 0
    tokens_per_event: float | None = None
    first_token_s: float | None = None
    """From the request to the first token or text; None if there was none."""
    duration_s: float | None = None
    first_s: Mapping[str, float] = field(default_factory=dict)
    """By channel: from the request to its first token."""
    gaps: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    """By channel: waits before its tokens, in buckets (`rates.bucket_of`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeRow:
    """One request of a probe."""

    number: int
    side: str
    level: int
    """The allowed number of requests in flight; 0 for a fixed rate."""
    endpoint: Endpoint
    prompt: str
    streamed: bool
    control: bool
    started_s: float
    """Since the probe began."""
    in_flight: int
    """Requests of this probe in flight to the server when it was sent or when it ended, whichever is more."""
    deferred: int
    """How often the server asked to send it later."""
    response: AuditedResponse
    capture: str = ""
    """The file of its capture; empty if it was not kept."""

    @property
    def result(self) -> Result:
        """Result of the request."""
        return self.response.result


def audited_response(capture: Capture, problem: Problem | None) -> AuditedResponse:
    """Audit a response."""
    inspection = inspect(capture)
    reading = inspection.reading
    failure = _failure(inspection, problem)
    times, channels = arrivals(reading)
    waits: dict[str, Counter[int]] = {}
    first: dict[str, float] = {}
    for place, (at, channel) in enumerate(zip(times, channels, strict=True)):
        if channel != _FRAMING:
            first.setdefault(channel, at)
        if place and at > times[place - 1]:
            waits.setdefault(channel, Counter())[bucket_of(at - times[place - 1])] += 1
    result = Result.FAILED if failure else _RESULTS[inspection.verdict.outcome]
    tokens, carriers = len(reading.choice.tokens), len(set(reading.choice.tokens.events))
    return AuditedResponse(
        result=result,
        sentence=clip(
            problem.sentence
            if problem is not None and result is Result.FAILED
            else inspection.verdict.sentence,
            _SENTENCE,
        ),
        kinds=tuple(sorted({finding.kind.value for finding in inspection.findings})),
        cause="" if inspection.cause is None else inspection.cause.id,
        cause_title="" if inspection.cause is None else inspection.cause.title,
        fixes=tuple(fixes(inspection)),
        failure=failure,
        status=reading.header.status,
        evidence=reading.choice.evidence.value,
        tokens=tokens or reading.stream.counted or 0,
        events=len(reading.events),
        tokens_per_event=tokens / carriers if carriers else None,
        first_token_s=times[0] if times else None,
        duration_s=None if reading.end is None else reading.end.at_s,
        first_s=first,
        gaps={channel: dict(counts) for channel, counts in waits.items()},
    )


def _failure(inspection: Inspection, problem: Problem | None) -> str:
    if problem is not None and problem.kind is not OutcomeKind.OK:
        status = inspection.reading.header.status
        return f"HTTP {status}" if status is not None and status >= 400 else str(problem.kind)
    if inspection.reading.stream.errors or any(
        KINDS[finding.kind].side is FindingSide.ABORT for finding in inspection.findings
    ):
        return str(OutcomeKind.STREAM_ERROR)
    return ""


def arrivals(reading: Reading) -> tuple[list[float], list[str]]:
    """When tokens or text arrived, and in which channel; by the deltas' fields where no IDs are known."""
    by_event: dict[int, str] = {}
    choice = reading.choice
    if choice.has_ids and not choice.reconstructed and _has_events(choice.tokens.events):
        for message in choice.transcript.messages:
            if message.in_body:
                name = message.header.channel or "none"
                for event in choice.tokens.events[message.body : message.body_end]:
                    by_event.setdefault(event, name)
        for event in choice.tokens.events:
            by_event.setdefault(event, _FRAMING)
    else:
        for delta in choice.deltas:
            by_event.setdefault(delta.event, _channel_of(delta.field))
    times: list[float] = []
    channels: list[str] = []
    for event in sorted(by_event):
        at = reading.arrival_s(event)
        if at is not None:
            times.append(at)
            channels.append(by_event[event])
    return times, channels


def _has_events(events: Sequence[int]) -> bool:
    return bool(events) and events[0] >= 0


def _channel_of(field_name: str) -> str:
    return "tool call" if field_name.startswith("tool_calls[") else _ALIKE.get(field_name, "other")
