"""How a response was transmitted: reported errors, closed connections, truncation, token counts, order."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from inspector.analysis.alignment import Alignment, alignments
from inspector.analysis.audit.facts import (
    BelowLimit,
    Disconnection,
    EndCode,
    Incomplete,
    LimitReached,
    NoFacts,
    OpenMessage,
    ProtocolNotice,
    RepeatedEvent,
    TokenCounts,
    UnexplainedCount,
    UnreportedLimit,
)
from inspector.analysis.audit.finding import Finding
from inspector.analysis.audit.kinds import KINDS, Code, Kind, Severity
from inspector.analysis.audit.missing_ids import IdsGap, covers, ids_missing
from inspector.analysis.audit.rejection import Rejection, rejection
from inspector.analysis.reading import ChoiceReading, Evidence, Reading
from inspector.capture.capture import ClosedBy, EventKind
from inspector.protocol.harmony.reconstruction import Certainty, Reconstruction
from inspector.protocol.harmony.spelling import TurnEnd
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.vocab import encode, encode_plain, is_endless
from inspector.protocol.wire.stream import Notice, ServerError, error_in, loads

_SLACK_TOKENS: Final = 8
_SLACK_PART: Final = 20
_SLACK_WITHOUT_ANSWER: Final = 3
"""Tokens that texts may leave unexplained before a count is doubted; fewer where no answer came at all."""
_SLACK_JOINED: Final = 20
"""The same on chat with an answer: its deltas merge the messages of a field, whose framing takes 6 tokens
each (`<|end|><|start|>assistant<|channel|>analysis<|message|>`), and up to three are usual before a call."""
_NOISE_PART: Final = 500
"""A sampled text encoded again may differ in one of this many tokens; such a difference is not reported."""
_ERROR_STATUS: Final = 400
_CLOSED_BY: Final[Mapping[ClosedBy, EndCode]] = {
    ClosedBy.CLIENT: Code.CLOSED_BY_CLIENT,
    ClosedBy.RECORDER: Code.CLOSED_BY_RECORDER,
}
_BODY_SHOWN: Final = 400
_OF_THE_WHOLE: Final = frozenset({"no_item", "item_id", "no_block", "sequence"})
"""Notices that say something only where all events are there."""


def server_errors(reading: Reading) -> list[ServerError]:
    """Errors that the server reported: in the stream, in the final object, or as the HTTP status."""
    errors = list(reading.stream.errors)
    status = reading.header.status
    if not errors:
        for number in reading.stream.bodies:
            if error := error_in(loads(reading.events[number].data), number, status):
                errors.append(error)
    if not errors and reading.stream.final_status == "failed":
        event = reading.stream.final_event or 0
        errors.append(ServerError(event=event, message="the response has the status failed, and no reason"))
    if not errors and status is not None and status >= 400:
        body = reading.events[reading.stream.bodies[0]].data if reading.stream.bodies else ""
        beginning = " ".join(body[:_BODY_SHOWN].split()) or "no body"
        errors.append(ServerError(event=0, message=f"HTTP {status}: {beginning}", code=status))
    return errors


def end_findings(reading: Reading, errors: Sequence[ServerError], *, ids_missing: bool) -> Iterator[Finding]:
    """Findings that need no text: how the stream ended, and its protocol."""
    for error in errors:
        yield Finding(
            facts=NoFacts(code=Code.SERVER_ERROR),
            kind=Kind.SERVER_ERROR,
            severity=Severity.ERROR,
            event_start=error.event if reading.events else None,
            event_end=error.event + 1 if reading.events else None,
            delivered=error.message,
        )
    if reading.ended and not reading.stopped and reading.excerpt is None:
        disconnected = _disconnected(reading, error_reported=bool(errors))
        if disconnected is not None:
            yield disconnected
        elif not errors:
            for choice in reading.choices:
                if not (ids_missing and choice.has_ids and choice.finish_reason is not None):
                    yield from _truncated(reading, choice)
            yield from _no_finish_reason(reading)
            yield from _no_done(reading)
            yield from _counts(reading)
    yield from _notices(reading)
    yield from _repeats(reading)


def _repeats(reading: Reading) -> Iterator[Finding]:
    numbered = reading.spec.numbered
    for event in sorted(reading.repeats):
        yield Finding(
            kind=Kind.DUPLICATED,
            severity=Severity.ERROR,
            facts=RepeatedEvent(notice="sequence" if numbered else None),
            event_start=event,
            event_end=event + 1,
        )


def _disconnected(reading: Reading, *, error_reported: bool) -> Finding | None:
    stream, end = reading.stream, reading.end
    if not reading.spec.delivers or stream.terminal_event is not None:
        return None
    cut = end is not None and end.cut
    finished = all(choice.finish_reason is not None for choice in reading.choices)
    if not cut and (error_reported or finished or stream.bodies):
        return None
    words = end.detail or None if end is not None else None
    code: EndCode = Code.CUT_AFTER_ERROR if error_reported else Code.CUT
    if end is not None and end.closed_by is not None:
        code = _CLOSED_BY[end.closed_by]
    kind = Kind.ABORTED if code in _CLOSED_BY.values() else Kind.DISCONNECTED
    last = len(reading.events)
    return Finding(
        kind=kind,
        severity=KINDS[kind].severity,
        facts=Disconnection(code=code, words=words, detail=reading.spec.end),
        event_start=last - 1 if last else None,
        event_end=last if last else None,
        delivered=words,
    )


def _truncated(reading: Reading, choice: ChoiceReading) -> Iterator[Finding]:
    reason = choice.finish_reason
    if not choice.has_ids:
        if reading.stream.final_status in {"incomplete", "cancelled"}:
            below_limit = _below_limit(reading)
            why = reading.stream.incomplete_reason
            yield Finding(
                kind=Kind.TRUNCATED,
                severity=Severity.WARNING,
                facts=Incomplete(reason=why)
                if below_limit is None
                else BelowLimit(reason=why, counted=below_limit[0], limit=below_limit[1]),
                event_start=reading.stream.final_event,
                event_end=(reading.stream.final_event or 0) + 1,
                choice=choice.index,
            )
        elif reason == "length":
            yield Finding(
                kind=Kind.TRUNCATED,
                severity=Severity.WARNING,
                facts=LimitReached(finish_reason=reason),
                choice=choice.index,
            )
        elif (limit := _limit_reached(reading)) is not None:
            yield Finding(
                kind=Kind.TRUNCATED,
                severity=Severity.WARNING,
                facts=UnreportedLimit(limit=limit),
                event_start=reading.stream.final_event,
                event_end=(reading.stream.final_event or 0) + 1,
                choice=choice.index,
            )
        return
    messages = choice.transcript.messages
    if not messages or not choice.tokens:
        return
    last = messages[-1]
    open_at_end = not last.complete and last.end >= len(choice.tokens)
    # A stop string of the request may end a body anywhere; then the finish reason is `stop`, or is lost. In a
    # header it means that <|message|> never came: the header took all that followed, <|return|> too.
    # `tool_calls` says nothing: vLLM 0.23 sends it for calls that the token limit cut off too.
    may_stop = reason == "stop" or (reason is None and reading.spec.delivers)
    if not open_at_end or (last.in_body and may_stop):
        return
    yield Finding(
        kind=Kind.TRUNCATED,
        severity=Severity.WARNING,
        facts=OpenMessage(in_header=not last.in_body, channel=last.header.channel, finish_reason=reason),
        token_start=last.start,
        token_end=last.end,
        generated=text_of(choice.tokens.ids[last.body : last.body_end]) if last.in_body else None,
        choice=choice.index,
    )


def _below_limit(reading: Reading) -> tuple[int, int] | None:
    """Tokens and limit, where the server blames a limit that was not reached for an empty output."""
    final = reading.stream.final_object or {}
    limit, counted = final.get("max_output_tokens"), reading.stream.counted
    blamed = reading.stream.incomplete_reason == "max_output_tokens"
    if not blamed or final.get("output") or type(limit) is not int or counted is None:
        return None
    return (counted, limit) if counted < limit else None


def _limit_reached(reading: Reading) -> int | None:
    """The limit of a Responses request, when the server used all of it and calls the answer completed."""
    final = reading.stream.final_object or {}
    limit = reading.header.request.get("max_output_tokens", final.get("max_output_tokens"))
    if reading.stream.final_status != "completed" or type(limit) is not int or limit < 1:
        return None
    return limit if reading.stream.counted == limit else None


def _no_finish_reason(reading: Reading) -> Iterator[Finding]:
    """A response without a `finish_reason` in any choice: an agent that waits for it never stops."""
    if not reading.spec.delivers or reading.spec.final_object:
        return
    if any(choice.finish_reason is not None for choice in reading.choices) or not reading.events:
        return
    if reading.header.from_client and reading.stream.bodies:
        return  # a client that logs the parts of a response does so before its end
    yield Finding(
        facts=NoFacts(code=Code.NO_FINISH_REASON),
        kind=Kind.PROTOCOL,
        severity=Severity.WARNING,
        event_start=len(reading.events) - 1,
        event_end=len(reading.events),
    )


def _no_done(reading: Reading) -> Iterator[Finding]:
    streamed = any(event.kind is EventKind.SSE for event in reading.events)
    if not reading.spec.delivers or reading.spec.final_object or not streamed or reading.header.from_client:
        return
    if reading.stream.terminal_event is None:
        yield Finding(
            facts=NoFacts(code=Code.NO_DONE),
            kind=Kind.PROTOCOL,
            severity=Severity.WARNING,
            event_start=len(reading.events) - 1,
            event_end=len(reading.events),
        )


def _counts(reading: Reading) -> Iterator[Finding]:
    counted = reading.stream.counted
    if counted is None:
        return
    if all(choice.evidence in {Evidence.TOKEN_IDS, Evidence.LOGPROBS} for choice in reading.choices):
        received = sum(len(choice.tokens) for choice in reading.choices)
        if received != counted:
            yield Finding(
                kind=Kind.COUNT_MISMATCH,
                severity=Severity.WARNING,
                facts=TokenCounts(
                    code=_count_code(reading, above=counted > received),
                    counted=counted,
                    seen=received,
                    logprobs=_by_logprobs(reading) or None,
                ),
                generated=str(counted),
                delivered=str(received),
            )
        return
    if any(choice.has_ids for choice in reading.choices) or len(reading.choices) != 1:
        return
    if reading.hides_reasoning:
        return
    reconstruction = reading.choice.reconstruction
    if reading.spec.final_object:
        if reconstruction is not None and reconstruction.ending is TurnEnd.STOPPED:
            yield from _beyond_final(reconstruction)
        return
    if reading.choice.finish_reason == "length":
        return  # what the limit cut off was generated, and is in no field
    explained = explained_tokens(reading)
    if explained is None:
        return
    delivered = reading.choice.delivered()
    answered = bool(delivered.content or delivered.tool_calls)
    # Encoding a text again need not give the sampled tokens back, and an empty message leaves no text.
    slack = max(_SLACK_JOINED, counted // _SLACK_PART) if answered else _SLACK_WITHOUT_ANSWER
    missing = counted - explained
    if missing >= slack:
        yield Finding(
            kind=Kind.COUNT_MISMATCH,
            severity=Severity.WARNING,
            facts=UnexplainedCount(counted=counted, seen=explained),
            generated=str(counted),
            delivered=str(explained),
        )


def _beyond_final(reconstruction: Reconstruction) -> Iterator[Finding]:
    """Tokens that the server counted and the messages of its final object do not take."""
    if reconstruction.counted is None or reconstruction.missing * _NOISE_PART <= len(reconstruction.ids):
        return
    if any(fit.untold for fit in reconstruction.fits):
        return  # no more than a header that the output items leave out
    slack = max(_SLACK_TOKENS, reconstruction.counted // _SLACK_PART)
    if reconstruction.certainty is not Certainty.DIFFERS and reconstruction.missing < slack:
        return
    yield Finding(
        kind=Kind.COUNT_MISMATCH,
        severity=Severity.WARNING,
        reconstructed=True,
        facts=UnexplainedCount(
            counted=reconstruction.counted,
            seen=len(reconstruction.ids),
            fits=tuple(dict.fromkeys(fit.what for fit in reconstruction.fits)) or None,
        ),
        generated=str(reconstruction.counted),
        delivered=str(len(reconstruction.ids)),
    )


def _by_logprobs(reading: Reading) -> bool:
    return reading.choice.evidence is Evidence.LOGPROBS


def _count_code(
    reading: Reading, *, above: bool
) -> Literal[Code.COUNT_ABOVE_SENT, Code.COUNT_ABOVE_LOGPROBS, Code.COUNT_BELOW_SENT]:
    if not above:
        return Code.COUNT_BELOW_SENT
    return Code.COUNT_ABOVE_LOGPROBS if _by_logprobs(reading) else Code.COUNT_ABOVE_SENT


def _notices(reading: Reading) -> Iterator[Finding]:
    # An error page that is not JSON is reported as the server's error already.
    rejected = reading.header.status is not None and reading.header.status >= _ERROR_STATUS
    excerpt = reading.excerpt is not None and reading.excerpt.is_certain
    for notice in reading.stream.notices.values():
        unfounded = excerpt and _kind_of(notice) in _OF_THE_WHOLE
        if not unfounded and not (rejected and notice.key == "not_json"):
            yield _notice_finding(notice)


def _kind_of(notice: Notice) -> str:
    return notice.key.partition(":")[0]


def _notice_finding(notice: Notice) -> Finding:
    return Finding(
        kind=Kind.PROTOCOL,
        severity=Severity.WARNING,
        facts=ProtocolNotice(notice=_kind_of(notice), detail=notice.detail, times=notice.times),
        field=notice.field,
        event_start=notice.event,
        event_end=notice.last + 1,
    )


_OPENING: Final = 2
"""`<|start|>assistant`, which the prompt gives for the first message."""


def explained_tokens(reading: Reading) -> int | None:
    """Tokens of the messages that the deltas account for; None for other endpoints, and texts without words.

    None too where the server called a tool of its own, whose result may be counted. For Responses see
    `harmony.reconstruction`.
    """
    if not reading.spec.parsed or reading.spec.final_object or reading.choice.delivered().other:
        return None
    messages = list(_chat_messages(reading))
    if any(is_endless(text) for message in messages for text in message):
        return None
    framed = sum(len(encode(header)) + len(encode_plain(body)) + 1 for header, body in messages)
    return framed + _OPENING * max(len(messages) - 1, 0)


def _header(channel: str, recipient: str | None = None, content_type: str | None = None) -> str:
    to = f" to={recipient}" if recipient else ""
    kind = f" {content_type}" if content_type else ""
    return f"<|channel|>{channel}{to}{kind}<|message|>"


def _chat_messages(reading: Reading) -> Iterator[tuple[str, str]]:
    delivered = reading.choice.delivered()
    if delivered.reasoning:
        yield _header("analysis"), delivered.reasoning
    if delivered.content:
        yield _header("final"), delivered.content
    for call in delivered.tool_calls:
        yield _header("commentary", f"functions.{call.name}", "<|constrain|>json"), call.arguments


@dataclass(frozen=True, slots=True, kw_only=True)
class Transmission:
    """What the server sent besides texts and tokens, and whether it sent the IDs of all tokens."""

    errors: Sequence[ServerError]
    gap: IdsGap | None
    """Why IDs are missing, or may be; None where all are there."""
    covered: bool
    """Whether the evidence is of the whole response."""
    rejection: Rejection | None
    """The token or header that the server's parser rejected, as its error says."""

    @property
    def ids_missing(self) -> bool:
        """Whether the server did not send the IDs of all tokens, or may not have."""
        return self.gap is not None


def transmission_of(reading: Reading, aligned: Mapping[int, Alignment | None] | None = None) -> Transmission:
    """The transmission of a reading; `aligned` are its alignments, computed where they are not passed."""
    errors = server_errors(reading)
    gap = ids_missing(reading, alignments(reading) if aligned is None else aligned)
    return Transmission(
        errors=errors,
        gap=gap,
        covered=covers(reading, gap),
        rejection=rejection(reading, errors, ids_missing=gap is not None),
    )
