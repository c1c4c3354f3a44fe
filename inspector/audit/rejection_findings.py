"""The finding of a token or header that the server's own error says its parser rejected."""

from collections.abc import Iterator, Sequence
from typing import Final, assert_never

from inspector.audit.finding import Finding, Kind, Severity
from inspector.audit.rejection import Implied, Missing, Rejection, rejection
from inspector.audit.words import events_of, quote
from inspector.harmony.text import text_of
from inspector.harmony.vocab import token_bytes
from inspector.reading import Reading

__all__ = ["is_rejection", "rejected", "rejection_findings", "unsent_words"]

_IMPLIED: Final = {
    Implied.MESSAGE: "a whole message",
    Implied.HEADER_END: "the end of the open header",
    Implied.MESSAGE_END: "the stop token of the message before it",
    Implied.HEADER_WORDS: "the rest of the header",
}


def rejection_findings(reading: Reading) -> Iterator[Finding]:
    """At most one: parsing ends with the first rejection."""
    found = rejection(reading)
    if found is None:
        return
    choice = next(one for one in reading.choices if one.index == found.choice)
    ids = choice.tokens.ids
    if found.header is not None:
        start, end = found.header
        event_start, _ = events_of(choice, start, end)
        yield Finding(
            kind=Kind.BAD_HEADER,
            severity=Severity.ERROR,
            explanation=_header_words(found, text_of(ids[start:end])),
            token_start=start,
            token_end=end,
            event_start=found.event if event_start is None else event_start,
            event_end=found.event + 1,
            generated=text_of(ids[start:end]),
            delivered=found.words,
            choice=found.choice,
        )
        return
    yield Finding(
        kind=Kind.BAD_HEADER if found.error.reason.in_header else Kind.UNEXPECTED_TOKEN,
        severity=Severity.ERROR,
        explanation=_unsent_finding_words(found),
        token_start=found.sent,
        token_end=found.sent + 1,
        event_start=found.event,
        event_end=found.event + 1,
        generated=_unsent_text(found) or None,
        delivered=found.words,
        choice=found.choice,
        sent=False,
    )


def is_rejection(finding: Finding, stopped: Rejection | None) -> bool:
    """True for the finding that `rejection_findings` made of a rejection."""
    kinds = {Kind.UNEXPECTED_TOKEN, Kind.BAD_HEADER}
    return stopped is not None and finding.kind in kinds and finding.choice == stopped.choice


def rejected(reading: Reading, findings: Sequence[Finding]) -> int | None:
    """The place in `findings` of what the server's error says was rejected; None when it says nothing."""
    stopped = rejection(reading)
    return next((place for place, one in enumerate(findings) if is_rejection(one, stopped)), None)


def _unsent_text(found: Rejection) -> str:
    return found.error.quoted if found.token_id is None else text_of([found.token_id])


def _header_words(found: Rejection, header: str) -> str:
    start = found.header[0] if found.header is not None else 0
    quoted = f"{quote(found.error.quoted)} in the header" if found.error.quoted else "The header"
    ended = "" if not found.unsent else "; the <|message|> that ends it was not sent"
    return (
        f"{quoted} {quote(header)} (from token {start}) is rejected: {found.words}. "
        f"The header is in the stream{ended}.{_missing_words(found)}"
    )


def _unsent_finding_words(found: Rejection) -> str:
    match found.token_id:
        case None:
            quoted = f" {quote(found.error.quoted)}" if found.error.quoted else ""
            what = f"The parser rejected a header{quoted} that was not sent"
        case token_id:
            shown = f" {quote(text_of([token_id]))}" if token_bytes(token_id) else ""
            what = f"The parser expects <|start|> and got token ID {token_id}{shown}, which was not sent"
    return f"{what}: {found.words}.{_missing_words(found)}"


def _missing_words(found: Rejection) -> str:
    match found.missing:
        case Missing.NONE:
            return ""
        case Missing.POSSIBLE:
            return (
                " The server sends several tokens per step, so others of the failing step may be missing too."
            )
        case Missing.CERTAIN:
            what = " and ".join(_IMPLIED[one] for one in found.implied)
            return f" Tokens before it were not sent either: at least {what}."
        case _:
            assert_never(found.missing)


def unsent_words(found: Rejection) -> dict[str, str]:
    """What the cells of a rejection say when they are pointed at, by kind of cell."""
    between = " and ".join(_IMPLIED[one] for one in found.implied)
    return {
        "gap": f"tokens of this step were not sent: at least {between}" if between else "",
        "token": "not sent, the parser stopped here",
        "header": "not sent, the parser rejected this header",
    }
