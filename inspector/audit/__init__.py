"""A reading to findings: generated against delivered, on whatever evidence is there.

`generated` is computed from token ids alone, `delivered` from deltas alone; without ids the server's
final texts are held against its deltas. One cause is one finding.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from inspector.alignment import Alignment, Ending, align
from inspector.alignment.cells import visible
from inspector.audit.calls import broken_arguments, nameless_calls
from inspector.audit.ends import end_findings, server_errors
from inspector.audit.finals import final_findings
from inspector.audit.finding import Finding, Kind, Severity
from inspector.audit.losses import lost_findings, refusal_findings
from inspector.audit.missing_ids import ids_missing
from inspector.audit.rejection import Rejection, rejection
from inspector.audit.rejection_findings import rejection_findings
from inspector.capture import Endpoint, EventKind
from inspector.deltas import Delta, tool_index
from inspector.harmony.text import text_of
from inspector.harmony.vocab import Marker
from inspector.reading import ChoiceReading, Evidence, Reading
from inspector.wire.stream import token_ids

__all__ = [
    "Finding",
    "Kind",
    "Rejection",
    "Severity",
    "alignment",
    "audit",
    "ids_missing",
    "rejection",
    "server_errors",
]


def audit(reading: Reading) -> list[Finding]:
    """All findings of a reading, errors before warnings, then in the order of the stream."""
    found = list(_findings(reading))
    found.sort(key=_order)
    return found


def alignment(reading: Reading, choice: ChoiceReading) -> Alignment | None:
    """Where the tokens of a choice were delivered; None when that cannot be told."""
    endpoint, request = reading.header.endpoint, reading.header.request
    if not choice.has_ids or endpoint is Endpoint.TOKENS:
        return None
    raw = endpoint is Endpoint.COMPLETIONS
    if raw:
        shown = _without_prompt(reading, choice)
        if shown is None:
            return None  # the prompt stands before the text, and it is not known
        choice = shown
    return align(
        choice,
        raw=raw,
        skip_special=raw and _skips_special(request, choice),
        ending=Ending(
            stops=_strings(request.get("stop")),
            stop_ids=frozenset(token_ids(request.get("stop_token_ids"))),
            included=request.get("include_stop_str_in_output") is True,
        ),
        unstreamed=_unstreamed(reading, choice),
    )


def _skips_special(request: Mapping[str, Any], choice: ChoiceReading) -> bool:
    """Whether a completion leaves markers out; where the request does not say, markers in its text do."""
    asked = request.get("skip_special_tokens")
    if isinstance(asked, bool):
        return asked
    text = "".join([delta.text for delta in choice.deltas])
    return not any(marker.text in text for marker in Marker)


def _without_prompt(reading: Reading, choice: ChoiceReading) -> ChoiceReading | None:
    """The choice without the prompt that `echo` puts before its text, as vLLM's ids are of the answer only.

    None where the prompt is asked for and not known.
    """
    request = reading.header.request
    echo, asked = request.get("echo"), request.get("prompt")
    if echo is False or (echo is None and request):
        return choice
    ids = reading.stream.prompt_ids or token_ids(asked)
    prompt = asked if isinstance(asked, str) else text_of(ids) if ids else None
    text = "".join([delta.text for delta in choice.deltas])
    if not request and prompt is None:  # a dump without its request: all before the answer is the prompt
        ids = choice.tokens.ids
        answers = (text_of(visible(some, skip)) for some in (ids, ids[:-1]) for skip in (False, True))
        answer = next((one for one in answers if one and text.endswith(one)), text)
        prompt = text.removesuffix(answer)
    if prompt is None or not text.startswith(prompt):
        return None if echo else choice
    left, deltas = len(prompt), list[Delta]()
    for delta in choice.deltas:
        rest = delta.text[left:]
        left = max(left - len(delta.text), 0)
        if rest:
            deltas.append(Delta(delta.event, delta.field, rest))
    return replace(choice, deltas=deltas)


def _strings(value: object) -> tuple[str, ...]:
    one = value if isinstance(value, list) else [value]
    return tuple(item for item in one if isinstance(item, str) and item)


def _unstreamed(reading: Reading, choice: ChoiceReading) -> bool:
    """True when the answer came as one body."""
    first = choice.deltas[0].event if choice.deltas else -1
    return 0 <= first < len(reading.events) and reading.events[first].kind is EventKind.BODY


def _findings(reading: Reading) -> Iterator[Finding]:
    holes = ids_missing(reading)
    for choice in reading.choices:
        if choice.has_ids:
            if not holes:
                yield from refusal_findings(choice)
            laid = alignment(reading, choice)
            if laid is not None:
                lost = list(lost_findings(reading, choice, laid, ids_missing=holes))
                yield from lost
                yield from _nameless(reading, choice, lost)
            if holes and reading.header.endpoint is Endpoint.CHAT:
                yield from broken_arguments(choice)
        elif choice.evidence is Evidence.FINAL_OBJECT:
            yield from final_findings(reading, choice)
        else:
            yield from _nameless(reading, choice, ())
            if reading.header.endpoint is Endpoint.CHAT:
                yield from broken_arguments(choice)
    yield from rejection_findings(reading)
    yield from end_findings(reading, holes=holes)


def _nameless(reading: Reading, choice: ChoiceReading, found: Iterable[Finding]) -> Iterator[Finding]:
    if reading.header.endpoint is Endpoint.CHAT:
        told = {tool_index(field or "") for one in found for field in (one.field, one.delivered_in)}
        yield from nameless_calls(choice, told)


def _order(finding: Finding) -> tuple[bool, int, int, int]:
    far = 1 << 60
    return (
        finding.severity is not Severity.ERROR,
        finding.choice,
        finding.token_start if finding.token_start is not None else far,
        finding.event_start if finding.event_start is not None else far,
    )
