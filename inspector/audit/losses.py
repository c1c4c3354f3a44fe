"""Findings from token ids: what was generated and did not arrive as promised, and what the judge refused."""

from bisect import bisect_left
from collections.abc import Iterator

from inspector.alignment import Alignment, Extra, Fate, FateState
from inspector.audit.calls import call_findings, undelivered_calls
from inspector.audit.finding import Finding, Kind, Severity
from inspector.audit.words import events_of, field_words, quote, tokens_words
from inspector.deltas import CONTENT, REASONING
from inspector.harmony.text import text_of
from inspector.harmony.transcript import Refusal
from inspector.reading import ChoiceReading, Reading

__all__ = ["lost_findings", "refusal_findings"]

_MARKER = "<|"
_KINDS = {
    FateState.DROPPED: Kind.DROPPED,
    FateState.MISROUTED: Kind.MISROUTED,
    FateState.REORDERED: Kind.REORDERED,
    FateState.GARBLED: Kind.GARBLED,
    FateState.UNSERVED: Kind.UNSERVED,
}


def lost_findings(
    reading: Reading, choice: ChoiceReading, alignment: Alignment, *, ids_missing: bool = False
) -> Iterator[Finding]:
    """Findings for every fate that is not as promised, and for text that nobody generated there.

    With `ids_missing` only loss is a finding: where ids were not sent, headers may be missing, and text
    without tokens is theirs.
    """
    hidden = {REASONING} if reading.header.request.get("include_reasoning") is False else set()
    parsed = not reading.spec.raw
    undelivered = undelivered_calls(choice, alignment) if parsed else set()
    for fate in alignment.fates:
        if fate.state is FateState.OK and parsed and not ids_missing and _astray(choice, fate):
            yield _astray_finding(choice, fate)
        if fate.state is FateState.OK or (fate.state is FateState.DROPPED and fate.field in hidden):
            continue
        if ids_missing and fate.state is not FateState.DROPPED:
            continue
        if fate.state is FateState.UNSERVED and fate.message is None:
            continue  # refused tokens: one finding a run, below
        if fate.state is FateState.DROPPED and fate.field in undelivered:
            continue  # one finding for the call, in `calls`
        yield _fate_finding(choice, fate)
    if parsed:
        single = reading.header.request.get("parallel_tool_calls") is False
        yield from call_findings(choice, alignment, undelivered, single=single)
    if parsed and not ids_missing:
        yield from _swallowed(choice, alignment, told=bool(reading.stream.errors))
    for extra in alignment.extras if not ids_missing else ():
        yield _extra_finding(choice, extra)


def _fate_finding(choice: ChoiceReading, fate: Fate) -> Finding:
    kind = _KINDS[fate.state]
    where = tokens_words(fate.start, fate.end)
    severity = Severity.ERROR
    promised, arrived = field_words(fate.field), field_words(fate.delivered_in)
    match kind:
        case Kind.DROPPED:
            words = f"{quote(fate.generated)} ({where}) never reached {promised}."
        case Kind.MISROUTED if fate.field is None:
            words = (
                f"{quote(fate.generated)} ({where}) frames a message and was delivered as text in {arrived}."
            )
        case Kind.MISROUTED:
            words = f"{quote(fate.generated)} ({where}) belongs to {promised} and was delivered in {arrived}."
        case Kind.REORDERED:
            words = f"{quote(fate.generated)} ({where}) was delivered in {promised}, but in another order."
        case Kind.GARBLED:
            words = f"{quote(fate.generated)} ({where}) arrived as {quote(fate.delivered)} in {promised}."
        case _:
            severity = Severity.WARNING
            words = _unserved_words(choice, fate, where)
    start, end = events_of(choice, fate.start, fate.end)
    return Finding(
        kind=kind,
        severity=severity,
        explanation=words,
        field=fate.field,
        token_start=fate.start,
        token_end=fate.end,
        event_start=start,
        event_end=end,
        generated=fate.generated,
        delivered=_delivered(kind, fate),
        delivered_in=fate.delivered_in if kind is Kind.MISROUTED else None,
        choice=choice.index,
    )


def _astray(choice: ChoiceReading, fate: Fate) -> bool:
    """True for a call's text that a person reads as the answer, or whose header took a marker for a name.

    Calls on the analysis channel to tools of the server may stand in the reasoning; vLLM puts them there.
    """
    if fate.field is not None or fate.message is None or fate.delivered_in is None:
        return False
    header = choice.transcript.messages[fate.message].header
    if header.recipient is None and header.role == "assistant":
        return False
    return fate.delivered_in == CONTENT or _MARKER in (header.recipient or "")


def _astray_finding(choice: ChoiceReading, fate: Fate) -> Finding:
    start, end = events_of(choice, fate.start, fate.end)
    what = f"{quote(fate.generated)} ({tokens_words(fate.start, fate.end)})"
    return Finding(
        kind=Kind.UNSERVED,
        severity=Severity.WARNING,
        explanation=(
            f"{what} was generated with {_header_words(choice, fate)}, for which the endpoint promises no "
            f"field; it was delivered in {field_words(fate.delivered_in)}."
        ),
        token_start=fate.start,
        token_end=fate.end,
        event_start=start,
        event_end=end,
        generated=fate.generated,
        delivered=fate.generated,
        delivered_in=fate.delivered_in,
        choice=choice.index,
    )


