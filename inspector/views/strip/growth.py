"""The cells of a choice: increments of a stream that grows, and a whole one, which is its growth from zero.

One `Growth` serves one reader. A step costs what is new, never the length of the stream. Cells are
tokens, or delivered pieces in the order of their arrival while no token id is known.
"""

import sys
from collections.abc import Callable, Sequence
from itertools import groupby, pairwise
from typing import Final

from inspector.analysis.alignment import reconstructed_cells
from inspector.analysis.audit import Rejection
from inspector.analysis.reading import ChoiceReading
from inspector.capture.deltas import Delta
from inspector.protocol.harmony.events import MessageHeader
from inspector.protocol.harmony.reconstruction import Reconstruction
from inspector.protocol.harmony.transcript import Message, RejectedRun
from inspector.views.payload import (
    Block,
    BlockChange,
    Cells,
    Events,
    Increment,
    ReconstructionRow,
    StreamState,
    Unit,
)
from inspector.views.strip.blocks import block, field_block
from inspector.views.strip.pieces import is_piece, pieces
from inspector.views.strip.texts import SplitTexts, vocabulary
from inspector.views.strip.unsent import add_unsent

CELLS_AT_MOST: Final = 4096
"""Cells of one increment; a late reader gets several."""

_ALL: Final = 2**31
"""More blocks than there are: all of them stay."""


def grown(
    choice: ChoiceReading, at_s: Callable[[int], float | None], stopped: Rejection | None = None
) -> Cells:
    """The cells of a stream that has ended; see `Growth.step`."""
    growth = Growth(most=sys.maxsize)
    columns = growth.step(choice, at_s, stopped, ended=True) or unchanged(0, growth.unit)
    return {
        "unit": columns["unit"] or "piece",
        "count": columns["count"],
        "ids": columns["ids"] if columns["unit"] == "token" else None,
        "vocab": columns["vocab"],
        "texts": columns["texts"],
        "events": columns["events"],
        "blocks": columns["blocks"]["items"],
        "unsent": columns["unsent"],
    }


def reconstruction_row(choice: ChoiceReading) -> ReconstructionRow:
    """Whether the cells are reconstructed tokens, and the spans of those whose ID is not certain."""
    reconstruction = None if choice.rebuilt is None else choice.reconstruction
    return {
        "reconstructed": reconstruction is not None,
        "uncertain": [] if reconstruction is None else list(reconstruction.uncertain),
    }


