"""Tokens in, Harmony events out; never raises on content.

Two witnesses run side by side: the table of `states`, which knows the state of each token, and
`openai_harmony.StreamableParser`, the strict judge that vLLM itself uses up to 0.31. Where the judge
refuses, its message is kept and the tracker resumes at the next `<|start|>` with a new judge, as
the old one may be in any state.

The judge accepts every token of a body (a test shows it each ID of the vocabulary), and always says the same
of the same header between two messages. So it is shown neither bodies nor a header that it has accepted once:
it stays in an empty body, without the stop token, until it is needed again.
"""

from collections import deque
from collections.abc import Callable, Sequence
from operator import length_hint
from typing import Final

from openai_harmony import HarmonyError, Role, StreamableParser

from inspector.protocol.harmony.events import (
    BodyAdded,
    HarmonyEvent,
    Header,
    HeaderClosed,
    HeaderOpened,
    MessageClosed,
    Refused,
)
from inspector.protocol.harmony.states import LEAVES, TRANSITIONS, State
from inspector.protocol.harmony.transcript import USUAL_PROMPT
from inspector.protocol.harmony.vocab import ASSISTANT, Marker, encoding, marker_places

_HEADER_AT_MOST: Final = 4096
"""Tokens of one header that the judge is asked about: its time grows with the square of them."""
_KNOWN_AT_MOST: Final = 4096
_KNOWN_SIZE: Final = 64
"""Headers that are remembered, and how many tokens one may have."""
_HEADER_LONG: Final = f"a header of more than {_HEADER_AT_MOST:,} tokens was not read"

_USUAL: Final = (Marker.START, ASSISTANT)
"""How a prompt ends."""

_IDS: Final = 2**32
"""The judge takes numbers below this as IDs, in the vocabulary or not."""

_CONSTRAIN: Final = Marker.CONSTRAIN.text
_IN_HEADER: Final = frozenset({int(Marker.CHANNEL), int(Marker.CONSTRAIN)})

_known: dict[tuple[int, ...], Header] = {}
"""Headers that a judge between two messages accepted, by their tokens from `<|start|>` to `<|message|>`."""


