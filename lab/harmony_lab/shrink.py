"""The shortest token list that still fails on a real server: delta debugging, one request per try.

What a server loses depends on the server and on its engine's steps, so each part of the stream is sent to the
server. `inspector.views.report` shrinks failures that depend only on tokens.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from harmony_lab.recording import Target, ask
from inspector.analysis.audit import KINDS, Finding, Kind, Severity, audit, explain
from inspector.analysis.reading import read
from inspector.capture.capture import Capture, Endpoint
from inspector.capture.deltas import tool_index
from inspector.capture.errors import LabError
from inspector.capture.formats import count
from inspector.matrix.scripts import STOPS, Script
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.vocab import Marker
from inspector.protocol.wire.endpoints import spec_of
from inspector.views.report.shrink import minimal
from inspector.views.rows import finding_row

_TOKENS_ALONE: Final = {Kind.UNEXPECTED_TOKEN, Kind.BAD_HEADER}
_CONFIRMATIONS: Final = 3

Sampler = Callable[[Sequence[int]], Capture]
"""Have a server sample these token IDs, and record its response."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shrunk:
    """A shorter token list with the same failure."""

    ids: list[int]
    finding: Finding
    """The finding for `ids`."""
    capture: Capture
    """The response with this finding."""
    original_tokens: int
    """Tokens at the start of the search."""
    tries: int
    """Requests sent."""
    minimal: bool
    """True if no single token can be removed."""
    failures: int
    """Repetitions that failed again; old releases lose tokens by chance."""
    repetitions: int


def server_error_in(capture: Capture) -> Finding:
    """The first error of a capture that the server caused; raises LabError if there is none."""
    findings = _findings(capture, capture.header.script)
    errors = [
        finding
        for finding in findings
        if finding.severity is Severity.ERROR and finding.kind not in _TOKENS_ALONE
    ]
    if errors:
        return errors[0]
    raise LabError(
        "this capture has no server error; `inspector report` shrinks failures that depend only on tokens"
    )


def sampler_on(
    base_url: str, script: Script, endpoint: Endpoint, *, version: str, stream_interval: int
) -> Sampler:
    """A sampler on a lab server, with the tools and the request options of `script`."""

    def sample(ids: Sequence[int]) -> Capture:
        target = Target(endpoint, replace(script, turns=(tuple(ids),)))
        marker = f"[[tokens {' '.join(map(str, ids))}]]"
        return ask(base_url, target, version=version, stream_interval=stream_interval, marker=marker)

    return sample


def shrink(
    capture: Capture,
    ids: Sequence[int],
    server: Sampler,
    *,
    tries: int = 300,
    say: Callable[[str], None] = print,
) -> Shrunk:
    """Shrink `ids`, the tokens of `capture`, while the server still fails as in the capture.

    `tries` bounds the requests. Raises LabError if the capture has no server error, or if the server does not
    reproduce it with all tokens.
    """
    goal = server_error_in(capture)
    attempts: dict[tuple[int, ...], tuple[Finding, Capture] | None] = {}

    def failure_of(part: Sequence[int]) -> tuple[Finding, Capture] | None:
        request_ids = _stopped(part)
        if request_ids not in attempts and len(attempts) < tries:
            answer = server(request_ids)
            alike = next(
                (finding for finding in _findings(answer, request_ids) if _same_failure(finding, goal)), None
            )
            attempts[request_ids] = None if alike is None else (alike, answer)
            if alike is not None:
                say(f"{len(part)} tokens: {explain(alike)}")
        return attempts.get(request_ids)

    if failure_of(ids) is None:
        raise LabError(
            "the server does not reproduce the failure with these tokens; use the capture's version, and as "
            "many tokens per step as its events have"
        )
    shortest, done = minimal(ids, lambda part: failure_of(part) is not None)
    failure = failure_of(shortest)
    assert failure is not None  # noqa: S101 -- `minimal` returns a failing list
    repetitions = [server(_stopped(shortest)) for _ in range(_CONFIRMATIONS)]
    failures = sum(
        any(_same_failure(finding, goal) for finding in _findings(repetition, _stopped(shortest)))
        for repetition in repetitions
    )
    return Shrunk(
        ids=shortest,
        finding=failure[0],
        capture=failure[1],
        original_tokens=len(ids),
        tries=len(attempts) + len(repetitions),
        minimal=done and len(attempts) < tries,
        failures=failures,
        repetitions=len(repetitions),
    )


def _stopped(ids: Sequence[int]) -> tuple[int, ...]:
    """The IDs up to the first stop token; with a return token at the end if there is none."""
    stop = next((place + 1 for place, token_id in enumerate(ids) if token_id in STOPS), None)
    return tuple(ids[:stop]) if stop else (*ids, Marker.RETURN.value)


def _findings(capture: Capture, ids: Sequence[int] | None) -> list[Finding]:
    # Responses carries no token IDs: use the sampled ones.
    truth = None if spec_of(capture.header.endpoint).carries_ids else ids
    return audit(read(capture, truth=truth))


def _same_failure(finding: Finding, goal: Finding) -> bool:
    """The same failure: equal kind and fields, and for a server error its message; any tool call index."""
    if finding.kind is not goal.kind or finding.severity is not goal.severity:
        return False
    if goal.kind is Kind.SERVER_ERROR:
        return finding.delivered == goal.delivered
    return _unnumbered(finding.field) == _unnumbered(goal.field) and _unnumbered(
        finding.delivered_in
    ) == _unnumbered(goal.delivered_in)


def _unnumbered(field: str | None) -> str | None:
    return field if field is None or tool_index(field) is None else field.rsplit(".", 1)[-1]


def shrunk_row(shrunk: Shrunk, version: str, stream_interval: int) -> dict[str, Any]:
    """The result for `--json`."""
    return {
        "version": version,
        "stream_interval": stream_interval,
        "endpoint": shrunk.capture.header.endpoint.value,
        "tokens": shrunk.ids,
        "text": text_of(shrunk.ids),
        "finding": finding_row(shrunk.finding),
        "of_tokens": shrunk.original_tokens,
        "tries": shrunk.tries,
        "minimal": shrunk.minimal,
        "asked_again": shrunk.repetitions,
        "failed_again": shrunk.failures,
    }


def shrunk_lines(shrunk: Shrunk, version: str, stream_interval: int) -> list[str]:
    """The result for the terminal; the last line can be pasted into a request to `lab serve`."""
    step = count(stream_interval, "token")
    least = "no token can be removed" if shrunk.minimal else "the search stopped early"
    return [
        f"{len(shrunk.ids)} of {shrunk.original_tokens} tokens still fail on vLLM {version}, "
        f"{shrunk.capture.header.endpoint.value}, {step} per step; {least}.",
        f"  {KINDS[shrunk.finding.kind].label}: {explain(shrunk.finding)}",
        f"  It failed in {shrunk.failures} of {shrunk.repetitions} repetitions; "
        f"{shrunk.tries} requests in all.",
        f"  {text_of(shrunk.ids)}",
        f"  [[tokens {' '.join(map(str, shrunk.ids))}]]",
    ]
