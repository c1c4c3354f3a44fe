"""Where a stream leaves the grammar of Harmony: at which token, of what kind, and what that is called.

The reference parser rejects a token only between messages, and a header only at its `<|message|>`, with words
about what is left over by then. What is wrong stands earlier: at the first token of the header that its place
cannot take. `TABLE` has an entry for each place and each kind of token; where it accepts all tokens of a
rejected header, the words of the header are at fault, and the parser's reason says which.

Source: the Harmony response format (github.com/openai/harmony, docs/format.md).
"""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple, assert_never

from inspector.protocol.harmony.parser_errors import ParserError, RejectionReason
from inspector.protocol.harmony.vocab import ASSISTANT, Marker, join_bytes, token_bytes

ENDOFTEXT: Final = 199999
_FIRST_SPECIAL: Final = 199998
_ASSISTANT: Final = "assistant"
_CHANNELS: Final = frozenset({b"analysis", b"commentary", b"final"})
_TO: Final = "to="
_ROLE_WORD: Final = re.compile(r"<\|start\|>([^<\s]*)")


class Place(StrEnum):
    """Where a token stands; finer than the tracker's states."""

    OPENING = "at the beginning of the completion"
    """The prompt has `<|start|>assistant`; a header goes on."""
    ROLE = "after <|start|>"
    NAMED_ROLE = "after the role"
    CHANNEL = "after <|channel|>"
    NAMED_CHANNEL = "after the channel"
    CONTENT_TYPE = "after <|constrain|>"
    BODY = "in a body"
    AFTER_END = "after <|end|>"
    AFTER_RETURN = "after <|return|>"
    AFTER_CALL = "after <|call|>"


class TokenKind(StrEnum):
    """What the grammar tells apart."""

    START = "<|start|>"
    CHANNEL = "<|channel|>"
    CONSTRAIN = "<|constrain|>"
    MESSAGE = "<|message|>"
    END = "<|end|>"
    RETURN = "<|return|>"
    CALL = "<|call|>"
    ENDOFTEXT = "<|endoftext|>"
    ROLE = "assistant"
    TO = "to"
    """The word that begins a recipient."""
    TEXT = "text"
    OTHER = "another special token, or no token"
    """A reserved special token, or an ID outside the vocabulary."""


class Violation(StrEnum):
    """What is wrong with a header, a body, or what stands between two messages."""

    AFTER_RETURN = "token after <|return|>"
    AFTER_CALL = "token after <|call|>"
    SECOND_END = "stop token after <|end|>"
    SECOND_CALL = "<|call|> after <|call|>"
    CALL_AFTER_END = "<|call|> after <|end|>"
    RETURN_AFTER_END = "<|return|> after <|end|>"
    NO_START = "header without <|start|>"
    NO_START_BEFORE_ROLE = "role without <|start|>"
    TEXT_BETWEEN = "text between messages"
    NO_HEADER = "text in place of a header"
    PROMPT_REPEATED = "the end of the prompt again"
    SECOND_START = "second <|start|>"
    NO_ROLE = "no role"
    UNKNOWN_ROLE = "unknown role"
    DOUBLED_ROLE = "doubled role"
    GLUED_ROLE = "text attached to the role"
    NO_CHANNEL = "no channel after <|channel|>"
    SWAPPED_CHANNEL = "another special token in the place of <|channel|>"
    SECOND_CHANNEL = "second <|channel|>"
    CHANNEL_AFTER_RECIPIENT = "second <|channel|> after the recipient"
    SECOND_RECIPIENT = "second recipient"
    WORDS_AFTER_CONSTRAIN = "words after <|constrain|>"
    EXTRA_WORDS = "extra words in a header"
    NO_MESSAGE = "no <|message|> before the next token"
    UNFINISHED_HEADER = "stream ends in a header"
    SPECIAL_IN_BODY = "special token in a body"
    ENDOFTEXT_IN_BODY = "<|endoftext|> in a body"


