"""The picture of a stream: what became of every token, and what each field of the client received.

Every cell has exactly one fate. A lane stands for one field of the client; its pieces, in the order in which
they arrived, are all of its text. Where text arrived that no token accounts for, a piece without cells holds
it, so that the text of a lane is always exactly what was delivered.
"""

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, TypeAlias, assert_never

from inspector.analysis.alignment import Alignment, Extra, Fate, FateState
from inspector.analysis.alignment.calls import renumbered
from inspector.analysis.reading import ChoiceReading, Reading
from inspector.capture.deltas import Delta
from inspector.protocol.harmony.text import text_of, texts
from inspector.protocol.harmony.vocab import MARKERS
from inspector.views.lane_labels import lane_labels
from inspector.views.payload import CellFate, Cells, FateRun, Lane, Piece, Pipeline, Sign, UnsentCell

_Fate: TypeAlias = tuple[CellFate, int | None, int | None, Sign]

_SEARCHED: Final = 4096
"""Characters after the last text placed in which the text of a token is looked for."""

_WAITING: Final = 8
"""Fates that are tried at a place: where parts of one fate arrived late, others stand before them."""

_SIGNS: Final[Mapping[FateState, Sign]] = {
    FateState.REORDERED: "reordered",
    FateState.GARBLED: "garbled",
    FateState.UNSERVED: "unserved",
}


def token_pipeline(reading: Reading, choice: ChoiceReading, alignment: Alignment | None) -> Pipeline:
    """The picture of a choice with token IDs, sent or reconstructed.

    Without an alignment it is unknown what became of the bodies, and the lanes hold delivered text only.
    """
    alignment = alignment or Alignment(fates=[], extras=[], calls=[])
    delivered = _delivered(choice, alignment)
    fates = [fate for fate in alignment.fates if fate.start < fate.end]
    arrived: defaultdict[str, list[tuple[Fate, Sign]]] = defaultdict(list)
    covered = 0
    for fate in fates:
        if fate.delivered_in is not None:
            sign: Sign = "duplicated" if fate.start < covered else _SIGNS.get(fate.state, "")
            arrived[fate.delivered_in].append((fate, sign))
        covered = max(covered, fate.end)
    extras: defaultdict[str, list[Extra]] = defaultdict(list)
    for extra in alignment.extras:
        extras[extra.field].append(extra)
    fields = _lane_fields(choice, fates, delivered)
    labels = lane_labels(choice, fields)
    lanes: list[Lane] = []
    unplaced: list[tuple[int, int]] = []
    for field, label in zip(fields, labels, strict=True):
        placing = _Placing(choice, delivered.get(field, ()), extras[field])
        lanes.append({"field": field, "label": label, "pieces": list(placing.pieces(arrived[field]))})
        unplaced += placing.unplaced
    numbers = {field: number for number, field in enumerate(fields)}
    runs = list(_fates(choice, fates, numbers, unplaced))
    return {"server": server_name(reading), "lanes": lanes, "fates": runs}


def piece_pipeline(reading: Reading, choice: ChoiceReading, cells: Cells) -> Pipeline:
    """The picture of cells that are delivered pieces, with the lost parts of the final texts between them."""
    lanes: list[Lane] = []
    fates: list[FateRun] = []
    labels = lane_labels(choice, [block["channel"] or "" for block in cells["blocks"]])
    runs = iter(cells["ribbons"][0]["runs"])
    for number, block in enumerate(cells["blocks"]):
        pieces: list[Piece] = []
        for _ in range(block["start"], block["end"]):
            start, end, arrived_in, state = next(runs)
            if arrived_in is None:
                fates.append((start, end, "lost", number, None, ""))
            else:
                fate: CellFate = "delivered" if state == FateState.OK else "unknown"
                fates.append((start, end, fate, number, number, ""))
                pieces.append((start, end, None, ""))
        field, label = block["channel"] or "", labels[number]
        lanes.append({"field": field, "label": label, "pieces": list(_joined(pieces))})
    return {"server": server_name(reading), "lanes": lanes, "fates": list(_joined_fates(fates))}


