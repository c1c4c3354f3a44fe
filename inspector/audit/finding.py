"""A finding: one difference or failure, with its kind, severity, place and texts."""

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Finding", "Kind", "Severity"]


class Severity(StrEnum):
    """How bad; errors are losses or failures, warnings are things to know."""

    ERROR = "error"
    WARNING = "warning"


class Kind(StrEnum):
    """The closed set of kinds; docs/architecture.md says when each is used."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One difference or failure; spans are half-open, None where there is no such place."""

    kind: Kind
    severity: Severity
    explanation: str
    """One or two sentences for a person."""
    field: str | None = None
    token_start: int | None = None
    token_end: int | None = None
    event_start: int | None = None
    event_end: int | None = None
    generated: str | None = None
    """Text that the tokens (or, without ids, the server's final texts) say."""
    delivered: str | None = None
    """Text that arrived instead, or the server's words."""
    delivered_in: str | None = None
    """The wrong field, for misrouted text."""
    choice: int = 0
    sent: bool = True
    """False for a token or header that the server's error names and that is not in the stream: then
    `token_start` is the number of ids sent, and `token_end` that plus one."""
    known_issues: tuple[str, ...] = ()
    """Ids of the catalogue of known issues, filled by `diagnosis`."""