class Growth:
    """The part of a stream that one reader has: `count` cells, at first `start`; `most` new ones a step."""

    def __init__(self, start: int = 0, *, most: int = CELLS_AT_MOST) -> None:
        self._most = most
        self._rebuilt: tuple[Reconstruction | None, ChoiceReading] | None = None
        """The reconstruction, and the choice with its tokens."""
        self._placed: Sequence[Delta] | None = None
        """The pieces with those that were lost between them, once the stream has ended."""
        self._begin(start)

    def _begin(self, start: int) -> None:
        self.count = start
        self.more = False
        """True while further steps have cells of the same choice."""
        self.unit: Unit | None = None
        """`token` or `piece`, once a cell is known."""
        self._ids_sent: set[int] | None = None if start else set()
        self._split = SplitTexts()
        self._messages = 0
        self._rejected_runs = 0
        self._blocks = 0
        """Blocks of the reader that do not change any more."""
        self._deltas = 0
        self._last_event: int | None = None
        self._stopped = False
        """True once the reader has the cells of the rejection."""
        self._unsent = 0
        """Cells of the rejection, after the last one sent."""

    @property
    def sent(self) -> int:
        """Cells that the reader has and the server sent."""
        return self.count - self._unsent

    def step(
        self,
        choice: ChoiceReading,
        at_s: Callable[[int], float | None],
        stopped: Rejection | None = None,
        *,
        ended: bool = False,
    ) -> Increment | None:
        """The columns of new cells, None if there are none; `at_s` gives the arrival of an event.

        `stopped` is what the server's error says that its parser rejected: it comes after all that was sent.
        Once the stream has `ended`, text that only its final object has is a cell too.
        """
        rejection = stopped if stopped is not None and stopped.choice == choice.index else None
        rebuilt = self._reconstructed(choice)
        if rebuilt is not None and self.unit is None:
            self._begin(0)  # a reader that comes back may have pieces
        columns = self._step(rebuilt or choice, at_s, rejection, ended=ended)
        if columns is not None and rebuilt is not None:
            row = reconstruction_row(choice)
            columns["reconstructed"], columns["uncertain"] = row["reconstructed"], row["uncertain"]
        return columns

    def _reconstructed(self, choice: ChoiceReading) -> ChoiceReading | None:
        """The choice with reconstructed tokens, made once: the final object ends the stream."""
        if choice.rebuilt is None:
            self._rebuilt = None
        elif self._rebuilt is None or self._rebuilt[0] is not choice.reconstruction:
            cells = reconstructed_cells(choice)
            self._rebuilt = None if cells is None else (choice.reconstruction, cells)
        return None if self._rebuilt is None else self._rebuilt[1]

    def _step(
        self,
        choice: ChoiceReading,
        at_s: Callable[[int], float | None],
        rejection: Rejection | None,
        *,
        ended: bool,
    ) -> Increment | None:
        if ended and not choice.has_ids and choice.has_finals and self._placed is None:
            self._placed, lost = pieces(choice)
            if lost:
                self._begin(0)
        deltas = choice.deltas if self._placed is None else self._placed
        unit: Unit | None = (
            "token" if choice.has_ids else "piece" if deltas or rejection is not None else None
        )
        if unit is None:
            return None
        if unit != self.unit and self.unit is not None:
            self._begin(0)  # ids came after pieces, or the other way round
        self.unit = unit
        if rejection is not None or self._stopped:
            sent = (
                len(choice.tokens.ids) if unit == "token" else sum(is_piece(delta.field) for delta in deltas)
            )
            if self._stopped and sent > self.sent:
                self._begin(0)  # more was sent after the error
                self.unit = unit
            elif rejection is not None and self.count > sent:
                self._stopped, self._unsent = True, self.count - sent  # a reader that comes back has them
        columns = self._tokens(choice, at_s) if unit == "token" else self._pieces(choice, deltas, at_s)
        if rejection is None or self.more or self._stopped:
            return columns
        if columns is None:
            columns = {**unchanged(self.count, unit), "finish": choice.finish_reason}
            columns["blocks"] = {"from": self._blocks, "items": []}
            if unit == "token":
                columns["blocks"] = self._changed_blocks(choice, self.count)
            else:
                columns["ids"] = None
        add_unsent(columns, columns["blocks"]["items"], rejection, at_s)
        columns["last_at"] = at_s(rejection.event)
        self._stopped, self._unsent = True, columns["count"] - self.count
        self.count = columns["count"]
        return columns

    def _tokens(self, choice: ChoiceReading, at_s: Callable[[int], float | None]) -> Increment | None:
        ids, events = choice.tokens.ids, choice.tokens.events
        start = min(self.count, len(ids))
        end = min(start + self._most, len(ids))
        self.more = end < len(ids)
        if start == end:
            return None
        if self._ids_sent is None:
            self._ids_sent = set(ids[:start])
        new = ids[start:end]
        unknown = [token_id for token_id in dict.fromkeys(new) if token_id not in self._ids_sent]
        self._ids_sent.update(unknown)
        self.count = end
        before = events[start - 1] if start else None
        return {
            "unit": "token",
            "from": start,
            "count": end,
            "ids": [*new],
            "vocab": vocabulary(unknown),
            "texts": self._split.step(ids, start, end),
            "events": _events(events[start:end], start, before, at_s),
            "blocks": self._changed_blocks(choice, end),
            "unsent": [],
            "last_at": at_s(events[end - 1]) if events[end - 1] >= 0 else None,
            "finish": choice.finish_reason if end == len(ids) else None,
        }

    def _changed_blocks(self, choice: ChoiceReading, end: int) -> BlockChange:
        """The blocks after the settled ones; a block is settled once another one follows."""
        transcript, ids = choice.transcript, choice.tokens.ids
        changed: list[Message | RejectedRun] = [
            *(message for message in transcript.messages[self._messages :] if message.start < message.end),
            *transcript.rejected_runs[self._rejected_runs :],
        ]
        changed.sort(key=lambda item: item.start)
        change: BlockChange = {
            "from": self._blocks,
            "items": [_within(item, ids, end) for item in changed if item.start < end],
        }
        for item in changed[:-1]:
            if item.end <= end:
                self._blocks += 1
                if isinstance(item, RejectedRun):
                    self._rejected_runs += 1
                else:
                    self._messages += 1
        return change

    def _pieces(
        self, choice: ChoiceReading, deltas: Sequence[Delta], at_s: Callable[[int], float | None]
    ) -> Increment | None:
        if not self.count:
            self._deltas = 0
        elif not self._deltas:
            self._deltas = _place(deltas, self.count)
        new: list[Delta] = []
        while self._deltas < len(deltas) and len(new) < self._most:
            delta = deltas[self._deltas]
            self._deltas += 1
            if is_piece(delta.field):
                new.append(delta)
        self.more = self._deltas < len(deltas)
        if not new:
            return None
        start, self.count = self.count, self.count + len(new)
        blocks: list[Block] = []
        for field, run in groupby(new, lambda delta: delta.field):
            begin = blocks[-1]["end"] if blocks else start
            blocks.append(field_block(begin, begin + sum(1 for _ in run), field))
        first = self._blocks
        self._blocks += len(blocks)
        before, self._last_event = self._last_event, new[-1].event
        return {
            "unit": "piece",
            "from": start,
            "count": self.count,
            "ids": None,
            "vocab": {},
            "texts": {str(place): delta.text for place, delta in enumerate(new, start)},
            "events": _events([delta.event for delta in new], start, before, at_s),
            "blocks": {"from": first, "items": blocks},
            "unsent": [],
            "last_at": at_s(new[-1].event),
            "finish": choice.finish_reason,
        }


