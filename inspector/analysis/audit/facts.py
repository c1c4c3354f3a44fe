"""What a sentence about a finding needs beyond span, field and texts: a class per code or group of codes.

The code is part of the facts. So the type checker knows in `match facts.code` which facts there are, and
rejects a finding with the facts of another code.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from inspector.analysis.audit.kinds import Code


class Missing(StrEnum):
    """Whether tokens were lost between the last token sent and the one that the parser rejected."""

    NONE = "none"
    POSSIBLE = "possible"
    """The server sends several tokens per step, and the failing step may have begun with others."""
    CERTAIN = "certain"
    """The grammar allows the error only after tokens that were not sent."""


class Implied(StrEnum):
    """What the lost tokens must contain for the error to be possible."""

    MESSAGE = "message"
    """A whole message."""
    HEADER_END = "header end"
    """The rest of the open header, up to its `<|message|>`."""
    MESSAGE_END = "message end"
    """The stop token of the open message."""
    HEADER_WORDS = "header words"
    """The rest of the open header, with what the error is about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoFacts:
    """Span, field and texts of the finding are all that there is."""

    code: Literal[
        Code.TEXT_LOST,
        Code.TEXT_IN_OTHER_FIELD,
        Code.FRAMING_AS_TEXT,
        Code.TEXT_REORDERED,
        Code.TEXT_CHANGED,
        Code.TEXT_REPEATED,
        Code.TEXT_INVENTED,
        Code.SEPARATOR_ADDED,
        Code.REJECTED_SILENTLY,
        Code.ARGUMENTS_BROKEN,
        Code.ARGUMENTS_GENERATED_INVALID,
        Code.ARGUMENTS_INVALID_ORIGIN_UNKNOWN,
        Code.FINAL_TEXT_NOT_STREAMED,
        Code.FINAL_LACKS_TEXT,
        Code.FINAL_LACKS_ITEM,
        Code.FINAL_DONE_DIFFERS,
        Code.SERVER_ERROR,
        Code.TEXT_WITHOUT_IDS,
        Code.NO_FINISH_REASON,
        Code.NO_DONE,
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParserRejection:
    """A token or header that the reference parser rejects."""

    code: Literal[Code.TOKEN_REJECTED, Code.HEADER_REJECTED]
    words: str
    """The parser's message."""
    token_id: int | None
    """The rejected token; None for a header."""
    quoted: str | None
    """The role or words of the header that the message quotes."""
    header_sent: bool | None
    """True for a header, which is in the stream; None for a token."""
    ended: bool | None
    """True for a header, whose `<|message|>` is in the stream; None for a token."""
    between: bool
    """True when the token was rejected between messages, where only `<|start|>` is allowed."""
    resumes_at: int | None
    """The token at which parsing resumes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptRejection:
    """What the reference parser says of the prompt."""

    code: Literal[Code.PROMPT_REJECTED] = Code.PROMPT_REJECTED
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRejection:
    """A token or header that the server's parser rejected, as its error says."""

    code: Literal[Code.SERVER_REJECTED_TOKEN, Code.SERVER_REJECTED_HEADER]
    words: str
    """The server's message."""
    token_id: int | None
    """The rejected token; None for a header."""
    quoted: str | None
    """The role or words of the header that the message quotes."""
    header_sent: bool | None
    """Whether the rejected header is in the stream; None for a token."""
    ended: bool | None
    """Whether the `<|message|>` that ends the rejected header was sent; None for a token."""
    missing: Missing
    implied: tuple[Implied, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TextWithoutField:
    """The header of a message for whose text the endpoint has no field."""

    code: Literal[Code.NO_FIELD, Code.NO_FIELD_DELIVERED]
    role: str | None
    channel: str | None
    recipient: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UndeliveredCall:
    """A tool call that was not delivered at all."""

    code: Literal[Code.CALL_LOST, Code.CALL_LEFT_OUT]
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallAsText:
    """A tool call that was delivered as text."""

    code: Literal[Code.CALL_AS_TEXT] = Code.CALL_AS_TEXT
    channel: str | None
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MisnamedCall:
    """A tool call that was delivered under another name, or without one."""

    code: Literal[Code.CALL_RENAMED, Code.CALL_NAME_LOST]
    call: int
    """Number of the tool call among those generated, from 0."""
    name: str | None = None
    """The name according to the final object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallWithoutEvents:
    """A tool call that only the final object has."""

    code: Literal[Code.CALL_WITHOUT_EVENTS] = Code.CALL_WITHOUT_EVENTS
    call: int
    """Number of the tool call among those generated, from 0."""
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnnamedCall:
    """Streamed arguments of a call without a name."""

    code: Literal[Code.CALL_INDEX_UNNAMED] = Code.CALL_INDEX_UNNAMED
    index: int
    """Index under which they were delivered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MisplacedCall:
    """A tool call under an index that is not its place."""

    code: Literal[Code.CALL_INDEX_OUT_OF_PLACE] = Code.CALL_INDEX_OUT_OF_PLACE
    call: int
    """Number of the tool call among those generated, from 0."""
    index: int
    """Index under which it was delivered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnofferedCall:
    """A call of a tool that the request does not offer."""

    code: Literal[Code.CALL_NOT_OFFERED] = Code.CALL_NOT_OFFERED
    name: str
    offered: tuple[str, ...]
    """The tools that the request offers, by name, or the first of them."""
    detail: str | None
    """The arguments, where the call is not a function call."""
    times: int | None
    """How many tools are offered, if not all are listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MistakenCall:
    """A call in the final object that the model did not make."""

    code: Literal[Code.FINAL_CALL_OF_SPECIAL_TOKEN, Code.FINAL_FUNCTION_AS_MCP]
    name: str
    detail: str
    """Its arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecialToken:
    """A special token inside a body."""

    code: Literal[Code.SPECIAL_TOKEN_IN_BODY] = Code.SPECIAL_TOKEN_IN_BODY
    token_id: int
    channel: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownChannel:
    """A channel that Harmony does not define; None for a message without one."""

    code: Literal[Code.CHANNEL_UNKNOWN] = Code.CHANNEL_UNKNOWN
    channel: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownRole:
    """The word at the beginning of a header, which is neither a role nor a tool."""

    code: Literal[Code.ROLE_UNKNOWN] = Code.ROLE_UNKNOWN
    role: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EndWithoutAnswer:
    """How a response without an answer ended."""

    code: Literal[
        Code.ENDED_IN_REASONING,
        Code.ENDED_WITH_EMPTY_ANSWER,
        Code.ENDED_WITHOUT_TEXT,
        Code.ENDED_WITH_UNSHOWN_CALL,
    ]
    name: str | None
    """The tool of a call for which the endpoint has no field."""
    finish_reason: str | None


EndCode = Literal[Code.CUT, Code.CUT_AFTER_ERROR, Code.CLOSED_BY_CLIENT, Code.CLOSED_BY_RECORDER]


@dataclass(frozen=True, slots=True, kw_only=True)
class Disconnection:
    """A connection that ended before the response did."""

    code: EndCode
    words: str | None
    """The transport's error message."""
    detail: str
    """The event that ends a response of the endpoint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Incomplete:
    """Why the server calls a response incomplete."""

    code: Literal[Code.INCOMPLETE] = Code.INCOMPLETE
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BelowLimit:
    """A response without output that the server calls incomplete for a limit that it did not reach."""

    code: Literal[Code.INCOMPLETE_BELOW_LIMIT] = Code.INCOMPLETE_BELOW_LIMIT
    reason: str | None
    limit: int
    """Tokens that the request allows."""
    counted: int
    """Tokens that the server counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitReached:
    """A response that its token limit ended, as its finish reason says."""

    code: Literal[Code.LIMIT_REACHED] = Code.LIMIT_REACHED
    finish_reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreportedLimit:
    """The token limit that a response used up without a word about it."""

    code: Literal[Code.LIMIT_REACHED_UNREPORTED] = Code.LIMIT_REACHED_UNREPORTED
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenMessage:
    """The message inside which the stream ends."""

    code: Literal[Code.OPEN_AT_END] = Code.OPEN_AT_END
    channel: str | None
    in_header: bool
    finish_reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenCounts:
    """The server's token count, and the token IDs or logprob entries that it sent."""

    code: Literal[Code.COUNT_ABOVE_SENT, Code.COUNT_ABOVE_LOGPROBS, Code.COUNT_BELOW_SENT]
    counted: int
    seen: int
    logprobs: bool | None
    """True when `seen` counts logprob entries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnexplainedCount:
    """The server's token count, and the tokens that its texts account for."""

    code: Literal[Code.COUNT_UNEXPLAINED] = Code.COUNT_UNEXPLAINED
    counted: int
    fits: tuple[str, ...] | None = None
    """What would take exactly the tokens that are open, as Harmony text."""
    seen: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedEvent:
    """What shows that an event arrived twice: its sequence number, or else the token count."""

    code: Literal[Code.EVENT_REPEATED] = Code.EVENT_REPEATED
    notice: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolNotice:
    """What is out of order in the protocol."""

    code: Literal[Code.OUT_OF_PROTOCOL] = Code.OUT_OF_PROTOCOL
    notice: str
    """Its key, see `wire.stream.Notice`."""
    detail: str
    times: int
    """Number of occurrences."""


TextCode = Literal[
    Code.TRANSCRIPT_UNPARSED,
    Code.TRANSCRIPT_STRIPPED,
    Code.TOKEN_IN_TEXT,
    Code.TOKEN_IN_NAME,
    Code.HEADER_WORD_IN_NAME,
]


@dataclass(frozen=True, slots=True, kw_only=True)
class HarmonyText:
    """Harmony in a delivered text."""

    code: TextCode
    at: int
    """Its first character in the text of the field."""
    answer: str | None = None
    """The answer in a transcript."""
    calls: tuple[str, ...] | None = None
    """The functions that a transcript calls."""
    well_formed: bool | None = None
    """Whether the messages of a transcript keep to the format; None where that is not known."""
    name: str | None = None
    """What the name of a tool is without it."""


Facts = (
    NoFacts
    | ParserRejection
    | PromptRejection
    | ServerRejection
    | TextWithoutField
    | UndeliveredCall
    | CallAsText
    | MisnamedCall
    | CallWithoutEvents
    | UnnamedCall
    | MisplacedCall
    | UnofferedCall
    | MistakenCall
    | SpecialToken
    | UnknownChannel
    | UnknownRole
    | EndWithoutAnswer
    | Disconnection
    | Incomplete
    | BelowLimit
    | LimitReached
    | UnreportedLimit
    | OpenMessage
    | TokenCounts
    | UnexplainedCount
    | RepeatedEvent
    | ProtocolNotice
    | HarmonyText
)