def unsent_fates(unsent: Sequence[UnsentCell]) -> list[FateRun]:
    """The fates of cells that the server's error names and the server never sent."""
    return list(_unsent_fates(unsent))


def server_name(reading: Reading) -> str:
    """The name on the server's bar."""
    return reading.server_label if reading.server_version else "the server"


def _delivered(choice: ChoiceReading, alignment: Alignment) -> Mapping[str, Sequence[Delta]]:
    by_field = renumbered(choice, alignment.calls)
    return {field: deltas for field, deltas in by_field.items() if not field.endswith(".name")}


def _lane_fields(
    choice: ChoiceReading, fates: Sequence[Fate], delivered: Mapping[str, Sequence[Delta]]
) -> list[str]:
    """The fields in the order in which they first appear, generated or delivered."""
    first: dict[str, int] = {}
    for fate in fates:
        for field in (fate.field, fate.delivered_in):
            if field is not None:
                first.setdefault(field, fate.start)
    for field, deltas in delivered.items():
        if field not in first and any(delta.text for delta in deltas):
            first[field] = bisect_left(choice.tokens.events, deltas[0].event)
    return sorted(first, key=first.__getitem__)


class _Waiting:
    """The spans of a fate that have no place in their lane yet, each with its text: at first all as one."""

    def __init__(self, fate: Fate, sign: Sign) -> None:
        self.sign: Sign = sign
        self.spans = deque([(fate.start, fate.end, fate.delivered or fate.generated)])
        self._whole = not fate.delivered or fate.delivered == fate.generated

    @property
    def text(self) -> str:
        """Text of the next span."""
        return self.spans[0][2]

    def cut(self, ids: Sequence[int]) -> bool:
        """Cut into tokens, each with those before it that only began its character; False if cut already."""
        if not self._whole:
            return False
        self._whole = False
        start, end, _ = self.spans[0]
        spans: deque[tuple[int, int, str]] = deque()
        first = start
        for cell, text in enumerate(texts(ids[start:end]), start):
            if text:
                spans.append((first, cell + 1, text))
                first = cell + 1
        self.spans = spans or self.spans
        return True


class _Placing:
    """The text of one lane cut into the pieces that the tokens account for, and those between them."""

    def __init__(self, choice: ChoiceReading, deltas: Sequence[Delta], extras: Sequence[Extra]) -> None:
        self._ids, self._events = choice.tokens.ids, choice.tokens.events
        self._text = "".join([delta.text for delta in deltas])
        self._extras: dict[str, list[Sign]] = {}
        for extra in extras:
            sign: Sign = "separator" if extra.separates else "added" if extra.start is None else "duplicated"
            self._extras.setdefault(extra.text, []).append(sign)
        self._at = 0
        self.unplaced: list[tuple[int, int]] = []
        """Cells that the alignment counts as delivered though the field does not have their text: a character
        that the end cuts off, the text from a stop string on."""

    def pieces(self, fates: Iterable[tuple[Fate, Sign]]) -> Iterator[Piece]:
        """The pieces in order; their texts together are the text of the lane."""
        pieces: list[Piece] = []
        end = 0
        waiting = deque(_Waiting(fate, sign) for fate, sign in sorted(fates, key=self._arrival))
        while waiting:
            first = list(islice(waiting, _WAITING))
            entry = next((entry for entry in first if self._text.startswith(entry.text, self._at)), None)
            if entry is None:
                if any(candidate.cut(self._ids) for candidate in first):
                    continue
                entry = first[0]
            start, stop, text = entry.spans.popleft()
            if not entry.spans:
                waiting.remove(entry)
            place = self._text.find(text, self._at, self._at + len(text) + _SEARCHED)
            if place < 0:
                self.unplaced.append((start, stop))
                continue
            pieces.extend(self._between(place, start))
            own = text_of(self._ids[start:stop], ended=False)
            pieces.append((start, stop, None if own == text else text, entry.sign))
            self._at = place + len(text)
            end = stop
        pieces.extend(self._between(len(self._text), end))
        return _joined(pieces)

    def _arrival(self, row: tuple[Fate, Sign]) -> tuple[int, int]:
        fate, _ = row
        return (self._events[fate.start] if fate.event is None else fate.event, fate.start)

    def _between(self, place: int, cell: int) -> Iterator[Piece]:
        """Text up to a place that no token accounts for; it stands before `cell`."""
        text = self._text[self._at : place]
        self._at = place
        while text:
            known = max((extra for extra in self._extras if text.startswith(extra)), key=len, default="")
            signs = self._extras.get(known, [])
            sign: Sign = signs.pop() if known and signs else "added"
            if known and not signs:
                del self._extras[known]
            yield cell, cell, known or text, sign
            text = text[len(known) :] if known else ""