def _within(item: Message | RejectedRun, ids: Sequence[int], end: int) -> Block:
    """The block of an item, cut to the cells sent so far."""
    whole = block(item, ids)
    return {**whole, "body": min(whole["body"], end), "end": min(whole["end"], end)}


def _place(deltas: Sequence[Delta], cells: int) -> int:
    """The index of the delta after the first `cells` cells."""
    passed = 0
    for place, delta in enumerate(deltas):
        if passed == cells:
            return place
        passed += is_piece(delta.field)
    return len(deltas)


def _events(
    events: Sequence[int], first: int, before: int | None, at_s: Callable[[int], float | None]
) -> Events:
    """Events whose first cell is `first` or later; `before` is the event of the cell before it."""
    pairs = enumerate(pairwise([before, *events]))
    starts = [place for place, (last, event) in pairs if event != last]
    index = [events[place] for place in starts]
    at = [time for event in index if event >= 0 and (time := at_s(event)) is not None]
    return {
        "index": index,
        "start": [first + place for place in starts],
        "at": at if len(at) == len(index) else None,
    }


def unchanged(count: int, unit: Unit | None = None) -> Increment:
    """An increment without cells and blocks, to which findings and a verdict are added."""
    return {
        "unit": unit,
        "from": count,
        "count": count,
        "ids": [],
        "vocab": {},
        "texts": {},
        "events": {"index": [], "start": [], "at": []},
        "blocks": {"from": _ALL, "items": []},
        "unsent": [],
    }


def stream_position(choice: ChoiceReading, events: int) -> StreamState:
    """The state of the stream after so many events: that of the open message or rejected run."""
    state, header, number = _position(choice)
    return {
        "events": events,
        "state": state,
        "channel": None if header is None else header.channel,
        "recipient": None if header is None else header.recipient,
        "message": number,
    }


def _position(choice: ChoiceReading) -> tuple[str, MessageHeader | None, int | None]:
    transcript = choice.transcript
    last = transcript.messages[-1] if transcript.messages else None
    rejected_run = transcript.rejected_runs[-1] if transcript.rejected_runs else None
    if rejected_run is not None and (last is None or rejected_run.start >= last.start):
        return "refused", None, None
    if last is None or not choice.has_ids:
        return (choice.deltas[-1].field if choice.deltas else "waiting"), None, None
    state = "between messages" if last.complete else "body" if last.in_body else "header"
    return state, last.header, len(transcript.messages) - 1
