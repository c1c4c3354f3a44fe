"""The kinds of finding and their codes, and a table of severity, label, whose doing it is, and how a page draws it.

A new kind is a member of `Kind`, a `Code` and a row here, the code's sentence in `wording`, and the module that
finds it.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


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
    ADDED = "added"
    REORDERED = "reordered"
    GARBLED = "garbled"
    UNSERVED = "unserved"
    INVALID_TOOL_ARGUMENTS = "invalid_tool_arguments"
    TRUNCATED = "truncated"
    SERVER_ERROR = "server_error"
    DISCONNECTED = "disconnected"
    ABORTED = "aborted"
    PROTOCOL = "protocol"
    COUNT_MISMATCH = "count_mismatch"
    NO_ANSWER = "no_answer"
    SPECIAL_TOKEN_IN_BODY = "special_token_in_body"
    UNKNOWN_HEADER = "unknown_header"
    UNOFFERED_CALL = "unoffered_call"
    TEXT_WITHOUT_IDS = "text_without_ids"
    HARMONY_AS_TEXT = "harmony_as_text"


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
    EVENT_REPEATED = "event_repeated"
    """An event that arrived twice, with all that it has."""
    SEPARATOR_ADDED = "separator_added"
    """What a server puts between two messages of one field."""
    NO_FIELD = "no_field"
    """Generated where the endpoint has no field, and delivered nowhere."""
    NO_FIELD_DELIVERED = "no_field_delivered"
    """Generated where the endpoint has no field, and delivered all the same."""
    REJECTED_SILENTLY = "rejected_silently"
    """Text that the parser rejects, that no field delivered and no error mentioned."""

    # text, by itself
    TRANSCRIPT_UNPARSED = "transcript_unparsed"
    """A field has whole messages with their special tokens: the server did not parse them."""
    TRANSCRIPT_STRIPPED = "transcript_stripped"
    """A field has whole messages without their special tokens: `analysisAdd them.assistantfinalThree.`"""
    TOKEN_IN_TEXT = "token_in_text"
    """A special token is left in a text."""
    TOKEN_IN_NAME = "token_in_name"
    """A special token is in the name of a tool: `lookup<|channel|>commentary`."""
    HEADER_WORD_IN_NAME = "header_word_in_name"
    """The name of a tool is that of an offered one with a word of a header behind it: `addjson`."""

    # tool calls
    CALL_LOST = "call_lost"
    CALL_LEFT_OUT = "call_left_out"
    """Left out as the request asked: `parallel_tool_calls: false`."""
    CALL_AS_TEXT = "call_as_text"
    """A call on the final channel, whose arguments the client got as text."""
    CALL_RENAMED = "call_renamed"
    CALL_NAME_LOST = "call_name_lost"
    CALL_WITHOUT_EVENTS = "call_without_events"
    """A call without arguments that only the final object has."""
    CALL_NOT_OFFERED = "call_not_offered"
    """A call of a tool that the request does not offer."""
    CALL_INDEX_UNNAMED = "call_index_unnamed"
    CALL_INDEX_OUT_OF_PLACE = "call_index_out_of_place"
    ARGUMENTS_BROKEN = "arguments_broken"
    """Generated as valid JSON, delivered as invalid JSON."""
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

    # what the model wrote, or did not write
    SPECIAL_TOKEN_IN_BODY = "special_token_in_body"
    """A special token inside a body, where it is ordinary text."""
    CHANNEL_UNKNOWN = "channel_unknown"
    """A message of the assistant without a channel, or with one that Harmony does not define."""
    ROLE_UNKNOWN = "role_unknown"
    """A header that begins with a word that is neither a role nor a tool."""
    ENDED_IN_REASONING = "ended_in_reasoning"
    ENDED_WITH_EMPTY_ANSWER = "ended_with_empty_answer"
    ENDED_WITHOUT_TEXT = "ended_without_text"
    ENDED_WITH_UNSHOWN_CALL = "ended_with_unshown_call"
    """The model called a tool, and the response has no such call."""

    # the stream itself
    SERVER_ERROR = "server_error"
    CUT = "cut"
    """The connection ended without a terminal event."""
    CUT_AFTER_ERROR = "cut_after_error"
    CLOSED_BY_CLIENT = "closed_by_client"
    """The client closed the connection before a terminal event."""
    CLOSED_BY_RECORDER = "closed_by_recorder"
    """The proxy that recorded the response was stopped before a terminal event."""
    INCOMPLETE = "incomplete"
    """The server itself calls the response incomplete."""
    INCOMPLETE_BELOW_LIMIT = "incomplete_below_limit"
    """The server blames a token limit that was not reached, for a response without output."""
    LIMIT_REACHED = "limit_reached"
    LIMIT_REACHED_UNREPORTED = "limit_reached_unreported"
    OPEN_AT_END = "open_at_end"
    NO_FINISH_REASON = "no_finish_reason"
    """The response ended, and no event says why."""
    NO_DONE = "no_done"
    COUNT_ABOVE_SENT = "count_above_sent"
    """The server counted more tokens than it sent."""
    COUNT_ABOVE_LOGPROBS = "count_above_logprobs"
    """The server counted more tokens than it sent logprob entries for."""
    COUNT_BELOW_SENT = "count_below_sent"
    COUNT_UNEXPLAINED = "count_unexplained"
    """The server counted more tokens than its texts account for."""
    TEXT_WITHOUT_IDS = "text_without_ids"
    """Delivered text that no token ID accounts for, where nothing says that the IDs are all."""
    OUT_OF_PROTOCOL = "out_of_protocol"


TRANSCRIPTS: Final = frozenset({Code.TRANSCRIPT_UNPARSED, Code.TRANSCRIPT_STRIPPED})
"""Codes of a field that has whole messages."""


class FindingSide(StrEnum):
    """Who did what a finding shows."""

    MODEL = "model"
    """The sampled tokens, whatever the server made of them."""
    TEXT = "text"
    """The server, which delivered other text than was generated."""
    ABORT = "abort"
    """The server or the connection, which ended the stream."""
    STREAM = "stream"
    """The stream's own order, counts and end; not about any text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KindInfo:
    """What is true of every finding of a kind."""

    label: str
    """As every title, table and legend says it; where a person types a kind, it is the key: `kind_and_key`."""
    severity: Severity
    """The usual one; a finding may be less severe where its producer says why."""
    side: FindingSide
    marks: bool
    """True when the tokens that it points at are wrong themselves; else they show a place or a whole message."""
    when: str
    """One line for the docs."""
    clause: str = ""
    """The clause of a verdict about warnings of the kind; empty where `clauses` writes it from the findings."""


