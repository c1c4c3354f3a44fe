"""The finding of a token or header that the server's own error says its parser rejected."""

from collections.abc import Iterator, Sequence

from inspector.analysis.audit.facts import ServerRejection
from inspector.analysis.audit.finding import Finding
from inspector.analysis.audit.kinds import Code, Kind, Severity
from inspector.analysis.audit.rejection import Rejection
from inspector.analysis.audit.words import events_of
from inspector.analysis.reading import Reading
from inspector.protocol.harmony.text import text_of

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