EXPECTED: Final[Mapping[Place, str]] = {
    Place.OPENING: "a header",
    Place.ROLE: "a role",
    Place.NAMED_ROLE: "<|channel|>, a recipient or <|message|>",
    Place.CHANNEL: "a channel",
    Place.NAMED_CHANNEL: "a recipient, <|constrain|> or <|message|>",
    Place.CONTENT_TYPE: "one content type and <|message|>",
    Place.BODY: "text or a stop token",
    Place.AFTER_END: "<|start|>",
    Place.AFTER_RETURN: "the end of the response",
    Place.AFTER_CALL: "the end of the response",
}
"""What may follow at each place, as a sentence says it."""

_WORDS: Final = (TokenKind.ROLE, TokenKind.TO, TokenKind.TEXT)
_STOPS: Final = (TokenKind.END, TokenKind.RETURN, TokenKind.CALL, TokenKind.ENDOFTEXT)


def _row(
    *cells: tuple[TokenKind | tuple[TokenKind, ...], Place | Violation], rest: Violation
) -> Mapping[TokenKind, Place | Violation]:
    row: dict[TokenKind, Place | Violation] = dict.fromkeys(TokenKind, rest)
    for kinds, outcome in cells:
        row.update(dict.fromkeys((kinds,) if isinstance(kinds, TokenKind) else kinds, outcome))
    return row


TABLE: Final[Mapping[Place, Mapping[TokenKind, Place | Violation]]] = {
    Place.OPENING: _row(
        (TokenKind.CHANNEL, Place.CHANNEL),
        (TokenKind.CONSTRAIN, Place.CONTENT_TYPE),
        (TokenKind.MESSAGE, Place.BODY),
        (TokenKind.TO, Place.NAMED_ROLE),
        (TokenKind.START, Violation.PROMPT_REPEATED),
        (_STOPS, Violation.NO_MESSAGE),
        rest=Violation.NO_HEADER,
    ),
    Place.ROLE: _row(
        (_WORDS, Place.NAMED_ROLE),
        (TokenKind.START, Violation.SECOND_START),
        (_STOPS, Violation.NO_MESSAGE),
        (TokenKind.OTHER, Violation.UNKNOWN_ROLE),
        rest=Violation.NO_ROLE,
    ),
    Place.NAMED_ROLE: _row(
        (_WORDS, Place.NAMED_ROLE),
        (TokenKind.CHANNEL, Place.CHANNEL),
        (TokenKind.CONSTRAIN, Place.CONTENT_TYPE),
        (TokenKind.MESSAGE, Place.BODY),
        (TokenKind.START, Violation.SECOND_START),
        (_STOPS, Violation.NO_MESSAGE),
        rest=Violation.EXTRA_WORDS,
    ),
    Place.CHANNEL: _row(
        (_WORDS, Place.NAMED_CHANNEL),
        (TokenKind.CHANNEL, Violation.SECOND_CHANNEL),
        ((*_STOPS, TokenKind.START), Violation.NO_MESSAGE),
        (TokenKind.OTHER, Violation.EXTRA_WORDS),
        rest=Violation.NO_CHANNEL,
    ),
    Place.NAMED_CHANNEL: _row(
        (_WORDS, Place.NAMED_CHANNEL),
        (TokenKind.CONSTRAIN, Place.CONTENT_TYPE),
        (TokenKind.MESSAGE, Place.BODY),
        (TokenKind.CHANNEL, Violation.SECOND_CHANNEL),
        ((*_STOPS, TokenKind.START), Violation.NO_MESSAGE),
        rest=Violation.EXTRA_WORDS,
    ),
    Place.CONTENT_TYPE: _row(
        (_WORDS, Place.CONTENT_TYPE),
        (TokenKind.CHANNEL, Place.CHANNEL),
        (TokenKind.MESSAGE, Place.BODY),
        ((*_STOPS, TokenKind.START), Violation.NO_MESSAGE),
        rest=Violation.WORDS_AFTER_CONSTRAIN,
    ),
    Place.BODY: _row(
        (_WORDS, Place.BODY),
        (TokenKind.END, Place.AFTER_END),
        (TokenKind.RETURN, Place.AFTER_RETURN),
        (TokenKind.CALL, Place.AFTER_CALL),
        (TokenKind.ENDOFTEXT, Violation.ENDOFTEXT_IN_BODY),
        rest=Violation.SPECIAL_IN_BODY,
    ),
    Place.AFTER_END: _row(
        (TokenKind.START, Place.ROLE),
        (TokenKind.END, Violation.SECOND_END),
        (TokenKind.CALL, Violation.CALL_AFTER_END),
        ((TokenKind.RETURN, TokenKind.ENDOFTEXT), Violation.RETURN_AFTER_END),
        ((TokenKind.CHANNEL, TokenKind.CONSTRAIN, TokenKind.MESSAGE), Violation.NO_START),
        (TokenKind.ROLE, Violation.NO_START_BEFORE_ROLE),
        rest=Violation.TEXT_BETWEEN,
    ),
    Place.AFTER_RETURN: _row((TokenKind.START, Place.ROLE), rest=Violation.AFTER_RETURN),
    Place.AFTER_CALL: _row(
        (TokenKind.START, Place.ROLE),
        (TokenKind.CALL, Violation.SECOND_CALL),
        rest=Violation.AFTER_CALL,
    ),
}
"""The place after a token of each kind, or what is wrong with it. The reference parser takes a `<|start|>`
after every stop token."""

