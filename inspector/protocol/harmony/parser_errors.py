"""What an error message of Harmony's parser says: the rejected token, or why a header was rejected.

Source: `openai_harmony` 0.0.4 to 0.0.11 (`StreamableParser` in src/encoding.rs). vLLM to 0.31 puts the
message, verbatim, into the error event of a stream. The parser rejects a token only between messages,
and a header only at its `<|message|>`.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

_LOOKED_AT: Final = 20_000
"""Characters of a message that are read: a header is quoted whole, and a model can make it long."""


class RejectionReason(StrEnum):
    """Why the parser stopped."""

    NOT_START = "not start"
    """A token other than `<|start|>` between messages."""
    UNKNOWN_ROLE = "unknown role"
    NO_ROLE = "no role"
    NO_CHANNEL = "no channel"
    """`<|channel|>` without a channel after it."""
    EXTRA_WORDS = "extra words"
    """Text remained in the header after role, channel, recipient and content type were read."""
    UNDECODABLE = "undecodable"
    """The tokens of the header are not UTF-8."""
    UNFINISHED = "unfinished"
    """The response ended inside a header."""

    @property
    def in_header(self) -> bool:
        """True when a header was rejected, false for a token between messages."""
        return self is not RejectionReason.NOT_START


@dataclass(frozen=True, slots=True, kw_only=True)
class ParserError:
    """One message of the parser, read."""

    reason: RejectionReason
    token_id: int | None = None
    """The rejected token; None for headers."""
    quoted: str = ""
    """The role or the words of the header that the message quotes; empty when it quotes none."""


def parser_error(message: str) -> ParserError | None:
    """The parser's error in a message, wherever it stands in it; None when there is none."""
    message = message[:_LOOKED_AT]
    for pattern, read in _MESSAGES:
        if (match := pattern.search(message)) is not None:
            return read(match)
    return None


def _token(match: re.Match[str]) -> ParserError:
    return ParserError(reason=RejectionReason.NOT_START, token_id=int(match[1]))


def _role(match: re.Match[str]) -> ParserError:
    return ParserError(reason=RejectionReason.UNKNOWN_ROLE, quoted=match[1])


def _words(match: re.Match[str]) -> ParserError:
    quoted = [_unescaped(string) for string in _STRING.findall(match[1])]
    return ParserError(reason=RejectionReason.EXTRA_WORDS, quoted=" ".join(quoted))


def _only(reason: RejectionReason) -> Callable[[re.Match[str]], ParserError]:
    return lambda _: ParserError(reason=reason)


_MESSAGES: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], ParserError]], ...]] = (
    (re.compile(r"Unexpected token (\d{1,10}) while expecting start token \d"), _token),
    (re.compile(r"Unknown role: ([^\n]*)"), _role),
    (re.compile(r"unexpected tokens remaining in message header: (.*)", re.DOTALL), _words),
    (
        re.compile(r"channel marker present but no channel value found in header"),
        _only(RejectionReason.NO_CHANNEL),
    ),
    (re.compile(r"message header did not contain a role"), _only(RejectionReason.NO_ROLE)),
    (re.compile(r"could not decode header"), _only(RejectionReason.UNDECODABLE)),
    (re.compile(r"Unexpected EOS while waiting for message header"), _only(RejectionReason.UNFINISHED)),
)

_STRING: Final = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
"""A string as Rust's Debug prints it: `Some("we need")`, of older releases `["we", "need"]`."""
_ESCAPE: Final = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|(.))", re.DOTALL)
_ESCAPED: Final = {"n": "\n", "r": "\r", "t": "\t", "0": "\0"}


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(_character, text)


def _character(match: re.Match[str]) -> str:
    if match[1]:
        code = int(match[1], 16)
        return chr(code) if code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF else "\ufffd"
    return _ESCAPED.get(match[2], match[2])
