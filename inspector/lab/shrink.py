"""The shortest token list that still fails on a real server: delta debugging, one request a try.

What a server loses depends on the server and on how its engine cuts the tokens into steps, so only the
server can say whether a part of a stream still fails. `inspector.views.report` does the same for what tokens
alone decide.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from inspector.analysis.audit import Finding, Kind, Severity, audit, explain
from inspector.analysis.reading import read
from inspector.capture.capture import Capture, Endpoint
from inspector.capture.deltas import tool_index
from inspector.capture.errors import LabError
from inspector.lab.recording import Target, ask
from inspector.lab.scripts import STOPS, Script
from inspector.protocol.harmony.vocab import Marker
from inspector.protocol.wire.endpoints import spec_of
from inspector.views.report.shrink import minimal

_TOKENS_ALONE: Final = {Kind.UNEXPECTED_TOKEN, Kind.BAD_HEADER}
_CONFIRMATIONS: Final = 3

Ask = Callable[[Sequence[int]], Capture]
"""What a server does with some token ids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shrunk:
    """A token list that still shows a finding of a capture."""

    ids: list[int]
    finding: Finding
    """What the server does with `ids`."""
    capture: Capture
    """The answer in which it did."""
    whole: int
    """Tokens that the search began with."""
    tries: int
    """Requests that were made."""
    minimal: bool
    """True when no single token can be left out."""
    failed: int
    """How often it failed when it was asked again, of `asked`; old releases lose tokens by chance."""
    asked: int


def wanted(capture: Capture) -> Finding:
    """The first error of a capture that is the server's; raises LabError when there is none."""
    found = _findings(capture, capture.header.script)
    errors = [one for one in found if one.severity is Severity.ERROR and one.kind not in _TOKENS_ALONE]
    if errors:
        return errors[0]
    raise LabError(
        "this capture has no server error; `inspector report` shrinks failures that depend only on tokens"
    )


def asker(base_url: str, script: Script, endpoint: Endpoint, *, version: str, stream_interval: int) -> Ask:
    """Asks a lab server to sample some ids as `script` is asked for: same tools, same endpoint."""

    def asked(ids: Sequence[int]) -> Capture:
        target = Target(endpoint, replace(script, turns=(tuple(ids),)))
        marker = f"[[tokens {' '.join(map(str, ids))}]]"
        return ask(base_url, target, version=version, stream_interval=stream_interval, marker=marker)

    return asked


def shrink(
    capture: Capture,
    ids: Sequence[int],
    server: Ask,
    *,
    tries: int = 300,
    say: Callable[[str], None] = print,
) -> Shrunk:
    """Shrink `ids`, the tokens of `capture`, while the server still does what the capture shows.

    `tries` bounds the requests. Raises LabError when the capture has no error of the server, and when the
    server does not show it with all ids.
    """
    goal = wanted(capture)
    known: dict[tuple[int, ...], tuple[Finding, Capture] | None] = {}

    def shown(some: Sequence[int]) -> tuple[Finding, Capture] | None:
        asked = _stopped(some)
        if asked not in known and len(known) < tries:
            answer = server(asked)
            alike = next((one for one in _findings(answer, asked) if _alike(one, goal)), None)
            known[asked] = None if alike is None else (alike, answer)
            if alike is not None:
                say(f"{len(some)} tokens: {explain(alike)}")
        return known.get(asked)

    if shown(ids) is None:
        raise LabError(
            "the server does not reproduce the failure with these tokens; use the capture's version, and as "
            "many tokens per step as its events have"
        )
    shortest, done = minimal(ids, lambda some: shown(some) is not None)
    last = shown(shortest)
    assert last is not None  # noqa: S101 -- `minimal` gives what fails, and the whole did
    again = [server(_stopped(shortest)) for _ in range(_CONFIRMATIONS)]
    failed = sum(any(_alike(one, goal) for one in _findings(answer, _stopped(shortest))) for answer in again)
    return Shrunk(
        ids=shortest,
        finding=last[0],
        capture=last[1],
        whole=len(ids),
        tries=len(known) + len(again),
        minimal=done and len(known) < tries,
        failed=failed,
        asked=len(again),
    )


def _stopped(ids: Sequence[int]) -> tuple[int, ...]:
    """The ids up to their first stop token; one is put at the end where there is none, as the lab does."""
    stop = next((place + 1 for place, token_id in enumerate(ids) if token_id in STOPS), None)
    return tuple(ids[:stop]) if stop else (*ids, Marker.RETURN.value)


def _findings(capture: Capture, ids: Sequence[int] | None) -> list[Finding]:
    # Responses sends no ids; the lab knows what was sampled.
    truth = None if spec_of(capture.header.endpoint).carries_ids else ids
    return audit(read(capture, truth=truth))


def _alike(one: Finding, goal: Finding) -> bool:
    """The same failure: kind and fields, and for an error its words; numbers of tool calls aside."""
    if one.kind is not goal.kind or one.severity is not goal.severity:
        return False
    if goal.kind is Kind.SERVER_ERROR:
        return one.delivered == goal.delivered
    return _lane(one.field) == _lane(goal.field) and _lane(one.delivered_in) == _lane(goal.delivered_in)


def _lane(field: str | None) -> str | None:
    return field if field is None or tool_index(field) is None else field.rsplit(".", 1)[-1]