BETWEEN: Final = frozenset(
    outcome
    for place in (Place.AFTER_END, Place.AFTER_RETURN, Place.AFTER_CALL)
    for outcome in TABLE[place].values()
    if isinstance(outcome, Violation)
)
"""Violations by a token between two messages."""

_KINDS: Final[Mapping[int, TokenKind]] = {
    **{marker: TokenKind(marker.text) for marker in Marker},
    ENDOFTEXT: TokenKind.ENDOFTEXT,
    ASSISTANT: TokenKind.ROLE,
}
_CLOSED: Final[Mapping[int, Place]] = {
    Marker.RETURN: Place.AFTER_RETURN,
    Marker.CALL: Place.AFTER_CALL,
}


class Violated(NamedTuple):
    """A violation and where it shows."""

    violation: Violation
    place: Place
    at: int | None
    """The token that its place cannot take; None where the words of a header are at fault, or its end is
    missing."""

    @property
    def expected(self) -> str:
        """What may follow at the place."""
        return EXPECTED[self.place]


def kind_of(token_id: int) -> TokenKind:
    """What the grammar takes a token for."""
    kind = _KINDS.get(token_id)
    if kind is not None:
        return kind
    text = token_bytes(token_id)
    if token_id >= _FIRST_SPECIAL or not text:
        return TokenKind.OTHER
    return TokenKind.TO if text.strip() == b"to" else TokenKind.TEXT


def between(ids: Sequence[int], at: int) -> Violated | None:
    """What is wrong with the token `at`, which stands between two messages."""
    place = _CLOSED.get(ids[at - 1], Place.AFTER_END) if at else Place.AFTER_END
    outcome = TABLE[place][kind_of(ids[at])]
    return Violated(outcome, place, at) if isinstance(outcome, Violation) else None


def of_body(ids: Sequence[int], start: int, end: int) -> Violated | None:
    """The first token of a body that is not text."""
    body = ids[start:end]
    if not body or max(body) < _FIRST_SPECIAL:
        return None
    at = next(place for place, token_id in enumerate(body, start) if token_id >= _FIRST_SPECIAL)
    outcome = TABLE[Place.BODY][kind_of(ids[at])]
    return Violated(outcome, Place.BODY, at) if isinstance(outcome, Violation) else None


