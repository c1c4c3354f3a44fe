"""Where the server's parser stopped, from the words of its error and the tokens that it had sent.

vLLM to 0.31 parses a step before it sends it: when its parser rejects a token, nothing of that step is sent.
The error names the rejected token or quotes the rejected header, and the tokens sent so far show which tokens
must be missing between them. Nothing more is derived: a gap holds what the error implies and is otherwise
open.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from typing import Literal, assert_never

from inspector.analysis.audit.facts import Implied, Missing, ServerRejection
from inspector.analysis.audit.finding import Finding
from inspector.analysis.audit.kinds import Code, Kind, Severity
from inspector.analysis.audit.words import events_of
from inspector.analysis.reading import ChoiceReading, Reading
from inspector.protocol.harmony.parser_errors import ParserError, RejectionReason
from inspector.protocol.harmony.text import text_of, texts
from inspector.protocol.harmony.vocab import MARKERS, Marker
from inspector.protocol.wire.stream import ServerError

_HeaderReason = Literal[
    RejectionReason.UNKNOWN_ROLE,
    RejectionReason.NO_ROLE,
    RejectionReason.NO_CHANNEL,
    RejectionReason.EXTRA_WORDS,
    RejectionReason.UNDECODABLE,
]
"""Why a header is rejected at its end."""


class UnsentKind(StrEnum):
    """What a cell after the last token sent stands for."""

    GAP = "gap"
    """Lost tokens before the rejected one; their number is not known."""
    TOKEN = "token"
    """The token at which the parser stopped."""
    HEADER = "header"
    """A header whose tokens were all withheld."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """A token or header that the server's parser rejected, as its error says."""

    error: ParserError
    words: str
    """The server's whole message."""
    event: int
    """The event of the error."""
    choice: int
    sent: int
    """Token ids sent for the choice: the index of the first token that was not."""
    header: tuple[int, int] | None = None
    """Sent tokens of the rejected header; None for a token, or for a header that was never sent."""
    culprit: tuple[int, int] | None = None
    """Those of them that the error is about."""
    missing: Missing = Missing.NONE
    implied: tuple[Implied, ...] = ()

    @property
    def unsent(self) -> tuple[UnsentKind, ...]:
        """Cells after the last token sent, in order."""
        if self.error.reason is RejectionReason.UNFINISHED:
            return ()
        header_unsent = self.error.reason.in_header and self.header is None
        last = UnsentKind.HEADER if header_unsent else UnsentKind.TOKEN
        return (UnsentKind.GAP, last) if self.missing is Missing.CERTAIN else (last,)

    @property
    def token_id(self) -> int | None:
        """The id at which the parser stopped; None for a header that was never sent."""
        if self.error.reason is RejectionReason.NOT_START:
            return self.error.token_id
        return None if self.header is None else int(Marker.MESSAGE)


def rejection(reading: Reading, errors: Sequence[ServerError], *, ids_missing: bool) -> Rejection | None:
    """What the server's parser rejected; None if no error reports one, or if its choice is unknown.

    A token that the reference parser rejects among those sent is a finding of its own, so it is not repeated.
    """
    for error in errors:
        parser_error = reading.engine.parser_error(error.message)
        if parser_error is not None:
            return _placed(reading, error, parser_error, ids_missing=ids_missing)
    return None


def _placed(
    reading: Reading, server_error: ServerError, error: ParserError, *, ids_missing: bool
) -> Rejection | None:
    open_choices = [choice for choice in reading.choices if choice.finish_reason is None] or reading.choices
    if len(open_choices) != 1:
        return None
    choice = open_choices[0]
    if any(places and places[-1] > server_error.event for places in (choice.tokens.events, _events(choice))):
        return None  # the server went on: its error does not end what it sent
    if choice.transcript.rejected_runs and not ids_missing:
        return None
    exact = bool(choice.tokens) and not ids_missing and not _several_per_event(choice)
    placement = _Placement(choice, exact=exact)
    placed = Rejection(
        error=error,
        words=server_error.message,
        event=server_error.event,
        choice=choice.index,
        sent=placement.count,
    )
    start, missing = placement.open_header, placement.missing_of_header(error)
    if start is not None and missing is not None:
        header = (start, placement.count)
        return replace(
            placed,
            header=header,
            culprit=culprit(choice.tokens.ids, *header, error),
            missing=missing,
            implied=(Implied.HEADER_WORDS,) if missing is Missing.CERTAIN else (),
        )
    implied = placement.implied(error)
    missing = Missing.CERTAIN if implied else Missing.NONE if placement.exact else Missing.POSSIBLE
    return replace(placed, missing=missing, implied=implied)


def _events(choice: ChoiceReading) -> list[int]:
    return [delta.event for delta in choice.deltas[-1:]]


def _several_per_event(choice: ChoiceReading) -> bool:
    events = choice.tokens.events
    return any(later == earlier for earlier, later in pairwise(events))


