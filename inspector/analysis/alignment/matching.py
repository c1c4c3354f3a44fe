"""Which tokens a delivered text consists of: where it differs in one place by the text, else by events.

All steps work on *cells*, tokens with text, and mark each cell with the field and event in which its text
arrived. What they cannot match is returned as pieces of delivered text without a cell, *strays*.

One difference (`match_around`)
-------------------------------
Nearly every field that differs does so in one place, and has the text of its cells before and after it. Then
the text shows what is lost or surplus, however it was cut into events. Words repeat: of equal tokens beside
the difference the one arrived whose event brought the text, else the last.

Within an event (`match_events`)
--------------------------------
vLLM sends a step's text in the chunk that carries the step's IDs. So text and tokens of one event belong
together, also where the text arrives in another field than it should. For nearly every event the text of a
field is that of its cells. Else some of the event's cells are searched whose texts together are the delivered
text (`select`). Cells can be missing anywhere, so this is a subset problem, but an ordered one: `_pick` goes
through the cells from the last to the first and keeps the places in the text from which the cells after it
can continue. That takes as many steps as there are cells and places; a budget bounds them for the whole
alignment.

Within a field (`match_field`)
------------------------------
A server that holds text back (for a stop string, or until a character is complete) sends it in a later event
than its tokens, and some captures have IDs without events. So what is left of a field, cells and strays, is
aligned as a whole in order: at the borders of tokens if all strays are found there, else character by
character (`lay`).

When matching within events is wrong
------------------------------------
Where text is held back and words repeat, an event may have a text that is also that of its own cells by
chance. This match takes away the cells that the text of another event needs, and both sides keep something
unexplained. In this case, with cells and strays left in a field that has all of its own text, the whole field
is aligned anew without regard to events, and the result with fewer unexplained characters is kept. `_Attempt`
is such a result, so that the first one can be restored.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from inspector.analysis.alignment.cells import Cell, FateState, Piece, Pool, fill
from inspector.analysis.alignment.edits import common_prefix
from inspector.analysis.alignment.text import embed_tokens, token_blocks

_STEPS_AT_MOST: Final = 4_000_000
"""Steps that the search for selections may take in one alignment; every recorded stream needs fewer."""


_BETWEEN_AT_MOST: Final = 16
"""Cells at a difference up to which their texts alone are compared."""

_EQUALS_AT_MOST: Final = 64
"""How many lost cells beside a delivered one are searched for an equal text."""


class _Budget:
    def __init__(self) -> None:
        self.steps = _STEPS_AT_MOST


def match_around(cells: Sequence[Cell], sent: Sequence[Piece]) -> list[Piece] | None:
    """Match the cells of a field that differs in one place; its strays. None where it differs in many."""
    generated, text = "".join([cell.text for cell in cells]), "".join([piece.text for piece in sent])
    starts = [0, *accumulate(len(cell.text) for cell in cells)]
    first = bisect_right(starts, common_prefix(generated, text)) - 1
    at = starts[first]
    same = common_prefix(generated[at:][::-1], text[at:][::-1])
    last = bisect_left(starts, len(generated) - same)
    shift = len(text) - len(generated)
    end = starts[last] + shift
    begins = [piece.start for piece in sent]
    if at >= end and first < last:
        size = last - first
        # Of equal tokens that one was lost whose event, and all after it, brought the text of the next one.
        while first and cells[first - 1].text == cells[first - 1 + size].text:
            event = sent[bisect_right(begins, starts[first - 1]) - 1].event
            if cells[first - 1].event == event or cells[first - 1 + size].event != event:
                break
            first -= 1
        if first == last - size:
            first, last = _whole_messages(cells, first, last)
        else:
            last = first + size
    elif last - first > _BETWEEN_AT_MOST:
        return None
    places = [*starts[:first], *([-1] * (last - first)), *(start + shift for start in starts[last:-1])]
    if first < last and at < end:
        borders = [start - at for start in starts[first : last + 1]]
        for block in token_blocks(generated[at : starts[last]], borders, [text[at:end]]):
            for number in range(bisect_left(borders, block.start), bisect_left(borders, block.end)):
                places[first + number] = at + borders[number] + block.sent - block.start
    if first < last:
        near = range(max(first - _EQUALS_AT_MOST, 0), min(last + _EQUALS_AT_MOST, len(cells)))
        _settle(cells, places, sent, begins, near)
    arrived: list[tuple[Cell, int, Piece]] = []
    pieces = iter(sent)
    piece = next(pieces, None)
    for cell, place in zip(cells, places, strict=True):
        if place < 0:
            continue
        while piece is not None and piece.start + len(piece.text) <= place:
            piece = next(pieces, None)
        if piece is None or piece.event < cell.event:
            return None  # no text arrives before its tokens: this is that of others
        arrived.append((cell, place, piece))
    strays: list[Piece] = []
    at = 0
    for cell, place, piece in arrived:
        cell.arrive(piece.field, piece.event, place)
        if at < place:
            strays += _cut(sent, begins, at, place)
        at = place + len(cell.text)
    return [*strays, *_cut(sent, begins, at, len(text))]


def _whole_messages(cells: Sequence[Cell], first: int, last: int) -> tuple[int, int]:
    """A lost run moved to where it is of whole messages, if the text reads the same then."""

    def is_border(number: int) -> bool:
        return number in {0, len(cells)} or cells[number].message != cells[number - 1].message

    for step in (-1, 1):
        start, end = first, last
        for _ in range(_EQUALS_AT_MOST):
            if is_border(start) and is_border(end):
                return start, end
            leaves, enters = (start - 1, end - 1) if step < 0 else (start, end)
            if leaves < 0 or enters >= len(cells) or cells[leaves].text != cells[enters].text:
                break
            start, end = start + step, end + step
    return first, last


def _cut(sent: Sequence[Piece], begins: Sequence[int], start: int, end: int) -> Iterator[Piece]:
    """The characters `start` to `end` of the whole text, by the pieces in which they were sent."""
    number = bisect_right(begins, start) - 1
    while start < end:
        piece = sent[number]
        until = min(end, piece.end)
        yield piece.part(start - piece.start, until - piece.start)
        start, number = until, number + 1


def _settle(
    cells: Sequence[Cell], places: list[int], sent: Sequence[Piece], begins: Sequence[int], near: range
) -> None:
    """Of equal cells beside each other let that of the event have arrived, else the last of the message."""

    def settle(number: int, others: range) -> int:
        place, text, message = places[number], cells[number].text, cells[number].message
        event = sent[bisect_right(begins, place) - 1].event
        equal = [candidate for candidate in others if cells[candidate].text == text]
        best = max(
            (number, *equal),
            key=lambda candidate: (
                cells[candidate].event == event,
                cells[candidate].message == message,
                candidate,
            ),
        )
        places[number], places[best] = -1, place
        return best

    after = near.stop
    for number in reversed(near):
        if places[number] >= 0:
            candidates = range(max(number + 1, after - _EQUALS_AT_MOST), after)
            after = settle(number, candidates) if candidates else number
    before = near.start - 1
    for number in near:
        if places[number] >= 0:
            candidates = range(before + 1, min(number, before + 1 + _EQUALS_AT_MOST))
            before = settle(number, candidates) if candidates else number


def match_events(cells: Iterable[Cell], sent: Iterable[Piece]) -> list[Piece]:
    """Match cells with what their own event delivered; the pieces that remain."""
    of_event: defaultdict[tuple[int, str | None], list[Cell]] = defaultdict(list)
    for cell in cells:
        of_event[cell.event, cell.lane].append(cell)
    strays: list[Piece] = []
    for piece in _by_event(sent):
        own = of_event.get((piece.event, piece.field), ())
        if len(own) == 1 and own[0].text == piece.text:  # most steps are of one token
            own[0].arrive(piece.field, piece.event, piece.start)
        elif own and "".join([cell.text for cell in own]) == piece.text:
            fill(own, piece)
        else:
            strays.append(piece)
    if not strays:
        return strays
    by_event: defaultdict[int, list[Cell]] = defaultdict(list)
    for (event, _), own in of_event.items():
        by_event[event] += own
    budget = _Budget()
    # A text that other cells explain too must not take those that their own field needs.
    for own_only in (True, False):
        unmatched: list[Piece] = []
        for piece in strays:
            free = [
                cell
                for cell in by_event.get(piece.event, ())
                if cell.free and (not own_only or cell.lane == piece.field)
            ]
            selected = select(free, piece.text, budget)
            fill(selected, piece)
            if not selected:
                unmatched.append(piece)
        strays = unmatched
    return strays


def _by_event(sent: Iterable[Piece]) -> list[Piece]:
    """The pieces, those of one event and field as one."""
    pieces: list[Piece] = []
    for piece in sent:
        last = pieces[-1] if pieces else None
        if last is not None and last.event == piece.event and last.field == piece.field:
            pieces[-1] = last._replace(text=last.text + piece.text)
        else:
            pieces.append(piece)
    return pieces


def select(cells: Iterable[Cell], text: str, budget: _Budget | None = None) -> Sequence[Cell]:
    """Cells, in the order of their tokens, whose texts together are `text`; empty when none have it.

    Servers that deliver only the last tokens of a step (vLLM to 0.10), or lose those before a border between
    messages (to 0.13), deliver the end of the step's text; so of equal words the last ones are selected.
    """
    candidates = sorted(cells, key=lambda cell: cell.token)
    if sum(len(cell.text) for cell in candidates) < len(text):
        return ()
    return _run(candidates, text) or _pick(candidates, text, budget or _Budget())


def _run(cells: Sequence[Cell], text: str) -> Sequence[Cell]:
    """Adjacent cells: the end, else the beginning, else the last run in between."""
    starts = [0, *accumulate(len(cell.text) for cell in cells)]
    generated = "".join([cell.text for cell in cells])
    if generated.endswith(text):
        place = bisect_left(starts, len(generated) - len(text))
        if starts[place] == len(generated) - len(text):
            return cells[place:]
    if generated.startswith(text):
        place = bisect_left(starts, len(text))
        if starts[place] == len(text):
            return cells[:place]
    return Pool(cells).run(text, last=True)


def _pick(cells: Sequence[Cell], text: str, budget: _Budget) -> Sequence[Cell]:
    """Any cells, in order and the later ones where there is a choice; empty when none have the text."""
    starts: list[set[int]] = [{len(text)}]
    """From which places the cells after a cell can continue the text to its end; from the last cell on."""
    for cell in reversed(cells):
        later = starts[-1]
        budget.steps -= len(later)
        if budget.steps < 0:
            return ()
        size = len(cell.text)
        starts.append(
            later | {at - size for at in later if at >= size and text.startswith(cell.text, at - size)}
        )
    starts.reverse()
    if 0 not in starts[0]:
        return ()
    picked: list[Cell] = []
    at = 0
    for number, cell in enumerate(cells):
        if at not in starts[number + 1]:  # the cells after this one cannot do without it
            picked.append(cell)
            at += len(cell.text)
    return picked


def match_field(cells: Sequence[Cell], strays: Sequence[Piece], sent: Sequence[Piece]) -> list[Piece]:
    """Match the strays of one field with its free cells, in order; the strays that remain.

    `sent` is all that was delivered in the field.
    """
    free = [cell for cell in cells if cell.free]
    if not strays or not free:
        return list(strays)
    first = _Attempt.of(cells, lay(free, strays))
    if not first.may_be_wrong(cells, sent):
        return first.strays
    for cell in cells:
        cell.reset()
    second = _Attempt.of(cells, lay(cells, sent))
    if second.unexplained < first.unexplained:
        return second.strays
    first.restore(cells)
    return first.strays


class _Attempt(NamedTuple):
    """The cells of a field as one way of matching marks them."""

    strays: list[Piece]
    """Texts without a cell."""
    lost: int
    """Characters of the cells without a text."""
    marks: list[tuple[FateState, str | None, int, int | None]]
    """What was marked on each cell."""

    @classmethod
    def of(cls, cells: Sequence[Cell], strays: list[Piece]) -> "_Attempt":
        """The cells as they are marked now."""
        lost = sum(len(cell.text) for cell in cells if cell.free and not cell.optional)
        return cls(strays, lost, [(c.state, c.delivered_in, c.at, c.delivery_event) for c in cells])

    @property
    def surplus(self) -> int:
        """Characters of the texts without a cell."""
        return sum(len(stray.text) for stray in self.strays)

    @property
    def unexplained(self) -> int:
        return self.lost + self.surplus

    def may_be_wrong(self, cells: Sequence[Cell], sent: Sequence[Piece]) -> bool:
        """True when both sides have something left, and the cells have only what came in this field."""
        if not self.lost or not self.surplus or any(cell.state is FateState.MISROUTED for cell in cells):
            return False
        delivered = sum(len(cell.text) for cell in cells if not cell.free) + self.surplus
        return delivered == sum(len(piece.text) for piece in sent)

    def restore(self, cells: Sequence[Cell]) -> None:
        """Mark the cells as they were."""
        for cell, marks in zip(cells, self.marks, strict=True):
            cell.state, cell.delivered_in, cell.at, cell.delivery_event = marks


def lay(cells: Sequence[Cell], strays: Sequence[Piece]) -> list[Piece]:
    """Match texts with cells in order: at token borders if that explains all texts, else by characters."""
    starts = [0, *accumulate(len(cell.text) for cell in cells)]
    generated = "".join([cell.text for cell in cells])
    spans = embed_tokens(generated, starts, [stray.text for stray in strays])
    if spans is not None:
        for stray, (first, last) in zip(strays, spans, strict=True):
            fill(cells[first:last], stray)
        return []
    return _by_characters(cells, starts, generated, strays)


def _by_characters(
    cells: Sequence[Cell], starts: Sequence[int], whole: str, strays: Sequence[Piece]
) -> list[Piece]:
    ends = [0, *accumulate(len(stray.text) for stray in strays)]
    used: list[tuple[int, int]] = []
    """Spans of the joined texts that have cells."""
    for block in token_blocks(whole, starts, [stray.text for stray in strays]):
        shift = block.sent - block.start
        for number in range(bisect_left(starts, block.start), bisect_left(starts, block.end)):
            at, end = starts[number] + shift, starts[number + 1] + shift
            first, last = strays[bisect_right(ends, at) - 1], strays[bisect_left(ends, end) - 1]
            place = first.start + at - ends[bisect_right(ends, at) - 1]
            if last.end - ends[bisect_left(ends, end)] + end != place + end - at:
                continue  # other text was delivered in between
            cells[number].arrive(first.field, first.event, place)
            used.append((at, end))
    unused: list[Piece] = []
    at = 0
    for start, end in (*used, (ends[-1], ends[-1])):
        while at < start:
            number = bisect_right(ends, at) - 1
            border = min(start, ends[number + 1])
            unused.append(strays[number].part(at - ends[number], border - ends[number]))
            at = border
        at = end
    return unused
