"""Every way to spell a Harmony message as tokens, given what a server reports of it.

A recipient may stand before or after the channel, a content type with or without a space; a body may hold
special tokens or the letters of their names. All of them are read as the same message.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import chain
from typing import Final

from inspector.protocol.harmony.vocab import Marker, encode, encode_plain

HALF: Final = "\ufffd"
"""The replacement for a character whose bytes were not all sampled."""
_HALVES_AT_MOST: Final = 4
_HALVES: Final = (95, 96)
_SPACED_HALVES: Final = (333, 367)
"""Tokens of such bytes, alone and with a space before them."""
_JOINED: Final = re.compile(f"[?-]{HALF}|{HALF}[\n&?adimnoprst]|[^\x00-\x7f]{HALF}|{HALF}[^\x00-\x7f]")
"""Where one token may hold such bytes, or U+FFFD itself, and other text: its tokens cannot be counted."""
_END_OF_TEXT: Final = "<|endoftext|>"
_MARKER: Final = re.compile(
    f"({'|'.join(re.escape(text) for text in (*(marker.text for marker in Marker), _END_OF_TEXT))})"
)


class TurnEnd(StrEnum):
    """How the last message of a turn ended."""

    STOPPED = "stopped"
    """A stop token was sampled."""
    CUT = "cut"
    """The token limit ended it."""
    EITHER = "either"
    """The server used all of its limit and does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedMessage:
    """One message as the server reports it."""

    text: str
    channels: tuple[str | None, ...]
    """Possible channels, likeliest first; only one if the server reports it."""
    recipient: str | None = None
    content_types: tuple[str, ...] = ("",)
    """What may stand in the header after the recipient, with its space, likeliest first."""
    role: str = "assistant"
    as_item: bool = False
    """Reported by an output item, which leaves out the header: channel and recipient are guessed."""
    raw: bool = False
    """The text may be tokens that never became a message, special tokens included (vLLM from 0.27)."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """One way to spell a message."""

    header: tuple[int, ...]
    body: tuple[int, ...]
    stop: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.header) + len(self.body) + len(self.stop)

    @property
    def parts(self) -> tuple[tuple[int, ...], ...]:
        """Header, body and stop token; two spellings are compared part by part."""
        return self.header, self.body, self.stop


Row = tuple[Spelling, ...]
"""All spellings of one message, likeliest first."""


def spellings(turn: Sequence[ReportedMessage], ending: TurnEnd | None) -> Iterator[Row]:
    """Spellings of each message of a turn; `ending` is that of the last turn, None for another."""
    for place, message in enumerate(turn):
        last = place == len(turn) - 1
        yield tuple(dict.fromkeys(_spellings_of(message, first=place == 0, last=last, ending=ending)))


def has_unread(text: str) -> bool:
    """Whether a text has half characters in places where their tokens cannot be counted."""
    halves = text.count(HALF)
    return halves > 0 and (
        halves > _HALVES_AT_MOST or _MARKER.search(text) is not None or _JOINED.search(text) is not None
    )


def _shortest(text: str) -> list[tuple[int, ...]]:
    """The shortest spellings of a text with half characters: each is one token, with the space before it.

    Which half it was is not known, so there is a spelling with each of two tokens, which makes it uncertain.
    """
    *befores, rest = text.split(HALF)
    shortest: list[tuple[int, ...]] = [(), ()]
    for before in befores:
        spaced = before.endswith(" ")
        piece = tuple(encode_plain(before.removesuffix(" ") if spaced else before))
        halves = _SPACED_HALVES if spaced else _HALVES
        shortest = [(*ids, *piece, half) for ids, half in zip(shortest, halves, strict=True)]
    return [(*ids, *encode_plain(rest)) for ids in shortest]


def _spellings_of(
    message: ReportedMessage, *, first: bool, last: bool, ending: TurnEnd | None
) -> Iterator[Spelling]:
    bodies = [tuple(encode_plain(message.text))]
    if HALF in message.text and not has_unread(message.text):
        bodies = _shortest(message.text)
    elif _MARKER.search(message.text) is not None:
        pieces = [tuple(encode_plain(piece)) for piece in _MARKER.split(message.text)]
        bodies += [tuple(chain.from_iterable(pieces)), tuple(encode(message.text))]
    stops = list(_stops(message, last=last, ending=ending))
    if last and message.text.endswith(_END_OF_TEXT):
        stops.append(())  # it stopped the model, and stands in the text
    for header in _headers(message):
        opening = framing(header if first else f"<|start|>{message.role}{header}")
        for body in bodies:
            for stop in stops:
                yield Spelling(opening, body, stop)
    if message.raw and last and len(bodies) > 1:
        opened = first or message.text.startswith(Marker.START.text)
        yield Spelling(() if opened else framing(f"<|start|>{message.role}"), bodies[-1], ())


def _headers(message: ReportedMessage) -> Iterator[str]:
    """The header's spellings after the role, likeliest first."""
    recipient = message.recipient
    for channel in message.channels:
        where = "" if channel is None else f"{Marker.CHANNEL.text}{channel}"
        for kind in message.content_types:
            end = f"{kind}{Marker.MESSAGE.text}"
            if recipient is None:
                yield f"{where}{end}"
            elif recipient.startswith("<|"):
                # The Harmony library reads a content type, or a second channel, as a recipient.
                if recipient.startswith(Marker.START.text):
                    yield f"{recipient}{where}{end}"
                yield f"{where} {recipient}{end}"
                yield f"{where}{recipient}{end}"
            else:
                yield f"{where} to={recipient}{end}"
                if channel is not None:
                    yield f" to={recipient}{where}{end}"


def _stops(message: ReportedMessage, *, last: bool, ending: TurnEnd | None) -> Iterator[tuple[int, ...]]:
    if not last:
        yield (int(Marker.END),)
    elif ending is None:
        yield (int(Marker.CALL),)  # the server ran a tool
    else:
        if ending is not TurnEnd.CUT:
            to = message.recipient
            called = to is not None and (not to.startswith("<|") or "functions." in to)
            yield (int(Marker.CALL if called else Marker.RETURN),)
        if ending is not TurnEnd.STOPPED:
            yield ()
            yield (int(Marker.END),)


@lru_cache(maxsize=1024)
def framing(text: str) -> tuple[int, ...]:
    """Token IDs of a header, cached: a response has the same few headers again and again."""
    return tuple(encode(text))