class _Placement:
    """Where the sent tokens of a choice end."""

    def __init__(self, choice: ChoiceReading, *, exact: bool) -> None:
        self.ids: Sequence[int] = choice.tokens.ids
        self.count = len(self.ids)
        self.exact = exact
        """True when each event brought one token, so that nothing can be missing before the next one."""
        self._last = choice.transcript.messages[-1] if choice.transcript.messages else None

    @property
    def open_header(self) -> int | None:
        """First token of a header that had not ended; None outside of one."""
        last = self._last
        return None if last is None or last.in_body or last.start >= self.count else last.start

    def missing_of_header(self, error: ParserError) -> Missing | None:
        """What is missing of the open header; None if the open header is not the rejected one."""
        reason = error.reason
        if self.open_header is None or reason is RejectionReason.NOT_START:
            return None
        if self.exact or reason is RejectionReason.UNFINISHED:
            return Missing.NONE
        complete, begun = self._holds(reason, error.quoted)
        return Missing.POSSIBLE if complete else Missing.CERTAIN if begun else None

    def _holds(self, reason: _HeaderReason, quoted: str) -> tuple[bool, bool]:
        """Whether the open header has what the error is about, and whether it may be its beginning."""
        text = text_of(self.ids[self.open_header or 0 :])
        role = text.removeprefix(Marker.START.text)
        own = role != text  # else the prompt gave the role
        match reason:
            case RejectionReason.UNKNOWN_ROLE:
                return own and role.startswith(quoted), own and quoted.startswith(role)
            case RejectionReason.NO_ROLE:
                return own and role.startswith("<|"), own and not role
            case RejectionReason.NO_CHANNEL:
                return text.rstrip().endswith(Marker.CHANNEL.text), Marker.CHANNEL.text not in text
            case RejectionReason.EXTRA_WORDS:
                return quoted != "" and _joined(quoted) in _joined(text), True
            case RejectionReason.UNDECODABLE:
                return True, True
            case _:
                assert_never(reason)

    def implied(self, error: ParserError) -> tuple[Implied, ...]:
        """What the grammar needs between the last token sent and the rejected token or header."""
        if self._last is None or not self.count:
            return () if error.reason.in_header else (Implied.MESSAGE,)
        if self._last.complete:
            return ()
        return (Implied.MESSAGE_END,) if self._last.in_body else (Implied.HEADER_END, Implied.MESSAGE_END)


def _joined(text: str) -> str:
    return " ".join(text.split())


def culprit(ids: Sequence[int], start: int, end: int, error: ParserError) -> tuple[int, int] | None:
    """Tokens of a header that an error is about; None when its words are not found in the header."""
    match error.reason:
        case RejectionReason.NO_CHANNEL:
            marks = [place for place in range(start, end) if ids[place] == Marker.CHANNEL]
            return (marks[-1], marks[-1] + 1) if marks else None
        case RejectionReason.NO_ROLE:
            return (start, start + 1) if start < end and ids[start] == Marker.START else None
        case RejectionReason.UNKNOWN_ROLE | RejectionReason.EXTRA_WORDS if error.quoted.strip():
            return _quoted(texts(ids[start:end]), start, error)
        case _:
            return None


def _quoted(pieces: Sequence[str], start: int, error: ParserError) -> tuple[int, int] | None:
    """The tokens that together hold the quoted words; whitespace between words may differ."""
    # Spaces are left out on both sides: the parser splits a header at them and joins it again.
    quoted = "".join(error.quoted.split())
    bare = ["".join(piece.split()) for piece in pieces]
    skipped = 1 if bare and bare[0] == Marker.START.text and quoted.startswith(Marker.START.text) else 0
    at = "".join(bare[skipped:]).find(quoted)
    if at < 0:
        return None
    first = last = None
    length = 0
    for place, piece in enumerate(bare[skipped:], start + skipped):
        before, length = length, length + len(piece)
        if piece and before < at + len(quoted) and length > at:
            first = place if first is None else first
            last = place + 1
    return None if first is None or last is None else (first, last)


def header_words(ids: Sequence[int]) -> str:
    """What a header has so far without special tokens, e.g. `commentary to=functions.x`."""
    parts = ("" if token_id in MARKERS else text for token_id, text in zip(ids, texts(ids), strict=True))
    spaced = (part or " " for part in parts)
    return _joined("".join(spaced))


_CODES = frozenset({Code.SERVER_REJECTED_TOKEN, Code.SERVER_REJECTED_HEADER})


def rejection_findings(reading: Reading, stopped: Rejection | None) -> Iterator[Finding]:
    """At most one: parsing ends with the first rejection."""
    if stopped is None:
        return
    choice = next(choice for choice in reading.choices if choice.index == stopped.choice)
    in_header = stopped.error.reason.in_header
    facts = ServerRejection(
        code=Code.SERVER_REJECTED_HEADER if in_header else Code.SERVER_REJECTED_TOKEN,
        words=stopped.words,
        token_id=stopped.token_id if not in_header else None,
        quoted=stopped.error.quoted or None,
        header_sent=stopped.header is not None if in_header else None,
        ended=not stopped.unsent if in_header else None,
        missing=stopped.missing,
        implied=stopped.implied or None,
    )
    if stopped.header is not None:
        start, end = stopped.header
        event_start, _ = events_of(choice, start, end)
        generated = text_of(choice.tokens.ids[start:end])
    else:
        start, end, event_start = stopped.sent, stopped.sent + 1, None
        generated = stopped.error.quoted if stopped.token_id is None else text_of([stopped.token_id])
    yield Finding(
        kind=Kind.BAD_HEADER if in_header else Kind.UNEXPECTED_TOKEN,
        severity=Severity.ERROR,
        token_start=start,
        token_end=end,
        event_start=stopped.event if event_start is None else event_start,
        event_end=stopped.event + 1,
        generated=generated or None,
        delivered=stopped.words,
        choice=stopped.choice,
        sent=stopped.header is not None,
        facts=facts,
    )


def is_rejection(finding: Finding) -> bool:
    """True for what the server's own error says was rejected."""
    return finding.code in _CODES


def rejected(findings: Sequence[Finding]) -> int | None:
    """The place in `findings` of what the server's error says was rejected; None when it says nothing."""
    return next((place for place, finding in enumerate(findings) if is_rejection(finding)), None)