class HarmonyTracker:
    """Follows one completion.

    `prompt` holds the IDs that the completion continues; None means the usual one, which ends in
    `<|start|>assistant`. Only what follows its last `<|start|>` matters.
    """

    def __init__(self, prompt: Sequence[int] | None = None) -> None:
        self.state = State.ROLE
        """State before the next token."""
        self.count = 0
        """Tokens received."""
        self._header_size = 0
        self._owed: int | None = None
        """The stop token of the last body, while the judge has not been told it."""
        tail = _tail(prompt)
        # One judge, as it is slow to make: a data set has a tracker for each row.
        self._judge = StreamableParser(encoding(), role=Role.ASSISTANT if tail is None else None)
        if tail is not None:
            self.state = State.BETWEEN
            self.count = -len(tail)
            self._given = self._receive(tail)
        else:
            self._given = [HeaderOpened(at=USUAL_PROMPT)]

    def receive(self, ids: Sequence[int]) -> list[HarmonyEvent]:
        """Events of some more tokens.

        How a stream is cut into calls matters for `BodyAdded` alone, which is one for each call that brings
        body tokens.
        """
        given, self._given = self._given, []
        return given + self._receive(ids)

    def _receive(self, ids: Sequence[int]) -> list[HarmonyEvent]:
        found: list[HarmonyEvent] = []
        base = self.count
        self.count += len(ids)
        marks = marker_places(ids)
        here = 0
        next_mark = 0
        opened = -1  # where the open header began, if it began here
        while here < len(ids):
            if self.state is State.BETWEEN:
                while next_mark < len(marks) and marks[next_mark] < here:
                    next_mark += 1
                stop = _header_end(ids, marks, next_mark) if ids[here] == Marker.START else -1
                if self._pass(ids[here : stop + 1], base + here, found):
                    here = stop + 1
                    continue
                opened = here
                self._between(ids[here], base + here, found)
                here += 1
                continue
            leaves = LEAVES[self.state]
            while next_mark < len(marks) and (marks[next_mark] < here or ids[marks[next_mark]] not in leaves):
                next_mark += 1
            stop = marks[next_mark] if next_mark < len(marks) else len(ids)
            here = self._run(ids, here, stop, base, found)
            if here == stop < len(ids):
                if self.state is State.REFUSED:
                    opened = here
                self._leave(ids[here], base + here, found)
                here += 1
                closed = found[-1] if opened >= 0 and here - opened <= _KNOWN_SIZE else None
                if self.state is State.BODY and isinstance(closed, HeaderClosed):
                    _remember(ids[opened:here], closed.header)
        return found

    def _pass(self, ids: Sequence[int], at: int, found: list[HarmonyEvent]) -> bool:
        """Take a header that the judge need not see again; False where it must."""
        header = _known.get(tuple(ids)) if ids and self._owed is not None else None
        if header is None:
            return False
        self._owed = None
        self.state = State.BODY
        found.append(HeaderOpened(at=at))
        found.append(HeaderClosed(at=at + len(ids) - 1, header=header))
        return True

    def _between(self, token_id: int, at: int, found: list[HarmonyEvent]) -> None:
        words = self._ask(token_id)
        if words is not None:
            self._refuse(at, words, found)
            return
        self.state = TRANSITIONS[State.BETWEEN, Marker.START]
        self._header_size = 0
        found.append(HeaderOpened(at=at))

    def _run(self, ids: Sequence[int], start: int, stop: int, base: int, found: list[HarmonyEvent]) -> int:
        """Take tokens that stay in the state; the place after the last one taken."""
        if start == stop or self.state is State.REFUSED:
            return stop
        taken, words = self._judged(ids[start:stop])
        end = start + taken
        if self.state is State.BODY and taken:
            found.append(BodyAdded(start=base + start, end=base + end))
        if words is not None:
            self._refuse(base + end, words, found)
            return end + 1
        return stop

    def _leave(self, token_id: int, at: int, found: list[HarmonyEvent]) -> None:
        state = self.state
        if state is State.REFUSED:
            self._judge = StreamableParser(encoding(), role=None)
            self._owed = None
            self._header_size = 0
        words = None
        if state is State.BODY:
            self._owed = token_id
        else:
            words = self._ask(token_id)
        if words is None and token_id == Marker.MESSAGE and self._header_size > _HEADER_AT_MOST:
            words = _HEADER_LONG
        if words is not None:
            self._refuse(at, words, found)
            return
        self.state = TRANSITIONS[state, Marker(token_id)]
        if state is State.REFUSED:
            found.append(HeaderOpened(at=at))
        elif state is State.BODY:
            found.append(MessageClosed(at=at))
        elif self.state is State.BODY:
            self._header_size = 0
            found.append(HeaderClosed(at=at, header=self._header()))

    def _ask(self, token_id: int) -> str | None:
        return self._judged((token_id,))[1]

    def _judged(self, ids: Sequence[int]) -> tuple[int, str | None]:
        """Ask the judge about tokens of the current state; see `_feed`."""
        if self.state is State.BODY and min(ids) >= 0 and max(ids) < _IDS:
            return len(ids), None
        if self._owed is not None:
            owed, self._owed = self._owed, None
            _feed(self._judge.process, (owed,))
        if self.state is State.BODY:
            return _feed(self._judge.process, ids)
        room = max(_HEADER_AT_MOST - self._header_size, 0)
        self._header_size += len(ids)
        taken, words = _feed(self._judge.process, ids[:room])
        return (taken, words) if words is not None else (len(ids), None)

    def _refuse(self, at: int, words: str, found: list[HarmonyEvent]) -> None:
        found.append(Refused(at=at, state=self.state, words=words))
        self.state = State.REFUSED
        self._header_size = 0

    def _header(self) -> Header:
        # Read once a message: the judge's header properties are cheap, its messages are not.
        judge = self._judge
        content_type = judge.current_content_type
        constrained = content_type is not None and content_type.startswith(_CONSTRAIN)
        if content_type is not None and constrained:
            content_type = content_type.removeprefix(_CONSTRAIN) or None
        role = judge.current_role
        return Header(
            role=None if role is None else str(role.value),
            channel=judge.current_channel,
            recipient=judge.current_recipient,
            content_type=content_type,
            constrained=constrained,
        )


def _header_end(ids: Sequence[int], marks: Sequence[int], mark: int) -> int:
    """Place of the `<|message|>` of the header that begins at a mark; -1 where it is not near."""
    start = marks[mark]
    for place in marks[mark + 1 : mark + 4]:
        if ids[place] not in _IN_HEADER:
            return place if ids[place] == Marker.MESSAGE and place - start < _KNOWN_SIZE else -1
    return -1


def _remember(ids: Sequence[int], header: Header) -> None:
    if len(_known) >= _KNOWN_AT_MOST:  # a stream of ever new headers must not end it for all that follow
        _known.clear()
    _known[tuple(ids)] = header


def _feed(process: Callable[[int], object], ids: Sequence[int]) -> tuple[int, str | None]:
    """Feed the judge; how many it took, and its words if it refused the one after those."""
    left = iter(ids)
    try:
        # A loop in C over a bound method: the judge's own speed is most of the cost of reading.
        deque(map(process, left), maxlen=0)
    except HarmonyError as error:
        return len(ids) - length_hint(left) - 1, str(error)
    except (OverflowError, TypeError):  # an id that is no 32-bit number; the library says it less well
        place = len(ids) - length_hint(left) - 1
        return place, f"{ids[place]} is not a token id"
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