def of_header(
    ids: Sequence[int],
    start: int,
    end: int,
    error: ParserError | None = None,
    *,
    accepted: bool = False,
    in_prompt: bool = False,
) -> Violated | None:
    """What is wrong with the header of the tokens `start` to `end`.

    `error` are the parser's words about it, if any are known. `accepted` headers are those that the parser
    reads; it takes many that the grammar does not allow. `in_prompt` says that the prompt ends in the
    `<|start|>assistant` of the header.
    """
    opened = not in_prompt and start < end and ids[start] == Marker.START
    place = Place.ROLE if opened else Place.OPENING if in_prompt else Place.NAMED_ROLE
    addressed = False
    words = start + opened
    swapped = _swapped_channel(ids, words, end)
    for at in range(next((at for at in range(words, end) if not _is_blank(ids[at])), words), end):
        kind = kind_of(ids[at])
        outcome = Violation.SWAPPED_CHANNEL if at == swapped else TABLE[place][kind]
        addressed = addressed or kind is TokenKind.TO
        if outcome is Violation.SECOND_CHANNEL and addressed:
            outcome = Violation.CHANNEL_AFTER_RECIPIENT
        if outcome is Violation.PROMPT_REPEATED and list(ids[at + 1 : at + 2]) != [ASSISTANT]:
            outcome = Violation.SECOND_START
        if outcome is Violation.NO_MESSAGE and at == len(ids) - 1 and not accepted and error is None:
            outcome = (
                Violation.UNFINISHED_HEADER
            )  # the turn ends there, and no header can have been swallowed
        if isinstance(outcome, Violation):
            return Violated(outcome, place, at)
        if outcome is Place.BODY:
            break
        place = outcome
    else:
        if not accepted and (error is None or error.reason is RejectionReason.UNFINISHED):
            return Violated(Violation.UNFINISHED_HEADER, place, None)
    text = join_bytes(ids[start:end]).decode("utf-8", "replace")
    violation = _of_words(text, opened=opened, error=error, accepted=accepted)
    return None if violation is None else Violated(violation, place, None)


def _is_blank(token_id: int) -> bool:
    return not (token_bytes(token_id) or b"-").strip()


def _swapped_channel(ids: Sequence[int], start: int, end: int) -> int | None:
    """The special token before a channel's name, in a header without <|channel|> that ends in that name."""
    header = ids[start:end]
    if Marker.CHANNEL in header:
        return None
    special = [at for at in range(start, end) if ids[at] >= _FIRST_SPECIAL and ids[at] != Marker.MESSAGE]
    closed = next((at for at in range(start, end) if ids[at] == Marker.MESSAGE), end)
    name = join_bytes(ids[special[-1] + 1 : closed]).strip() if special else b""
    return special[-1] if name in _CHANNELS else None


def _of_words(text: str, *, opened: bool, error: ParserError | None, accepted: bool) -> Violation | None:
    """What is wrong with the words of a header whose tokens stand where they may."""
    role = _ROLE_WORD.match(text) if opened else None
    word = role[1] if role else ""
    if error is not None and error.reason is RejectionReason.UNKNOWN_ROLE:
        word = error.quoted
    if word.startswith(_ASSISTANT * 2):
        return Violation.DOUBLED_ROLE
    if word.startswith(_ASSISTANT) and word != _ASSISTANT:
        return Violation.GLUED_ROLE
    if accepted:
        return None
    reason = RejectionReason.EXTRA_WORDS if error is None else error.reason
    match reason:
        case RejectionReason.UNKNOWN_ROLE:
            return Violation.UNKNOWN_ROLE
        case RejectionReason.NO_ROLE:
            return Violation.NO_ROLE
        case RejectionReason.NO_CHANNEL:
            return Violation.NO_CHANNEL
        case RejectionReason.UNFINISHED:
            return Violation.UNFINISHED_HEADER
        case RejectionReason.EXTRA_WORDS | RejectionReason.UNDECODABLE | RejectionReason.NOT_START:
            if text.count(_TO) > 1:
                return Violation.SECOND_RECIPIENT
            after = Marker.CONSTRAIN.text in text
            return Violation.WORDS_AFTER_CONSTRAIN if after else Violation.EXTRA_WORDS
        case _:
            assert_never(reason)
