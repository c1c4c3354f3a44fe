"""Faults that a request can select: their names, and parsing them from text.

`FAULTS` is the list that docs and pages show. Nothing is applied here: `imitation` and `reshape` change
tokens and payloads, `pacing` changes bytes and times.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import repeat
from random import Random
from typing import Any, Final, NamedTuple

from inspector.capture.errors import InspectorError
from inspector.protocol.harmony.vocab import encode

MIDDLE: Final = -1
"""Instead of an event's index: the middle of the response."""

_EVENTS_AT_MOST: Final = 10**6
_STALL_AT_MOST_S: Final = 3600.0
_TEXT_AT_MOST: Final = 2000
_RAGGED_AT_MOST: Final = 8


class Stall(NamedTuple):
    """A pause before one event."""

    event: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """Faults of one response, by default none. Events count from 0, `MIDDLE` is the middle."""

    merge: int = 1
    """Events with tokens that are merged into one, as by an engine that yields several tokens at once."""
    ragged: int | None = None
    """Seed of a schedule that merges 1 to 8 events with tokens into one, as speculative decoding does."""
    last_token_only: bool = False
    """Of each event only the last token's text is delivered (vLLM 0.10 chat, 0.13 Responses)."""
    split_utf8: bool = False
    """Each token is decoded alone, so a character of two tokens becomes U+FFFD twice."""
    split_bytes: bool = False
    """Network chunks end inside characters; a correct client sees no difference."""
    omit_message: int | None = None
    """The model omits this `<|message|>`, counted from 0; the server's parser reacts as it does."""
    after_return: tuple[int, ...] = ()
    """Tokens that the model generates after `<|return|>`."""
    swallow: bool = False
    """The server ignores parser errors (vLLM 0.32) instead of ending with an error event."""
    stall: Stall | None = None
    cut: int | None = None
    """The connection breaks before this event."""
    cut_inside: int | None = None
    """The connection breaks in the middle of this event's bytes."""
    error_event: int | None = None
    """The server reports an internal error before this event, and ends."""
    http: int | None = None
    """This HTTP status, with the JSON that vLLM sends, instead of a response."""
    html: int | None = None
    """This HTTP status with an HTML page, as a gateway sends it."""
    malformed: int | None = None
    """This event loses its second half, so it is not JSON."""
    no_done: bool = False
    """The terminal event is missing: `[DONE]`, `response.completed`."""

    @property
    def merges(self) -> bool:
        """True when events with tokens are merged."""
        return self.merge > 1 or self.ragged is not None

    def sizes(self) -> Iterator[int]:
        """How many events are merged into each event; endless."""
        if self.ragged is None:
            yield from repeat(self.merge)
        draw = Random(self.ragged)  # noqa: S311 -- the same for the same seed, no secret
        while True:
            yield draw.randint(1, _RAGGED_AT_MOST)

    @property
    def tokens_change(self) -> bool:
        """True when the tokens must be served again."""
        return self.omit_message is not None or bool(self.after_return)


class Fault(NamedTuple):
    """One fault as a request names it."""

    words: str
    """What happens, in words."""
    value: str
    """What follows `=`; empty if the fault takes no value."""
    example: str
    read: Callable[[str], Mapping[str, Any]]
    """From the text after `=`, or an empty one, to fields of `Faults`; raises ValueError."""


