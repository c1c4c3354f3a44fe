"""Tokens in, Harmony events out; content never raises.

Two parsers run in step
-----------------------
The table of `states` says which state the stream is in before each token. `openai_harmony.StreamableParser`,
the reference parser, which vLLM itself uses up to 0.31, says which tokens and headers are valid and what a
header means. Neither can do without the other: the table would accept `<|start|>nobody<|message|>`, and the
reference parser does not say where in a header it is.

Where the reference parser rejects a token, its message is kept, and the tracker skips to the next
`<|start|>`. A new reference parser begins there, as the old one may be in any state.

Runs, not tokens
----------------
Most tokens leave the state as it is; only the special tokens in `LEAVES[state]` change it, and `_Chunk` finds
those by searches that run in C. So each step takes all tokens up to the next one that matters:

    state           tokens taken                                      method
    BETWEEN         `<|start|>`, or a whole header from the cache     `_open_header`
    header states   words, and the special token that ends them       `_read_header`
    BODY            text, and the stop token that closes the message  `_read_body`
    REJECTED        everything before the next `<|start|>`            `_skip_rejected`

What the reference parser is not fed
------------------------------------
A token costs fifty times as much in the reference parser as in the table. So it is fed only what it may
reject:

1. No bodies. It accepts every token in a body (a test feeds it each ID of the vocabulary), and the text of a
   body has no effect on what follows.
2. No header that it has accepted before. Between two messages it always reads the same header in the same
   way, so `_accepted` keeps its result by the tokens of the header. The cache belongs to the module, not to a
   tracker: a data set has a tracker for each row, and the same few headers in all of them.

The reference parser therefore lags behind the stream. It stays in the body of the last header that it was
fed, and `_unfed_stop` is the stop token that would close that body:

    stream            ...<|message|>Hi<|end|>  known header  Bye<|return|>  new header
    reference parser  ...<|message|>                            <|return|>  new header

Three invariants keep the two in step:

- In a body, the reference parser is in a body too, and there is no unfed stop token.
- Between messages, it is in a body if there is an unfed stop token, and between messages if there is none.
- A header comes from the cache only if there is an unfed stop token. Dropping that token is what moves the
  reference parser from the body of one message to the body of the next.

Bounds
------
The time of the reference parser grows with the square of a header's length, so it is fed `_HEADER_AT_MOST`
tokens of a header, and a longer one is rejected. The cache holds short headers and is emptied when it is
full: a stream of ever new headers must not make it useless for all later ones. The reference parser raises an
error of another kind for a number that does not fit into 32 bits; such a number is rejected without it.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from operator import length_hint
from typing import Final

from openai_harmony import HarmonyError, Role, StreamableParser

from inspector.protocol.harmony.events import (
    BodyAdded,
    HarmonyEvent,
    HeaderClosed,
    HeaderOpened,
    MessageClosed,
    MessageHeader,
    TokenRejected,
)
from inspector.protocol.harmony.states import LEAVES, TRANSITIONS, State
from inspector.protocol.harmony.transcript import USUAL_PROMPT
from inspector.protocol.harmony.vocab import ASSISTANT, Marker, encoding, marker_places

_HEADER_AT_MOST: Final = 4096
"""Tokens of one header that the reference parser is fed."""
_TOO_LONG: Final = f"a header of more than {_HEADER_AT_MOST:,} tokens was not read"

_CACHE_SIZE: Final = 4096
"""MessageHeaders that the cache holds."""
_CACHED_TOKENS: Final = 64
"""Tokens of a header in the cache, at most."""
_CACHED_SPECIAL: Final = 4
"""Special tokens of a header that is looked up in the cache, at most."""

_USUAL: Final = (Marker.START, ASSISTANT)
"""How a prompt ends."""

_ID_LIMIT: Final = 2**32
"""The reference parser takes numbers below this as IDs, in the vocabulary or not."""

_CONSTRAIN: Final = Marker.CONSTRAIN.text
_IN_HEADER: Final = frozenset({int(Marker.CHANNEL), int(Marker.CONSTRAIN)})

_accepted: Final[dict[tuple[int, ...], MessageHeader]] = {}
"""Headers that the reference parser accepted, by their tokens from `<|start|>` to `<|message|>`."""


class HarmonyTracker:
    """Follows one completion.

    `prompt` holds the IDs that the completion continues; None means the usual one, which ends in
    `<|start|>assistant`. Only what follows its last `<|start|>` matters.
    """

    def __init__(self, prompt: Sequence[int] | None = None) -> None:
        self.state = State.ROLE
        """State before the next token."""
        self.count = 0
        """Tokens received, which is the index of the next one; negative in the prompt."""
        self._events: list[HarmonyEvent] = []
        """What `receive` returns next."""
        self._header: list[int] = []
        """Tokens of the open header from `<|start|>` on; empty where the usual prompt opened it."""
        self._header_size = 0
        """Tokens of the open header after `<|start|>`."""
        self._unfed_stop: int | None = None
        """The stop token of the last body, until the reference parser is fed it."""
        tail = _tail(prompt)
        # One parser, as it is slow to make: a data set has a tracker for each row.
        self._parser = StreamableParser(encoding(), role=Role.ASSISTANT if tail is None else None)
        if tail is None:
            self._events.append(HeaderOpened(at=USUAL_PROMPT))
        else:
            self.state = State.BETWEEN
            self.count = -len(tail)
            self._take(tail)

    def receive(self, ids: Sequence[int]) -> list[HarmonyEvent]:
        """Events of some more tokens.

        How a stream is cut into calls matters for `BodyAdded` alone, which is one for each call that brings
        body tokens.
        """
        self._take(ids)
        events, self._events = self._events, []
        return events

    def _take(self, ids: Sequence[int]) -> None:
        for numbers, outside in _split(ids):
            self._parse(_Chunk(numbers))
            if outside is not None:
                if self.state is not State.REJECTED:
                    self._reject(self.count, f"{outside} is not a token id")
                self.count += 1

    def _parse(self, chunk: "_Chunk") -> None:
        ids = chunk.ids
        at = 0
        while at < len(ids):
            if self.state is State.BETWEEN:
                taken = self._open_header(chunk.short_header(at) or ids[at : at + 1])
            else:
                end = chunk.next_of(LEAVES[self.state], at)
                leaving = ids[end] if end < len(ids) else None
                match self.state:
                    case State.BODY:
                        taken = self._read_body(end - at, leaving)
                    case State.REJECTED:
                        taken = self._skip_rejected(end - at, leaving)
                    case _:
                        taken = self._read_header(ids[at : end + 1], leaving)
            at += taken
            self.count += taken

    def _open_header(self, ids: Sequence[int]) -> int:
        """Take a whole header if the cache has it, else its first token; how many tokens that is."""
        at = self.count
        header = None if self._unfed_stop is None else _accepted.get(tuple(ids))
        if header is not None:
            self._unfed_stop = None
            self.state = State.BODY
            self._events.append(HeaderOpened(at=at))
            self._events.append(HeaderClosed(at=at + len(ids) - 1, header=header))
            return len(ids)
        unfed = () if self._unfed_stop is None else (self._unfed_stop,)
        self._unfed_stop = None
        _, message = _feed(self._parser.process, (*unfed, ids[0]))
        if message is not None:
            self._reject(at, message)
            return 1
        self.state = TRANSITIONS[State.BETWEEN, Marker.START]
        self._header, self._header_size = [ids[0]], 0
        self._events.append(HeaderOpened(at=at))
        return 1

    def _read_header(self, ids: Sequence[int], leaving: int | None) -> int:
        """Take words of a header, and the special token `leaving` that ends them."""
        room = max(_HEADER_AT_MOST - self._header_size, 0)
        self._header_size += len(ids)
        accepted, message = _feed(self._parser.process, ids[:room])
        if message is None and leaving == Marker.MESSAGE and self._header_size > _HEADER_AT_MOST:
            accepted, message = len(ids) - 1, _TOO_LONG
        if message is not None:
            self._reject(self.count + accepted, message)
            return accepted + 1
        if 0 < len(self._header) <= _CACHED_TOKENS:
            self._header += ids
        if leaving is not None:
            self.state = TRANSITIONS[self.state, Marker(leaving)]
        if self.state is State.BODY:
            header = self._parsed_header()
            self._events.append(HeaderClosed(at=self.count + len(ids) - 1, header=header))
            _remember(self._header, header)
        return len(ids)

    def _read_body(self, size: int, leaving: int | None) -> int:
        """Take text of a body, and the stop token `leaving` that closes the message."""
        end = self.count + size
        if size:
            self._events.append(BodyAdded(start=self.count, end=end))
        if leaving is None:
            return size
        self._unfed_stop = leaving
        self.state = TRANSITIONS[State.BODY, Marker(leaving)]
        self._events.append(MessageClosed(at=end))
        return size + 1

    def _skip_rejected(self, size: int, leaving: int | None) -> int:
        """Take rejected tokens; at the `<|start|>` that ends them a new reference parser begins."""
        if leaving is not None:
            self._parser = StreamableParser(encoding(), role=None)
            self._unfed_stop = None
            self.state = State.BETWEEN
        return size

    def _reject(self, at: int, message: str) -> None:
        self._events.append(TokenRejected(at=at, state=self.state, words=message))
        self.state = State.REJECTED

    def _parsed_header(self) -> MessageHeader:
        # Read once per message: the header properties of the parser are cheap, its messages are not.
        parser = self._parser
        content_type = parser.current_content_type
        constrained = content_type is not None and content_type.startswith(_CONSTRAIN)
        if content_type is not None and constrained:
            content_type = content_type.removeprefix(_CONSTRAIN) or None
        role = parser.current_role
        return MessageHeader(
            role=None if role is None else str(role.value),
            channel=parser.current_channel,
            recipient=parser.current_recipient,
            content_type=content_type,
            constrained=constrained,
        )


class _Chunk:
    """The IDs of one call, with the places of their special tokens; it is searched from start to end."""

    def __init__(self, ids: Sequence[int]) -> None:
        self.ids = ids
        self._special = marker_places(ids)
        self._next = 0
        """Number of the first special token that is not before the last place asked for."""

    def next_of(self, special: frozenset[int], start: int) -> int:
        """Place of the first of these special tokens from `start` on; the end where there is none."""
        places, ids = self._special, self.ids
        while self._next < len(places) and (
            places[self._next] < start or ids[places[self._next]] not in special
        ):
            self._next += 1
        return places[self._next] if self._next < len(places) else len(ids)

    def short_header(self, start: int) -> Sequence[int]:
        """The header that begins at `start`, if it ends in this chunk and may be in the cache; else empty."""
        places, ids = self._special, self.ids
        if ids[start] != Marker.START:
            return ()
        while places[self._next] < start:
            self._next += 1
        for place in places[self._next + 1 : self._next + _CACHED_SPECIAL]:
            if ids[place] not in _IN_HEADER:
                short = ids[place] == Marker.MESSAGE and place - start < _CACHED_TOKENS
                return ids[start : place + 1] if short else ()
        return ()


def _remember(ids: Sequence[int], header: MessageHeader) -> None:
    if not 0 < len(ids) <= _CACHED_TOKENS:
        return
    if len(_accepted) >= _CACHE_SIZE:
        _accepted.clear()
    _accepted[tuple(ids)] = header


def _split(ids: Sequence[int]) -> Iterator[tuple[Sequence[int], int | None]]:
    """The IDs as runs of 32-bit numbers, each with the other number that follows it, if any."""
    if not ids or (min(ids) >= 0 and max(ids) < _ID_LIMIT):
        yield ids, None
        return
    start = 0
    for place, token_id in enumerate(ids):
        if not 0 <= token_id < _ID_LIMIT:
            yield ids[start:place], token_id
            start = place + 1
    yield ids[start:], None


def _feed(process: Callable[[int], object], ids: Sequence[int]) -> tuple[int, str | None]:
    """Feed the reference parser; how many it accepted, and its message where it rejected the next one."""
    pending = iter(ids)
    try:
        # A loop in C over a bound method: the speed of the reference parser is most of the cost of reading.
        deque(map(process, pending), maxlen=0)
    except HarmonyError as error:
        return len(ids) - length_hint(pending) - 1, str(error)
    return len(ids), None


def _tail(prompt: Sequence[int] | None) -> Sequence[int] | None:
    """What follows the prompt's last `<|start|>`, with it; None for the usual `<|start|>assistant`."""
    if prompt is None:
        return None
    for place in range(len(prompt) - 1, -1, -1):
        if prompt[place] == Marker.START:
            tail = prompt[place:]
            return None if tuple(tail) == _USUAL else tail
    return ()
