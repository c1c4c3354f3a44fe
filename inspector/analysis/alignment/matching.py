"""Which tokens a delivered text consists of: first within one event, then within one field.

vLLM sends a step's text in the chunk that carries the step's ids, so text and tokens of one event
belong together, also where the text arrives in another field. Where that does not explain all (a server
that holds text back, ids without events), the texts of a field are aligned as a whole.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from inspector.analysis.alignment.cells import Cell, FateState, Pool, Stray
from inspector.analysis.alignment.text import embed_tokens, token_blocks

Sent = tuple[int, str, str]
"""Event, field and text of a delivery."""

_STEPS_AT_MOST: Final = 4_000_000
"""Steps that the search for selections may take in one alignment; enough for every real stream seen."""


class _Budget:
    def __init__(self) -> None:
        self.left = _STEPS_AT_MOST


def match_events(cells: Iterable[Cell], sent: Sequence[Sent]) -> list[Stray]:
    """Mark the cells that the deliveries of their own event explain; what is left of the deliveries."""
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
    left: list[Stray] = []
    for stray in pending:
        here = sorted((cell for cell in by_event.get(stray.event, ()) if cell.free), key=lambda c: c.token)
        found = select(here, stray.text, stray.field, budget)
        for cell in found:
            cell.arrive(stray.field)
        if not found:
            left.append(stray)
    return left


def select(cells: Sequence[Cell], text: str, field: str, budget: _Budget | None = None) -> Sequence[Cell]:
    """Free cells, in order, whose texts together are `text`; those of the field itself before others.

    Servers that hand over only a step's last tokens (vLLM to 0.10) or lose those before a border (to 0.13)
    deliver an end of the step's text, so where words are equal the later ones are taken.
    """
    if sum(len(cell.text) for cell in cells) < len(text):
        return ()
    budget = budget or _Budget()
    own = [cell for cell in cells if cell.lane == field]
    return _run(own, text) or _pick(own, text, budget) or _run(cells, text) or _pick(cells, text, budget)


def _run(cells: Sequence[Cell], text: str) -> Sequence[Cell]:
    """Neighbours: the end, else the beginning, else the last within."""
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
    """Some cells in order, the later ones where there is a choice; empty when no selection gives the text."""
    reach: list[set[int]] = [{len(text)}]  # from the last cell backwards: where in the text it could begin
    for cell in reversed(cells):
        seen = reach[-1]
        budget.left -= len(seen)
        if budget.left < 0:
            return ()
        size = len(cell.text)
        reach.append(
            seen | {at - size for at in seen if at >= size and text.startswith(cell.text, at - size)}
        )
    reach.reverse()
    if 0 not in reach[0]:
        return ()
    found: list[Cell] = []
    at = 0
    for number, cell in enumerate(cells):
        if at not in reach[number + 1]:
            found.append(cell)
            at += len(cell.text)
    return found


def match_field(cells: Sequence[Cell], strays: Sequence[Stray], sent: Sequence[Sent]) -> list[Stray]:
    """Lay the strays of one field over its cells that are still free; what is left of them.

    `sent` is all that was delivered in the field. If the events told a wrong story, as where words repeat and
    text is held back, aligning the whole field again explains more, and is taken.
    """
    if not strays or not any(cell.free for cell in cells):
        return list(strays)
    free = [number for number, cell in enumerate(cells) if cell.free]
    left = _lay([cells[number] for number in free], strays)
    for stray in left:
        assert stray.place is not None  # noqa: S101 -- what was laid over cells has its place among them
        stray.place = free[stray.place] if stray.place < len(free) else len(cells)
    by_events = _Attempt.of(cells, left)
    if not by_events.may_be_wrong(cells, sent):
        return left
    for cell in cells:
        cell.reset()
    retry = _Attempt.of(cells, _lay(cells, [Stray(event, field, text) for event, field, text in sent]))
    if retry.unexplained < by_events.unexplained:
        return retry.left
    by_events.restore(cells)
    return left


class _Attempt(NamedTuple):
    """What laying texts over the cells of a field came to."""

    left: list[Stray]
    """Texts that found no cell."""
    lost: int
    """Characters of cells that no text came to."""
    stories: list[tuple[FateState, str | None, int | None]]
    """Where each cell was delivered."""

    @classmethod
    def of(cls, cells: Sequence[Cell], left: list[Stray]) -> "_Attempt":
        """The cells as they stand now."""
        lost = sum(len(cell.text) for cell in cells if cell.free)
        return cls(left, lost, [(cell.state, cell.delivered_in, cell.delivery_event) for cell in cells])

    @property
    def surplus(self) -> int:
        return sum(len(stray.text) for stray in self.left)

    @property
    def unexplained(self) -> int:
        return self.lost + self.surplus

    def may_be_wrong(self, cells: Sequence[Cell], sent: Sequence[Sent]) -> bool:
        """True when both sides have something left, and the cells hold what came in this field alone."""
        if not self.lost or not self.surplus or any(cell.state is FateState.MISROUTED for cell in cells):
            return False
        delivered = sum(len(cell.text) for cell in cells if not cell.free) + self.surplus
        return delivered == sum(len(text) for _, _, text in sent)

    def restore(self, cells: Sequence[Cell]) -> None:
        """Put the cells back as they stood."""
        for cell, story in zip(cells, self.stories, strict=True):
            cell.state, cell.delivered_in, cell.delivery_event = story


def _lay(cells: Sequence[Cell], strays: Sequence[Stray]) -> list[Stray]:
    """Lay texts over cells in order: at token borders if that explains all, else by characters."""
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
    used: list[tuple[int, int, int]] = []  # span of the joined texts, and the cell after it
    for block in token_blocks(whole, starts, [stray.text for stray in strays]):
        first, last = bisect_left(starts, block.start), bisect_left(starts, block.end)
        shift = block.sent - block.start
        for number in range(first, last):
            stray = strays[bisect_right(ends, starts[number] + shift)]
            cells[number].arrive(stray.field, stray.event)
        used.append((block.sent, block.sent + block.end - block.start, last))
    left: list[Stray] = []
    at = place = 0
    for start, end, following in (*used, (len(joined), len(joined), len(cells))):
        while at < start:
            number = bisect_right(ends, at)
            border = min(start, ends[number])
            stray = strays[number]
            left.append(Stray(stray.event, stray.field, joined[at:border], place))
            at = border
        at, place = end, following
    return left
