"""The picture of a stream: what became of every token, and what each field of the client received.

Every cell has exactly one fate. A lane stands for one field of the client; its pieces, in the order in which
they arrived, are all of its text. Where text arrived that no token accounts for, a piece without cells holds
it, so that the text of a lane is always exactly what was delivered.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final, TypeAlias, assert_never

from inspector.analysis.alignment import Alignment, Arrival, Extra, Fate, FateState
from inspector.analysis.alignment.calls import renumbered
from inspector.analysis.metrics import most_per_event
from inspector.analysis.reading import ChoiceReading, Reading
from inspector.capture.deltas import Delta
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.vocab import MARKERS
from inspector.views.lane_labels import lane_labels
from inspector.views.payload import (
    CellFate,
    FateRun,
    Lane,
    LaneChange,
    Piece,
    Pipeline,
    PipelineChange,
    Sign,
)
from inspector.views.strip.pieces import pieces

_Fate: TypeAlias = tuple[CellFate, int | None, int | None, Sign]

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
    arrived: defaultdict[str, list[tuple[Arrival, Sign]]] = defaultdict(list)
    covered = 0
    for fate in fates:
        if fate.delivered_in is not None:
            sign: Sign = "duplicated" if fate.start < covered else _SIGNS.get(fate.state, "")
            arrived[fate.delivered_in] += [(arrival, sign) for arrival in fate.arrivals]
        covered = max(covered, fate.end)
    extras: defaultdict[str, list[Extra]] = defaultdict(list)
    for extra in alignment.extras:
        extras[extra.field].append(extra)
    fields = _lane_fields(choice, fates, delivered)
    labels = lane_labels(choice, fields)
    lanes: list[Lane] = []
    for field, label in zip(fields, labels, strict=True):
        text = "".join([delta.text for delta in delivered.get(field, ())])
        pieces = _joined(list(_pieces(choice.tokens.ids, text, arrived[field], extras[field])))
        lanes.append({"field": field, "label": label, "pieces": list(pieces)})
    numbers = {field: number for number, field in enumerate(fields)}
    return {
        "server": server_name(reading),
        "per_event": most_per_event(reading, choice),
        "lanes": lanes,
        "fates": list(_fates(choice, fates, numbers, parsed=not reading.spec.raw)),
    }


def piece_pipeline(reading: Reading, choice: ChoiceReading) -> Pipeline:
    """The picture of a choice whose cells are delivered pieces, and what its final texts have more."""
    deltas, lost = pieces(choice)
    arrived: CellFate = "delivered" if choice.has_finals else "unknown"
    cells: dict[str, list[Piece]] = {}
    numbers: dict[str, int] = {}
    fates: list[FateRun] = []
    start = 0
    for (field, is_lost), run in groupby(enumerate(deltas), lambda cell: (cell[1].field, cell[0] in lost)):
        end = start + sum(1 for _ in run)
        number = numbers.setdefault(field, len(numbers))
        lane = cells.setdefault(field, [])
        if is_lost:
            fates.append((start, end, "lost", number, None, ""))
        else:
            fates.append((start, end, arrived, number, number, ""))
            lane.append((start, end, None, ""))
        start = end
    labels = lane_labels(choice, list(cells))
    return {
        "server": server_name(reading),
        "per_event": None,
        "lanes": [
            {"field": field, "label": label, "pieces": lane}
            for (field, lane), label in zip(cells.items(), labels, strict=True)
        ],
        "fates": fates,
    }


def changes(before: Pipeline | None, after: Pipeline) -> PipelineChange:
    """What a reader that has the picture `before` needs to have `after`."""
    lanes: list[LaneChange] = []
    for number, lane in enumerate(after["lanes"]):
        had = before["lanes"][number : number + 1] if before is not None else []
        kept = same_items(had[0]["pieces"], lane["pieces"]) if had and had[0]["field"] == lane["field"] else 0
        lanes.append(
            {"field": lane["field"], "label": lane["label"], "from": kept, "pieces": lane["pieces"][kept:]}
        )
    kept = 0 if before is None else same_items(before["fates"], after["fates"])
    return {
        "server": after["server"],
        "per_event": after["per_event"],
        "lanes": lanes,
        "fates": {"from": kept, "items": after["fates"][kept:]},
    }


def same_items(before: Sequence[object], after: Sequence[object]) -> int:
    """How many items at the beginning of two lists are equal."""
    return next(
        (place for place, (left, right) in enumerate(zip(before, after, strict=False)) if left != right),
        min(len(before), len(after)),
    )


def server_name(reading: Reading) -> str:
    """The name on the server's bar; empty where there is none."""
    if not reading.spec.delivers:
        return ""
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


def _pieces(
    ids: Sequence[int], text: str, arrivals: Iterable[tuple[Arrival, Sign]], extras: Iterable[Extra]
) -> Iterator[Piece]:
    """The text of a lane cut into pieces that tokens account for, and those between them, in order."""
    signs: dict[int, Sign] = {}
    for extra in extras:
        sign: Sign = "separator" if extra.separates else "added" if extra.start is None else "duplicated"
        signs[extra.at], signs[extra.at + len(extra.text)] = sign, "added"
    borders = sorted(signs)
    at = end = 0

    def between(place: int, cell: int) -> Iterator[Piece]:
        """Text up to a place that no token accounts for; it stands before `cell`."""
        nonlocal at
        while at < place:
            border = bisect_right(borders, at)
            until = min(place, borders[border]) if border < len(borders) else place
            yield cell, cell, text[at:until], signs[borders[border - 1]] if border else "added"
            at = until

    for (start, stop, place, arrived), sign in sorted(arrivals, key=lambda row: (row[0].at, row[0].start)):
        yield from between(place, start)
        own = text_of(ids[start:stop], ended=False)
        yield start, stop, None if own == arrived else arrived, sign
        at, end = place + len(arrived), stop
    yield from between(len(text), end)


def _fates(
    choice: ChoiceReading,
    fates: Sequence[Fate],
    lanes: Mapping[str, int],
    *,
    parsed: bool,
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
    for run in choice.transcript.rejected_runs if parsed else ():
        by_cell[run.start : run.end] = [rejected] * (run.end - run.start)
    # Of two fates of one token the one counts that brought it into a field, else the first one.
    arrived_first = sorted(fates, key=lambda fate: fate.delivered_in is None)
    for fate in arrived_first[::-1]:
        own = None if fate.field is None else lanes[fate.field]
        lane = None if fate.delivered_in is None else lanes[fate.delivered_in]
        outside = fate.field is None and fate.message is None and by_cell[fate.start] == rejected
        row: _Fate = ("rejected" if outside else _fate(fate), own, lane, _SIGNS.get(fate.state, ""))
        by_cell[fate.start : fate.end] = [row] * (fate.end - fate.start)
    start = 0
    for row, cells in groupby(by_cell):
        end = start + sum(1 for _ in cells)
        yield start, end, *row
        start = end


def _fate(fate: Fate) -> CellFate:
    match fate.state:
        case FateState.OK | FateState.REORDERED | FateState.GARBLED:
            return "delivered"
        case FateState.MISROUTED:
            return "misrouted"
        case FateState.DROPPED | FateState.UNSERVED:
            return "lost"
        case FateState.LEFT_OUT:
            return "left_out"
        case FateState.UNSENT:
            return "unsent"
        case _:
            assert_never(fate.state)


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