KINDS: Final[dict[Kind, KindInfo]] = {
    Kind.UNEXPECTED_TOKEN: KindInfo(
        label="unexpected token",
        severity=Severity.ERROR,
        side=FindingSide.MODEL,
        marks=True,
        when="the reference parser rejects a token, or the server's error names one that it rejected and never "
        "sent; the span is that token",
    ),
    Kind.BAD_HEADER: KindInfo(
        label="bad header",
        severity=Severity.ERROR,
        side=FindingSide.MODEL,
        marks=True,
        when="the reference parser, or the server's, rejects a header; the span starts at its first token",
    ),
    Kind.DROPPED: KindInfo(
        label="dropped",
        severity=Severity.ERROR,
        side=FindingSide.TEXT,
        marks=True,
        when="generated text was not delivered in any field",
    ),
    Kind.MISROUTED: KindInfo(
        label="misrouted",
        severity=Severity.ERROR,
        side=FindingSide.TEXT,
        marks=True,
        when="generated for one field, delivered in another; reasoning in `content` is a leak; a tool name that "
        "contains a special token",
    ),
    Kind.DUPLICATED: KindInfo(
        label="duplicated",
        severity=Severity.ERROR,
        side=FindingSide.TEXT,
        marks=True,
        when="delivered more often than generated",
    ),
    Kind.ADDED: KindInfo(
        label="added",
        severity=Severity.WARNING,
        side=FindingSide.STREAM,
        marks=False,
        when="text that the server adds on purpose: a line feed between two messages of one field",
    ),
    Kind.REORDERED: KindInfo(
        label="reordered",
        severity=Severity.ERROR,
        side=FindingSide.TEXT,
        marks=True,
        when="delivered in another order",
    ),
    Kind.GARBLED: KindInfo(
        label="garbled",
        severity=Severity.ERROR,
        side=FindingSide.TEXT,
        marks=True,
        when="the delivered text differs, e.g. `U+FFFD` from a split character",
    ),
    Kind.UNSERVED: KindInfo(
        label="no API field",
        severity=Severity.WARNING,
        side=FindingSide.STREAM,
        marks=True,
        when="generated where no field is defined, or rejected by the parser without an error to the client",
    ),
    Kind.INVALID_TOOL_ARGUMENTS: KindInfo(
        label="invalid tool arguments",
        severity=Severity.ERROR,
        side=FindingSide.STREAM,
        marks=False,
        when="the delivered arguments are not valid JSON although the generated ones are; a warning when neither is",
    ),
    Kind.TRUNCATED: KindInfo(
        label="truncated",
        severity=Severity.WARNING,
        side=FindingSide.STREAM,
        marks=False,
        when="the stream ends inside a header or body; Responses that used all of `max_output_tokens`",
    ),
    Kind.SERVER_ERROR: KindInfo(
        label="server error",
        severity=Severity.ERROR,
        side=FindingSide.ABORT,
        marks=False,
        when="an error payload in the stream, or an HTTP error status",
    ),
    Kind.DISCONNECTED: KindInfo(
        label="disconnected",
        severity=Severity.ERROR,
        side=FindingSide.ABORT,
        marks=False,
        when="the connection ended without a terminal event",
        clause="the connection was closed before the response ended",
    ),
    Kind.ABORTED: KindInfo(
        label="aborted",
        severity=Severity.WARNING,
        side=FindingSide.STREAM,
        marks=False,
        when="the client, or a proxy that was stopped, closed the connection before the response ended; the server "
        "did not",
    ),
    Kind.PROTOCOL: KindInfo(
        label="protocol violation",
        severity=Severity.WARNING,
        side=FindingSide.STREAM,
        marks=False,
        when="events out of order: no `finish_reason`, no `[DONE]`, a gap in `sequence_number`, a delta outside its item",
    ),
    Kind.COUNT_MISMATCH: KindInfo(
        label="count mismatch",
        severity=Severity.WARNING,
        side=FindingSide.STREAM,
        marks=False,
        when="the server's token count differs from the number of token IDs, or from the count that its texts "
        "account for",
    ),
    Kind.NO_ANSWER: KindInfo(
        label="no answer",
        severity=Severity.WARNING,
        side=FindingSide.STREAM,
        marks=False,
        when="the turn ended by itself, not by a limit, without an answer or a tool call",
    ),
    Kind.SPECIAL_TOKEN_IN_BODY: KindInfo(
        label="misplaced special token",
        severity=Severity.WARNING,
        side=FindingSide.STREAM,
        marks=True,
        when="a special token such as `<|start|>` or `<|endoftext|>` inside a body, where it is text",
    ),
    Kind.UNKNOWN_HEADER: KindInfo(
        label="unknown channel or role",
        severity=Severity.WARNING,
        side=FindingSide.STREAM,
        marks=False,
        when="in a list of token IDs: a header with a channel or role that Harmony does not define",
        clause="a header has a channel or role that Harmony does not define",
    ),
    Kind.UNOFFERED_CALL: KindInfo(
        label="tool not offered",
        severity=Severity.WARNING,
        side=FindingSide.STREAM,
        marks=False,
        when="the response has a call of a tool that the request does not offer",
    ),
    Kind.TEXT_WITHOUT_IDS: KindInfo(
        label="text without token IDs",
        severity=Severity.WARNING,
        side=FindingSide.STREAM,
        marks=False,
        when="delivered text that no token ID accounts for, in a response without a token count: the server added "
        "the text, or left out its IDs",
    ),
    Kind.HARMONY_AS_TEXT: KindInfo(
        label="Harmony as text",
        severity=Severity.ERROR,
        side=FindingSide.TEXT,
        marks=False,
        when="without token IDs: a field has whole messages with or without their special tokens, a special token, or "
        "a word of a header in the name of a tool; a warning on plain completions, which parse nothing",
    ),
}


def kinds_of(*sides: FindingSide) -> frozenset[Kind]:
    """The kinds that show what one of these did."""
    return frozenset(kind for kind, info in KINDS.items() if info.side in sides)


OF_DELIVERY: Final = kinds_of(FindingSide.TEXT) | {Kind.UNSERVED}
"""Kinds that say of a field that its text is wrong."""


def kind_label(key: str) -> str:
    """A kind as people read it; the words of its key for one that another version of the program stored."""
    return KINDS[Kind(key)].label if key in _KEYS else key.replace("_", " ")


def kind_and_key(key: str) -> str:
    """The same where a person types the key, as in filters: `no API field (unserved)`, or only `dropped`."""
    label = kind_label(key)
    return label if label == key else f"{label} ({key})"


_KEYS: Final = frozenset(kind.value for kind in Kind)
