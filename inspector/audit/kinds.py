"""The kinds of finding: one table for severity, label, whose doing it is, and how a page draws it.

A new kind is a member of `Kind` and a row here, its code and sentence in `wording`, and the module that finds it.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

__all__ = ["KINDS", "Kind", "KindInfo", "Severity", "Side"]


class Severity(StrEnum):
    """How bad; errors are losses or failures, warnings are things to know."""

    ERROR = "error"
    WARNING = "warning"


class Kind(StrEnum):
    """The closed set of kinds, public in `audit --json`: kinds are added, never renamed."""

    UNEXPECTED_TOKEN = "unexpected_token"
    BAD_HEADER = "bad_header"
    DROPPED = "dropped"
    MISROUTED = "misrouted"
    DUPLICATED = "duplicated"
    REORDERED = "reordered"
    GARBLED = "garbled"
    UNSERVED = "unserved"
    INVALID_TOOL_ARGUMENTS = "invalid_tool_arguments"
    TRUNCATED = "truncated"
    SERVER_ERROR = "server_error"
    DISCONNECTED = "disconnected"
    PROTOCOL = "protocol"
    COUNT_MISMATCH = "count_mismatch"


class Side(StrEnum):
    """Who did what a finding shows."""

    MODEL = "model"
    """The sampled tokens, whatever the server made of them."""
    TEXT = "text"
    """The server, which delivered other text than was generated."""
    ABORT = "abort"
    """The server or the connection, which ended the stream."""
    STREAM = "stream"
    """The stream's own order, counts and end; nobody's text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KindInfo:
    """What is true of every finding of a kind."""

    label: str
    """As a title says it."""
    severity: Severity
    """The usual one; a finding may be less severe where its producer says why."""
    side: Side
    marks: bool
    """True when its cells themselves are wrong; others point at a place or a whole message."""
    when: str
    """One line for the docs."""


KINDS: Final[dict[Kind, KindInfo]] = {
    Kind.UNEXPECTED_TOKEN: KindInfo(
        label="unexpected token",
        severity=Severity.ERROR,
        side=Side.MODEL,
        marks=True,
        when="the reference parser rejects a token, or the server's error names one that it rejected and never "
        "sent; the span is that token",
    ),
    Kind.BAD_HEADER: KindInfo(
        label="bad header",
        severity=Severity.ERROR,
        side=Side.MODEL,
        marks=True,
        when="the reference parser, or the server's, rejects a header; the span starts at its first token",
    ),
    Kind.DROPPED: KindInfo(
        label="dropped",
        severity=Severity.ERROR,
        side=Side.TEXT,
        marks=True,
        when="generated text that no field delivered",
    ),
    Kind.MISROUTED: KindInfo(
        label="misrouted",
        severity=Severity.ERROR,
        side=Side.TEXT,
        marks=True,
        when="generated for one field and delivered in another: reasoning in `content` is a leak; also a name "
        "with a special token in it",
    ),
    Kind.DUPLICATED: KindInfo(
        label="duplicated",
        severity=Severity.ERROR,
        side=Side.TEXT,
        marks=True,
        when="delivered more often than generated",
    ),
    Kind.REORDERED: KindInfo(
        label="reordered",
        severity=Severity.ERROR,
        side=Side.TEXT,
        marks=True,
        when="delivered, but in another order",
    ),
    Kind.GARBLED: KindInfo(
        label="garbled",
        severity=Severity.ERROR,
        side=Side.TEXT,
        marks=True,
        when="the delivered text differs, e.g. `U+FFFD` from a split character",
    ),
    Kind.UNSERVED: KindInfo(
        label="unserved",
        severity=Severity.WARNING,
        side=Side.STREAM,
        marks=True,
        when="generated where the endpoint has no field, or rejected by the parser without a word to the client",
    ),
    Kind.INVALID_TOOL_ARGUMENTS: KindInfo(
        label="invalid tool arguments",
        severity=Severity.ERROR,
        side=Side.STREAM,
        marks=False,
        when="delivered arguments are not JSON although the generated ones are; a warning when neither is",
    ),
    Kind.TRUNCATED: KindInfo(
        label="truncated",
        severity=Severity.WARNING,
        side=Side.STREAM,
        marks=False,
        when="the stream ends inside a header or body; Responses that used all of `max_output_tokens`",
    ),
    Kind.SERVER_ERROR: KindInfo(
        label="server error",
        severity=Severity.ERROR,
        side=Side.ABORT,
        marks=False,
        when="an error payload in the stream, or an HTTP error status",
    ),
    Kind.DISCONNECTED: KindInfo(
        label="disconnected",
        severity=Severity.ERROR,
        side=Side.ABORT,
        marks=False,
        when="the connection ended without a terminal event",
    ),
    Kind.PROTOCOL: KindInfo(
        label="protocol",
        severity=Severity.WARNING,
        side=Side.STREAM,
        marks=False,
        when="events out of order: no `[DONE]`, a gap in `sequence_number`, a delta outside its item",
    ),
    Kind.COUNT_MISMATCH: KindInfo(
        label="count mismatch",
        severity=Severity.WARNING,
        side=Side.STREAM,
        marks=False,
        when="the server's token count differs from the token IDs seen, or from what its texts account for",
    ),
}