def _number(low: int, high: int, default: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not text:
            return default
        plain = text.strip()
        if not (plain.isascii() and plain.isdecimal() and len(plain) < 10 and low <= int(plain) <= high):
            raise ValueError(f"expected a number from {low:,} to {high:,}")
        return int(plain)

    return read


_event = _number(0, _EVENTS_AT_MOST, MIDDLE)


def _stall(text: str) -> Stall:
    event, _, seconds = text.partition(":")
    try:
        wait_s = float(seconds) if seconds else 5.0
    except ValueError:
        wait_s = -1.0
    if not 0 <= wait_s <= _STALL_AT_MOST_S:
        raise ValueError(f"expected 0 to {_STALL_AT_MOST_S:,.0f} seconds")
    return Stall(_event(event), wait_s)


def _tokens(text: str) -> tuple[int, ...]:
    if len(text) > _TEXT_AT_MOST:
        raise ValueError(f"longer than {_TEXT_AT_MOST:,} characters")
    return tuple(encode(text or " and then some"))


def _flag(name: str) -> Callable[[str], Mapping[str, Any]]:
    def read(text: str) -> Mapping[str, Any]:
        if text:
            raise ValueError("it has no value")
        return {name: True}

    return read


def _field(name: str, read: Callable[[str], object]) -> Callable[[str], Mapping[str, Any]]:
    return lambda text: {name: read(text)}


FAULTS: Final[Mapping[str, Fault]] = {
    "merge": Fault(
        "merge N events with tokens into one", "N", "merge=4", _field("merge", _number(2, 10_000, 3))
    ),
    "ragged": Fault(
        "merge 1 to 8 events with tokens into one, by a seed, as speculative decoding does",
        "SEED",
        "ragged=7",
        _field("ragged", _number(0, 10**9 - 1, 0)),
    ),
    "last-token-only": Fault(
        "deliver only the text of each event's last token",
        "",
        "merge=3,last-token-only",
        _flag("last_token_only"),
    ),
    "split-utf8": Fault(
        "decode each token separately, which garbles characters of several tokens",
        "",
        "split-utf8",
        _flag("split_utf8"),
    ),
    "split-bytes": Fault(
        "end network chunks inside characters; a correct client sees no difference",
        "",
        "split-bytes",
        _flag("split_bytes"),
    ),
    "omit-message": Fault(
        "omit a <|message|> of the model, by default the first",
        "NUMBER",
        "omit-message=1",
        _field("omit_message", _number(0, _EVENTS_AT_MOST, 0)),
    ),
    "after-return": Fault(
        "let the model continue after <|return|>",
        "TEXT (special tokens such as <|start|> are recognized)",
        "after-return= and more",
        _field("after_return", _tokens),
    ),
    "swallow": Fault(
        "ignore parser errors, as vLLM does from 0.32",
        "",
        "omit-message,swallow",
        _flag("swallow"),
    ),
    "stall": Fault("pause before an event", "EVENT:SECONDS", "stall=10:5", _field("stall", _stall)),
    "cut": Fault("break the connection before an event", "EVENT", "cut=10", _field("cut", _event)),
    "cut-inside": Fault(
        "break the connection inside an event", "EVENT", "cut-inside=10", _field("cut_inside", _event)
    ),
    "error-event": Fault(
        "send an error event, then end", "EVENT", "error-event=10", _field("error_event", _event)
    ),
    "http": Fault(
        "send an HTTP error instead of a response",
        "STATUS",
        "http=500",
        _field("http", _number(400, 599, 500)),
    ),
    "html": Fault(
        "send a gateway's HTML error page", "STATUS", "html=502", _field("html", _number(400, 599, 502))
    ),
    "malformed": Fault(
        "send only half of one event's JSON", "EVENT", "malformed=10", _field("malformed", _event)
    ),
    "no-done": Fault("omit the terminal event", "", "no-done", _flag("no_done")),
}


def parse_faults(text: str, *, onto: Faults | None = None) -> Faults:
    """Parse names with values, separated by commas; `onto` are the faults to add them to.

    Raises InspectorError for an unknown name or an invalid value.
    """
    faults = onto or Faults()
    for part in filter(str.strip, text.split(",")):
        name, _, value = part.partition("=")
        name = name.strip()
        if name not in FAULTS:
            raise InspectorError(f"unknown fault {name[:40]!r}; available: {', '.join(FAULTS)}")
        try:
            faults = replace(faults, **FAULTS[name].read(value))
        except ValueError as error:
            value_words = FAULTS[name].value or "no value"
            raise InspectorError(
                f"invalid value {value[:40]!r} for fault {name}: {error}; it takes {value_words}, "
                f"for example {FAULTS[name].example}"
            ) from error
    return faults
