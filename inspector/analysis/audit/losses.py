"""Findings from token IDs: text that was not delivered as promised, and what the reference parser rejects."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Literal, assert_never

from inspector.analysis.alignment import Alignment, Extra, Fate, FateState
from inspector.analysis.alignment.calls import renumbered
from inspector.analysis.audit.calls import call_findings, undelivered_calls
from inspector.analysis.audit.facts import (
    CallAsText,
    Facts,
    NoFacts,
    ParserRejection,
    PromptRejection,
    TextWithoutField,
)
from inspector.analysis.audit.finding import Finding
from inspector.analysis.audit.kinds import KINDS, Code, Kind, Severity
from inspector.analysis.audit.missing_ids import unexplained_text
from inspector.analysis.audit.words import events_of
from inspector.analysis.reading import ChoiceReading, Reading
from inspector.capture.deltas import CONTENT, REASONING
from inspector.protocol.harmony.contract import FUNCTIONS
from inspector.protocol.harmony.parser_errors import parser_error
from inspector.protocol.harmony.states import State
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.transcript import RejectedRun

_SPECIAL = "<|"


def lost_findings(reading: Reading, choice: ChoiceReading, alignment: Alignment) -> Iterator[Finding]:
    """A finding for each run of tokens not delivered to its field, and for text without a source."""
    hidden = {REASONING} if reading.hides_reasoning else set()
    parsed = not reading.spec.raw
    undelivered = undelivered_calls(choice, alignment) if parsed else set()

    def finding_of(fate: Fate) -> Finding | None:
        match fate.state:
            case FateState.OK:
                return _astray_finding(choice, fate) if parsed and _astray(choice, fate) else None
            case FateState.LEFT_OUT | FateState.UNSENT:
                return None
            case FateState.DROPPED:  # a call that was lost whole is one finding of `call_findings`
                expected = fate.field in hidden or fate.field in undelivered
                return None if expected else _fate_finding(choice, fate, fate.state)
            case FateState.UNSERVED if fate.message is None:
                return None  # rejected tokens: `_swallowed` makes one finding of a run
            case FateState.MISROUTED | FateState.REORDERED | FateState.GARBLED | FateState.UNSERVED:
                return _fate_finding(choice, fate, fate.state)
            case _:
                assert_never(fate.state)

    yield from filter(None, map(finding_of, alignment.fates))
    if parsed:
        single = reading.header.request.get("parallel_tool_calls") is False
        yield from call_findings(choice, alignment, undelivered, single=single)
        yield from _swallowed(choice, alignment, error_reported=bool(reading.stream.errors))
    for extra in alignment.extras:
        yield _extra_finding(choice, extra)


_Wrong = Literal[
    FateState.DROPPED, FateState.MISROUTED, FateState.REORDERED, FateState.GARBLED, FateState.UNSERVED
]


def _kind_and_facts(choice: ChoiceReading, fate: Fate, state: _Wrong) -> tuple[Kind, Facts]:
    match state:
        case FateState.DROPPED:
            return Kind.DROPPED, NoFacts(code=Code.TEXT_LOST)
        case FateState.MISROUTED:
            if fate.field is None:
                return Kind.MISROUTED, NoFacts(code=Code.FRAMING_AS_TEXT)
            if (call := _call_on_final(choice, fate)) is not None:
                return Kind.MISROUTED, call
            return Kind.MISROUTED, NoFacts(code=Code.TEXT_IN_OTHER_FIELD)
        case FateState.REORDERED:
            return Kind.REORDERED, NoFacts(code=Code.TEXT_REORDERED)
        case FateState.GARBLED:
            return Kind.GARBLED, NoFacts(code=Code.TEXT_CHANGED)
        case FateState.UNSERVED:
            return Kind.UNSERVED, _text_without_field(choice, fate, Code.NO_FIELD)
        case _:
            assert_never(state)


def _call_on_final(choice: ChoiceReading, fate: Fate) -> CallAsText | None:
    """A call on the final channel that arrived as text: vLLM's Rust front end reads no recipient there."""
    if fate.message is None or fate.delivered_in != CONTENT:
        return None
    header = choice.transcript.messages[fate.message].header
    recipient = header.recipient or ""
    if header.channel != "final" or not recipient.startswith(FUNCTIONS):
        return None
    return CallAsText(name=recipient.removeprefix(FUNCTIONS), channel=header.channel)


