"""A finding: one difference or failure, as a code with facts; `wording` turns it into a sentence."""

from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, Final

from inspector.analysis.audit.kinds import Code, Kind, Severity


class Missing(StrEnum):
    """Whether tokens were lost between the last token sent and the one that the parser rejected."""

    NONE = "none"
    POSSIBLE = "possible"
    """The server sends several tokens per step, and the failing step may have begun with others."""
    CERTAIN = "certain"
    """The grammar allows the error only after tokens that were not sent."""


class Implied(StrEnum):
    """What must stand among the lost tokens for the error to be possible."""

    MESSAGE = "message"
    """A whole message."""
    HEADER_END = "header end"
    """The rest of the open header, up to its `<|message|>`."""
    MESSAGE_END = "message end"
    """The stop token of the open message."""
    HEADER_WORDS = "header words"
    """The rest of the open header, with what the error is about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a sentence about a finding needs beyond span, field and texts; None without such a fact."""

    words: str | None = None
    """Words of the server, its parser or the connection."""
    token_id: int | None = None
    """The rejected token."""
    quoted: str | None = None
    """The role or words of a header that the server's error quotes."""
    header_sent: bool | None = None
    """Whether the rejected header is in the stream."""
    ended: bool | None = None
    """Whether the `<|message|>` that ends the rejected header was sent."""
    between: bool | None = None
    """True when the token was rejected between messages, where only `<|start|>` is allowed."""
    missing: Missing | None = None
    implied: tuple[Implied, ...] | None = None
    resumes_at: int | None = None
    """The token at which parsing resumes."""
    role: str | None = None
    channel: str | None = None
    recipient: str | None = None
    call: int | None = None
    """Number of the tool call among those generated, from 0."""
    index: int | None = None
    """Index under which a call was delivered."""
    name: str | None = None
    """Name of the tool."""
    offered: tuple[str, ...] | None = None
    """The tools that the request offers, by name, or the first of them."""
    by_final: bool | None = None
    """True when the server's final object is the evidence, not token ids."""
    in_header: bool | None = None
    """Whether the stream ends in a header, not a body."""
    finish_reason: str | None = None
    reason: str | None = None
    """Why the server calls a response incomplete."""
    limit: int | None = None
    """Tokens that the request allows."""
    counted: int | None = None
    """Tokens that the server counted."""
    fits: tuple[str, ...] | None = None
    """What would take exactly the tokens that are open, as Harmony text."""
    reconstructed: bool | None = None
    """True when the span counts tokens that were reconstructed from the final object; none was sent."""
    seen: int | None = None
    """Token ids, or logprob entries, that it sent; tokens that its texts account for."""
    logprobs: bool | None = None
    """True when `seen` counts logprob entries."""
    notice: str | None = None
    """Key of what is out of order in the protocol, see `wire.stream.Notice`."""
    detail: str | None = None
    times: int | None = None
    """How often it happened; of tools that are offered, how many there are if not all are listed."""

    def known(self) -> dict[str, Any]:
        """The facts that are there, for JSON."""
        found = {one.name: getattr(self, one.name) for one in fields(self)}
        return {
            name: list(map(str, value)) if isinstance(value, tuple) else value
            for name, value in found.items()
            if value is not None
        }


_NONE: Final = Facts()


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One difference or failure; spans are half-open, None where there is no such place."""

    code: Code
    kind: Kind
    severity: Severity
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
    facts: Facts = _NONE
    known_issues: tuple[str, ...] = ()
    """Ids of the catalogue of known issues, filled by `diagnosis`."""
