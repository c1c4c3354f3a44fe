"""Which tokens a delivered text consists of: first within one event, then within one field.

Both steps work on *cells*, tokens with text, and mark each cell with the field and event in which its text
arrived. What they cannot match is returned as *strays*: delivered text without a cell.

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
character (`_lay`).

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
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Final, NamedTuple

from inspector.analysis.alignment.cells import Cell, FateState, Pool, Stray
from inspector.analysis.alignment.text import embed_tokens, token_blocks

Sent = tuple[int, str, str]
"""Event, field and text of a delivery."""

_STEPS_AT_MOST: Final = 4_000_000
"""Steps that the search for selections may take in one alignment; every recorded stream needs fewer."""


class _Budget:
    def __init__(self) -> None:
        self.steps = _STEPS_AT_MOST


def match_events(cells: Iterable[Cell], sent: Sequence[Sent]) -> list[Stray]:
    """Match cells with the deliveries of their own event; the deliveries that remain."""
    by_event: defaultdict[int, list[Cell]] = defaultdict(list)
    for cell in cells:
        by_event[cell.event].append(cell)
    deliveries: dict[tuple[int, str], str] = {}
    for event, field, text in sent:
        deliveries[event, field] = deliveries.get((event, field), "") + text
    pending: list[Stray] = []
    for (event, field), text in deliveries.items():
        own = [cell for cell in by_event.get(event, ()) if cell.lane == field]
        if own and "".join([cell.text for cell in own]) == text:
            for cell in own:
                cell.arrive(field)
        else:
            pending.append(Stray(event, field, text))
    budget = _Budget()
    unmatched: list[Stray] = []
    for stray in pending:
        free = sorted((cell for cell in by_event.get(stray.event, ()) if cell.free), key=lambda c: c.token)
        selected = select(free, stray.text, stray.field, budget)
        for cell in selected:
            cell.arrive(stray.field)
        if not selected:
            unmatched.append(stray)
    return unmatched


def select(cells: Sequence[Cell], text: str, field: str, budget: _Budget | None = None) -> Sequence[Cell]:
    """Free cells, in order, whose texts together are `text`; those of the field itself before others.

    Servers that deliver only the last tokens of a step (vLLM to 0.10), or lose those before a border between
    messages (to 0.13), deliver the end of the step's text; so of equal words the last ones are selected.
    """
    if sum(len(cell.text) for cell in cells) < len(text):
        return ()
    budget = budget or _Budget()
    own = [cell for cell in cells if cell.lane == field]
    return _run(own, text) or _pick(own, text, budget) or _run(cells, text) or _pick(cells, text, budget)


def _run(cells: Sequence[Cell], text: str) -> Sequence[Cell]:
    """Adjacent cells: the end, else the beginning, else the last run in between."""
    starts = [0, *accumulate(len(cell.text) for cell in cells)]
    whole = "".join([cell.text for cell in cells])
    if whole.endswith(text):
        place = bisect_left(starts, len(whole) - len(text))
        if starts[place] == len(whole) - len(text):
            return cells[place:]
    if whole.startswith(text):
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


def match_field(cells: Sequence[Cell], strays: Sequence[Stray], sent: Sequence[Sent]) -> list[Stray]:
    """Match the strays of one field with its free cells, in order; the strays that remain.

    `sent` is all that was delivered in the field.
    """
    if not strays or not any(cell.free for cell in cells):
        return list(strays)
    free = [number for number, cell in enumerate(cells) if cell.free]
    remaining = _lay([cells[number] for number in free], strays)
    first = _Attempt.of(cells, [_moved(stray, free, len(cells)) for stray in remaining])
    if not first.may_be_wrong(cells, sent):
        return first.strays
    for cell in cells:
        cell.reset()
    second = _Attempt.of(cells, _lay(cells, [Stray(event, field, text) for event, field, text in sent]))
    if second.unexplained < first.unexplained:
        return second.strays
    first.restore(cells)
    return first.strays


def _moved(stray: Stray, free: Sequence[int], count: int) -> Stray:
    """A stray whose place counts the free cells, with its place among all `count` cells."""
    assert stray.place is not None  # noqa: S101 -- what was laid over cells has its place among them
    return replace(stray, place=free[stray.place] if stray.place < len(free) else count)


class _Attempt(NamedTuple):
    """The cells of a field as one way of matching marks them."""

    strays: list[Stray]
    """Texts without a cell."""
    lost: int
    """Characters of the cells without a text."""
    marks: list[tuple[FateState, str | None, int | None]]
    """What was marked on each cell."""

    @classmethod
    def of(cls, cells: Sequence[Cell], strays: list[Stray]) -> "_Attempt":
        """The cells as they are marked now."""
        lost = sum(len(cell.text) for cell in cells if cell.free)
        return cls(strays, lost, [(cell.state, cell.delivered_in, cell.delivery_event) for cell in cells])

    @property
    def surplus(self) -> int:
        """Characters of the texts without a cell."""
        return sum(len(stray.text) for stray in self.strays)

    @property
    def unexplained(self) -> int:
        return self.lost + self.surplus

    def may_be_wrong(self, cells: Sequence[Cell], sent: Sequence[Sent]) -> bool:
        """True when both sides have something left, and the cells have only what came in this field."""
        if not self.lost or not self.surplus or any(cell.state is FateState.MISROUTED for cell in cells):
            return False
        delivered = sum(len(cell.text) for cell in cells if not cell.free) + self.surplus
        return delivered == sum(len(text) for _, _, text in sent)

    def restore(self, cells: Sequence[Cell]) -> None:
        """Mark the cells as they were."""
        for cell, marks in zip(cells, self.marks, strict=True):
            cell.state, cell.delivered_in, cell.delivery_event = marks


def _lay(cells: Sequence[Cell], strays: Sequence[Stray]) -> list[Stray]:
    """Match texts with cells in order: at token borders if that explains all texts, else by characters."""
    starts = [0, *accumulate(len(cell.text) for cell in cells)]
    whole = "".join([cell.text for cell in cells])
    spans = embed_tokens(whole, starts, [stray.text for stray in strays])
    if spans is not None:
        for stray, (first, last) in zip(strays, spans, strict=True):
            for cell in cells[first:last]:
                cell.arrive(stray.field, stray.event)
        return []
    return _by_characters(cells, starts, whole, strays)


def _by_characters(
    cells: Sequence[Cell], starts: Sequence[int], whole: str, strays: Sequence[Stray]
) -> list[Stray]:
    joined = "".join([stray.text for stray in strays])
    ends = [*accumulate(len(stray.text) for stray in strays)]
    used: list[tuple[int, int, int]] = []
    """Spans of the joined texts that have cells, each with the number of the cell after it."""
    for block in token_blocks(whole, starts, [stray.text for stray in strays]):
        first, last = bisect_left(starts, block.start), bisect_left(starts, block.end)
        shift = block.sent - block.start
        for number in range(first, last):
            stray = strays[bisect_right(ends, starts[number] + shift)]
            cells[number].arrive(stray.field, stray.event)
        used.append((block.sent, block.sent + block.end - block.start, last))
    unused: list[Stray] = []
    at = place = 0
    for start, end, following in (*used, (len(joined), len(joined), len(cells))):
        while at < start:
            number = bisect_right(ends, at)
            border = min(start, ends[number])
            stray = strays[number]
            unused.append(Stray(stray.event, stray.field, joined[at:border], place))
            at = border
        at, place = end, following
    return unused