def _fate_finding(choice: ChoiceReading, fate: Fate, state: _Wrong) -> Finding:
    kind, facts = _kind_and_facts(choice, fate, state)
    start, end = events_of(choice, fate.start, fate.end)
    return Finding(
        kind=kind,
        severity=KINDS[kind].severity,
        field=fate.field,
        token_start=fate.start,
        token_end=fate.end,
        event_start=start,
        event_end=end,
        generated=fate.generated,
        delivered=_delivered(kind, fate),
        delivered_in=fate.delivered_in if kind is Kind.MISROUTED else None,
        choice=choice.index,
        facts=facts,
    )


def _astray(choice: ChoiceReading, fate: Fate) -> bool:
    """True for a call's text in the answer, and for a call whose name contains a special token.

    Calls of the server's own tools on the analysis channel may be in the reasoning, where vLLM puts them.
    """
    if fate.field is not None or fate.message is None or fate.delivered_in is None:
        return False
    header = choice.transcript.messages[fate.message].header
    if header.recipient is None and header.role == "assistant":
        return False
    return fate.delivered_in == CONTENT or _SPECIAL in (header.recipient or "")


def _astray_finding(choice: ChoiceReading, fate: Fate) -> Finding:
    start, end = events_of(choice, fate.start, fate.end)
    return Finding(
        kind=Kind.UNSERVED,
        severity=Severity.WARNING,
        facts=_text_without_field(choice, fate, Code.NO_FIELD_DELIVERED),
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


def _text_without_field(
    choice: ChoiceReading, fate: Fate, code: Literal[Code.NO_FIELD, Code.NO_FIELD_DELIVERED]
) -> TextWithoutField:
    assert fate.message is not None  # noqa: S101 -- the callers handle rejected runs
    header = choice.transcript.messages[fate.message].header
    return TextWithoutField(code=code, role=header.role, channel=header.channel, recipient=header.recipient)


def parser_rejections(choice: ChoiceReading) -> Iterator[Finding]:
    """What the reference parser rejects: one finding per run."""
    for rejected_run in choice.transcript.rejected_runs:
        if rejected_run.at < 0:
            yield _prompt_finding(choice, rejected_run)
            continue
        span = (
            (rejected_run.start, rejected_run.at + 1)
            if rejected_run.in_header
            else (rejected_run.at, rejected_run.at + 1)
        )
        event_start, event_end = events_of(choice, *span)
        yield Finding(
            kind=Kind.BAD_HEADER if rejected_run.in_header else Kind.UNEXPECTED_TOKEN,
            severity=Severity.ERROR,
            facts=_rejection_facts(choice, rejected_run),
            token_start=span[0],
            token_end=span[1],
            event_start=event_start,
            event_end=event_end,
            generated=text_of(choice.tokens.ids[span[0] : span[1]]),
            delivered=rejected_run.words,
            choice=choice.index,
        )


def _prompt_finding(choice: ChoiceReading, rejected_run: RejectedRun) -> Finding:
    return Finding(
        kind=Kind.BAD_HEADER if rejected_run.in_header else Kind.UNEXPECTED_TOKEN,
        severity=Severity.ERROR,
        facts=PromptRejection(words=rejected_run.words),
        delivered=rejected_run.words,
        choice=choice.index,
    )


def _rejection_facts(choice: ChoiceReading, rejected_run: RejectedRun) -> ParserRejection:
    ids = choice.tokens.ids
    error = parser_error(rejected_run.words)
    return ParserRejection(
        code=Code.HEADER_REJECTED if rejected_run.in_header else Code.TOKEN_REJECTED,
        words=rejected_run.words,
        token_id=None if rejected_run.in_header else ids[rejected_run.at],
        quoted=None if error is None else error.quoted or None,
        header_sent=True if rejected_run.in_header else None,
        ended=True if rejected_run.in_header else None,
        between=rejected_run.state is State.BETWEEN,
        resumes_at=rejected_run.end if rejected_run.end < len(ids) else None,
    )


def _swallowed(choice: ChoiceReading, alignment: Alignment, *, error_reported: bool) -> Iterator[Finding]:
    """Rejected text that no field delivered, when the server reported no error."""
    if error_reported:
        return
    ids = choice.tokens.ids
    loose = [fate for fate in alignment.fates if fate.message is None and fate.state is FateState.UNSERVED]
    for rejected_run in choice.transcript.rejected_runs:
        first = bisect_left(loose, rejected_run.at, key=lambda fate: fate.start)
        last = bisect_left(loose, rejected_run.end, key=lambda fate: fate.start)
        lost = loose[first:last]
        if not lost:
            continue
        span = (lost[0].start, lost[-1].end)
        words = text_of(ids[span[0] : span[1]])
        event_start, event_end = events_of(choice, *span)
        yield Finding(
            kind=Kind.UNSERVED,
            severity=Severity.WARNING,
            facts=NoFacts(code=Code.REJECTED_SILENTLY),
            token_start=span[0],
            token_end=span[1],
            event_start=event_start,
            event_end=event_end,
            generated=words,
            delivered="",
            choice=choice.index,
        )


def text_without_ids(choice: ChoiceReading, alignment: Alignment) -> Iterator[Finding]:
    """Delivered text that no token accounts for, where its IDs may be missing; one finding per field."""
    by_field: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    for event, field, text in unexplained_text(choice, alignment):
        by_field[field].append((event, text))
    for field, texts in by_field.items():
        yield Finding(
            kind=Kind.TEXT_WITHOUT_IDS,
            severity=Severity.WARNING,
            facts=NoFacts(code=Code.TEXT_WITHOUT_IDS),
            field=field,
            event_start=min(event for event, _ in texts),
            event_end=max(event for event, _ in texts) + 1,
            delivered="".join([text for _, text in texts]),
            choice=choice.index,
        )


def unaccounted_texts(
    choice: ChoiceReading, alignment: Alignment, findings: Iterable[Finding], *, unstreamed: bool
) -> Iterator[Finding]:
    """The last check, by the texts themselves: a field without a finding has those of its tokens, in order.

    Beside them are only separators and text that has no field; a body has line feeds between its messages.
    """
    explained = {field for finding in findings for field in (finding.field, finding.delivered_in)}
    pieces: defaultdict[str, list[tuple[int, str, int]]] = defaultdict(list)
    for fate in alignment.fates:
        if fate.delivered_in is not None and fate.delivered_in not in explained:
            own = fate.field == fate.delivered_in
            pieces[fate.delivered_in] += [
                (arrival.at, arrival.text, arrival.start if own else -1) for arrival in fate.arrivals
            ]
    for extra in alignment.extras:
        pieces[extra.field].append((extra.at, extra.text, -1))
    for field, deltas in renumbered(choice, alignment.calls).items():
        if field in explained or field.endswith(".name"):
            continue
        text = "".join([delta.text for delta in deltas])
        at, last = 0, -1
        for start, piece, token in sorted(pieces[field]):
            at += unstreamed and start == at + 1 and text.startswith("\n", at)
            if start != at or not text.startswith(piece, at) or -1 < token <= last:
                break
            at, last = at + len(piece), max(token, last)
        else:
            if at == len(text):
                continue
        yield Finding(
            kind=Kind.GARBLED,
            severity=KINDS[Kind.GARBLED].severity,
            facts=NoFacts(code=Code.TEXT_CHANGED),
            field=field,
            event_start=deltas[0].event,
            event_end=deltas[-1].event + 1,
            generated=choice.expected.text(field, choice.tokens.ids),
            delivered=text,
            choice=choice.index,
        )


def _extra_finding(choice: ChoiceReading, extra: Extra) -> Finding:
    repeats = extra.start is not None and extra.end is not None
    kind = Kind.ADDED if extra.separates else Kind.DUPLICATED
    facts = (
        NoFacts(code=Code.SEPARATOR_ADDED)
        if extra.separates
        else NoFacts(code=Code.TEXT_REPEATED if repeats else Code.TEXT_INVENTED)
    )
    return Finding(
        facts=facts,
        kind=kind,
        severity=KINDS[kind].severity,
        field=extra.field,
        token_start=extra.start,
        token_end=extra.end,
        event_start=extra.event,
        event_end=(extra.event if extra.last_event is None else extra.last_event) + 1,
        delivered=extra.text,
        choice=choice.index,
    )
