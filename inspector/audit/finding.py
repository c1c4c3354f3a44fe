"""A finding: one difference or failure, as a code with facts; `wording` turns it into a sentence."""

from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, Final

from inspector.audit.kinds import Kind, Severity

__all__ = ["Code", "Facts", "Finding", "Implied", "Missing"]


class Code(StrEnum):
    """What exactly was found, finer than the kind; public in `audit --json`, added to and never renamed."""

    # what the parser rejects
    TOKEN_REJECTED = "token_rejected"
    """The reference parser rejects a token that was sent."""
    HEADER_REJECTED = "header_rejected"
    """The reference parser rejects a header that was sent."""
    PROMPT_REJECTED = "prompt_rejected"
    """The prompt itself breaks the format."""
    SERVER_REJECTED_TOKEN = "server_rejected_token"
    """The server's error names a token that it never sent."""
    SERVER_REJECTED_HEADER = "server_rejected_header"
    """The server's error is about a header, sent or not."""

    # text, by token ids
    TEXT_LOST = "text_lost"
    TEXT_IN_OTHER_FIELD = "text_in_other_field"
    FRAMING_AS_TEXT = "framing_as_text"
    """Tokens that frame a message were delivered as text."""
    TEXT_REORDERED = "text_reordered"
    TEXT_CHANGED = "text_changed"
    TEXT_REPEATED = "text_repeated"
    TEXT_INVENTED = "text_invented"
    """Delivered text that no token generated there."""
    NO_FIELD = "no_field"
    """Generated where the endpoint has no field, and delivered nowhere."""
    NO_FIELD_DELIVERED = "no_field_delivered"
    """Generated where the endpoint has no field, and delivered all the same."""
    REJECTED_SILENTLY = "rejected_silently"
    """Text that the parser rejects, that no field delivered and no error mentioned."""

    # tool calls
    CALL_LOST = "call_lost"
    CALL_LEFT_OUT = "call_left_out"
    """Left out as the request asked: `parallel_tool_calls: false`."""
    CALL_RENAMED = "call_renamed"
    CALL_NAME_LOST = "call_name_lost"
    CALL_INDEX_UNNAMED = "call_index_unnamed"
    CALL_INDEX_OUT_OF_PLACE = "call_index_out_of_place"
    ARGUMENTS_BROKEN = "arguments_broken"
    """Generated as JSON, delivered as no JSON."""
    ARGUMENTS_GENERATED_INVALID = "arguments_generated_invalid"
    ARGUMENTS_INVALID_ORIGIN_UNKNOWN = "arguments_invalid_origin_unknown"

    # the final object of Responses against its deltas
    FINAL_TEXT_NOT_STREAMED = "final_text_not_streamed"
    FINAL_LACKS_TEXT = "final_lacks_text"
    FINAL_LACKS_ITEM = "final_lacks_item"
    FINAL_DONE_DIFFERS = "final_done_differs"
    FINAL_CALL_OF_SPECIAL_TOKEN = "final_call_of_special_token"
    """A call whose name holds a special token: the header was misread, or written wrong."""
    FINAL_FUNCTION_AS_MCP = "final_function_as_mcp"

    # the stream itself
    SERVER_ERROR = "server_error"
    CUT = "cut"
    """The connection ended without a terminal event."""
    CUT_AFTER_ERROR = "cut_after_error"
    INCOMPLETE = "incomplete"
    """The server itself calls the response incomplete."""
    LIMIT_REACHED = "limit_reached"
    LIMIT_REACHED_UNREPORTED = "limit_reached_unreported"
    OPEN_AT_END = "open_at_end"
    NO_DONE = "no_done"
    COUNT_ABOVE_SENT = "count_above_sent"
    """The server counted more tokens than it sent."""
    COUNT_ABOVE_LOGPROBS = "count_above_logprobs"
    """The server counted more tokens than it sent logprob entries for."""
    COUNT_BELOW_SENT = "count_below_sent"
    COUNT_UNEXPLAINED = "count_unexplained"
    """The server counted more tokens than its texts account for."""
    OUT_OF_PROTOCOL = "out_of_protocol"


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