def _delivered(kind: Kind, fate: Fate) -> str | None:
    if kind is Kind.GARBLED:
        return fate.delivered
    return "" if kind in {Kind.DROPPED, Kind.UNSERVED} else fate.generated


def _unserved_words(choice: ChoiceReading, fate: Fate, where: str) -> str:
    return (
        f"{quote(fate.generated)} ({where}) was generated with {_header_words(choice, fate)}, for which the "
        "endpoint promises no field; no field delivered it."
    )


def _header_words(choice: ChoiceReading, fate: Fate) -> str:
    assert fate.message is not None  # noqa: S101 -- the callers keep refused runs apart
    header = choice.transcript.messages[fate.message].header
    parts = [f"role {header.role}"] if header.role != "assistant" else []
    parts.append(f"channel {header.channel}" if header.channel else "no channel")
    if header.recipient:
        parts.append(f"recipient {header.recipient}")
    return ", ".join(parts)


def refusal_findings(choice: ChoiceReading) -> Iterator[Finding]:
    """What the judge refused: one finding a run."""
    for refusal in choice.transcript.refusals:
        if refusal.at < 0:
            yield _prompt_finding(choice, refusal)
            continue
        span = (refusal.start, refusal.at + 1) if refusal.in_header else (refusal.at, refusal.at + 1)
        event_start, event_end = events_of(choice, *span)
        yield Finding(
            kind=Kind.BAD_HEADER if refusal.in_header else Kind.UNEXPECTED_TOKEN,
            severity=Severity.ERROR,
            explanation=_refusal_words(choice, refusal),
            token_start=span[0],
            token_end=span[1],
            event_start=event_start,
            event_end=event_end,
            generated=text_of(choice.tokens.ids[span[0] : span[1]]),
            delivered=refusal.words,
            choice=choice.index,
        )


def _prompt_finding(choice: ChoiceReading, refusal: Refusal) -> Finding:
    return Finding(
        kind=Kind.BAD_HEADER if refusal.in_header else Kind.UNEXPECTED_TOKEN,
        severity=Severity.ERROR,
        explanation=f"The prompt itself breaks the format before the completion begins: {refusal.words}.",
        delivered=refusal.words,
        choice=choice.index,
    )


def _refusal_words(choice: ChoiceReading, refusal: Refusal) -> str:
    ids = choice.tokens.ids
    resumed = (
        f"Parsing resumes at token {refusal.end}."
        if refusal.end < len(ids)
        else "No <|start|> follows, so parsing never resumes."
    )
    token = text_of([ids[refusal.at]]) or str(ids[refusal.at])
    if refusal.in_header:
        header = quote(text_of(ids[refusal.start : refusal.at]))
        return f"The header {header} is refused at token {refusal.at}: {refusal.words}. {resumed}"
    expected = "where only <|start|> may follow" if str(refusal.state) == "between messages" else "here"
    return f"{quote(token)} (token {refusal.at}) is refused {expected}: {refusal.words}. {resumed}"


def _swallowed(choice: ChoiceReading, alignment: Alignment, *, told: bool) -> Iterator[Finding]:
    """Refused text that no field delivered, when the server told the client of no error."""
    if told:
        return
    ids = choice.tokens.ids
    loose = [fate for fate in alignment.fates if fate.message is None and fate.state is FateState.UNSERVED]
    for refusal in choice.transcript.refusals:
        first = bisect_left(loose, refusal.at, key=lambda fate: fate.start)
        last = bisect_left(loose, refusal.end, key=lambda fate: fate.start)
        lost = loose[first:last]
        if not lost:
            continue
        span = (lost[0].start, lost[-1].end)
        words = text_of(ids[span[0] : span[1]])
        event_start, event_end = events_of(choice, *span)
        yield Finding(
            kind=Kind.UNSERVED,
            severity=Severity.WARNING,
            explanation=(
                f"{quote(words)} ({tokens_words(*span)}) stands where the parser refuses it; the server "
                "reported no error and no field delivered it."
            ),
            token_start=span[0],
            token_end=span[1],
            event_start=event_start,
            event_end=event_end,
            generated=words,
            delivered="",
            choice=choice.index,
        )


def _extra_finding(choice: ChoiceReading, extra: Extra) -> Finding:
    words = f"{quote(extra.text)} was delivered in {field_words(extra.field)}"
    if extra.start is not None and extra.end is not None:
        words += f" once more than generated: it repeats {tokens_words(extra.start, extra.end)}."
    else:
        words += ", which no token generated there."
    return Finding(
        kind=Kind.DUPLICATED,
        severity=Severity.ERROR,
        explanation=words,
        field=extra.field,
        token_start=extra.start,
        token_end=extra.end,
        event_start=extra.event,
        event_end=(extra.event if extra.last_event is None else extra.last_event) + 1,
        delivered=extra.text,
        choice=choice.index,
    )