def _fates(
    choice: ChoiceReading,
    fates: Sequence[Fate],
    lanes: Mapping[str, int],
    unplaced: Iterable[tuple[int, int]],
) -> Iterator[FateRun]:
    """A fate for every token: that of the alignment, else what its place in the message tells.

    A special token or a token of a header is framing. A token of a body that the alignment does not cover
    only begins a character, or is one of a stream whose delivery cannot be determined: its fate is unknown.
    """
    unknown: _Fate = ("unknown", None, None, "")
    rejected: _Fate = ("rejected", None, None, "")
    by_cell: list[_Fate] = [("framing", None, None, "")] * len(choice.tokens)
    for message in choice.transcript.messages:
        if message.in_body:
            for cell in range(message.body, message.end):
                if choice.tokens.ids[cell] not in MARKERS:
                    by_cell[cell] = unknown
    for run in choice.transcript.rejected_runs:
        by_cell[run.start : run.end] = [rejected] * (run.end - run.start)
    # Of two fates of one token the one counts that brought it into a field, else the first one.
    arrived_first = sorted(fates, key=lambda fate: fate.delivered_in is None)
    for fate in arrived_first[::-1]:
        own = None if fate.field is None else lanes[fate.field]
        lane = None if fate.delivered_in is None else lanes[fate.delivered_in]
        outside = fate.message is None and by_cell[fate.start] == rejected
        row: _Fate = ("rejected" if outside else _fate(fate), own, lane, _SIGNS.get(fate.state, ""))
        by_cell[fate.start : fate.end] = [row] * (fate.end - fate.start)
    for start, end in unplaced:
        own = by_cell[start][1]
        by_cell[start:end] = [("lost", own, None, "unserved")] * (end - start)
    return _joined_fates((cell, cell + 1, *row) for cell, row in enumerate(by_cell))


def _fate(fate: Fate) -> CellFate:
    match fate.state:
        case FateState.OK | FateState.REORDERED | FateState.GARBLED:
            return "delivered"
        case FateState.MISROUTED:
            return "misrouted"
        case FateState.DROPPED | FateState.UNSERVED:
            return "lost"
        case _:
            assert_never(fate.state)


def _unsent_fates(unsent: Sequence[UnsentCell]) -> Iterator[FateRun]:
    for cell in unsent:
        fate: CellFate = "unsent" if cell["kind"] == "gap" else "rejected"
        yield cell["at"], cell["at"] + 1, fate, None, None, ""


def _joined_fates(runs: Iterable[FateRun]) -> Iterator[FateRun]:
    """The runs, with neighbours of the same fate as one."""
    last: FateRun | None = None
    for run in runs:
        if last is not None and last[1] == run[0] and last[2:] == run[2:]:
            last = (last[0], run[1], *run[2:])
            continue
        if last is not None:
            yield last
        last = run
    if last is not None:
        yield last


def _joined(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """The pieces, with neighbours that are their own tokens' text as one."""
    last: Piece | None = None
    for piece in pieces:
        if (
            last is not None
            and last[2] is None
            and piece[2] is None
            and last[1] == piece[0]
            and last[3] == piece[3]
        ):
            last = (last[0], piece[1], None, piece[3])
            continue
        if last is not None:
            yield last
        last = piece
    if last is not None:
        yield last
