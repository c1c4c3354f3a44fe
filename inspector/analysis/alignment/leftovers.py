"""Delivered text that neither its event nor its field explains: moved, garbled, header text, repeated."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Final

from inspector.analysis.alignment.cells import Cell, Extra, Fate, FateState, Pool, Stray
from inspector.analysis.alignment.matching import select
from inspector.protocol.harmony.text import texts
from inspector.protocol.harmony.vocab import MARKERS

_SEARCHES_AT_MOST: Final = 256
"""Texts whose origin is searched over the whole stream; a stream wrong everywhere has thousands."""

_FIELDS_AT_MOST: Final = 16
"""Fields whose stray texts are searched for; a stream has a handful, a hostile one thousands."""

_BROKEN: Final = "\ufffd"


def explain(
    cells: Sequence[Cell], strays: Sequence[Stray], ids: Sequence[int]
) -> tuple[list[Extra], list[Fate]]:
    """Say of each stray what it is; those that remain repeat text, leak framing or come from nowhere."""
    left = _by_same_event(cells, strays)
    groups = _joined(left)
    groups = _by_equal_run(cells, groups)
    left = _in_their_place(cells, [stray for group in groups for stray in group])
    return _origins(cells, left, ids)


def _by_same_event(cells: Sequence[Cell], strays: Sequence[Stray]) -> list[Stray]:
    free: defaultdict[int, list[Cell]] = defaultdict(list)
    for cell in cells:
        if cell.free and cell.event >= 0:
            free[cell.event].append(cell)
    left: list[Stray] = []
    for stray in strays:
        here = sorted((cell for cell in free.get(stray.event, ()) if cell.free), key=lambda cell: cell.token)
        found = select(here, stray.text, stray.field) if len(left) < _SEARCHES_AT_MOST else ()
        for cell in found:
            cell.arrive(stray.field)
        if not found:
            left.append(stray)
    return left


def _joined(strays: Iterable[Stray]) -> list[list[Stray]]:
    """Strays of one field in neighbouring events, together."""
    groups: list[list[Stray]] = []
    for stray in sorted(strays, key=lambda one: (one.field, one.event)):
        last = groups[-1][-1] if groups else None
        if last is not None and last.field == stray.field and stray.event - last.event <= 1:
            groups[-1].append(stray)
        else:
            groups.append([stray])
    return groups


def _by_equal_run(cells: Sequence[Cell], groups: Sequence[list[Stray]]) -> list[list[Stray]]:
    """A lost run with exactly that text, anywhere: reordered in its own field, misrouted in another."""
    pools: dict[str, tuple[Pool, Pool, Pool]] = {}
    searches = 0

    def move(stray_field: str, event: int, text: str) -> bool:
        nonlocal searches
        searches += 1
        if (
            searches > _SEARCHES_AT_MOST
            or _BROKEN in text
            or (stray_field not in pools and len(pools) >= _FIELDS_AT_MOST)
        ):
            return False
        if stray_field not in pools:
            lost = [cell for cell in cells if cell.state is FateState.DROPPED]
            pools[stray_field] = (
                Pool(cell for cell in lost if cell.field == stray_field),
                Pool(cell for cell in lost if cell.field != stray_field),
                Pool(cell for cell in cells if cell.state is FateState.UNSERVED),
            )
        own, other, loose = pools[stray_field]
        for pool in (own, other, loose):
            run = pool.run(text)
            for cell in run:
                cell.arrive(stray_field, event, FateState.REORDERED if pool is own else None)
            if run:
                return True
        return False

    left: list[list[Stray]] = []
    for group in groups:
        first = group[0]
        if move(first.field, first.event, "".join([stray.text for stray in group])):
            continue
        rest = [s for s in group if len(group) == 1 or not move(s.field, s.event, s.text)]
        if rest:
            left.append(rest)
    return left


def _in_their_place(cells: Sequence[Cell], strays: Sequence[Stray]) -> list[Stray]:
    """Other text of the same field where lost tokens should be: garbled."""
    lanes: defaultdict[str | None, list[Cell]] = defaultdict(list)
    for cell in cells:
        lanes[cell.lane].append(cell)
    left: list[Stray] = []
    for stray in strays:
        mine = lanes.get(stray.field, [])
        here = _free_at(mine, stray)
        if not here:
            left.append(stray)
            continue
        for cell in here:
            cell.arrive(stray.field, None, FateState.GARBLED)
        here[0].delivered += stray.text
    return left


def _free_at(mine: Sequence[Cell], stray: Stray) -> Sequence[Cell]:
    """The lost cells in whose place a stray stands."""
    timed = stray.event >= 0 and bool(mine) and mine[0].event >= 0
    if stray.place is not None:
        end = stray.place
        while end < len(mine) and mine[end].state is FateState.DROPPED:
            end += 1
        here = mine[stray.place : end]
        if not timed:
            return here or _half(mine[stray.place : stray.place + 1])
        here = [cell for cell in here if cell.event == stray.event]
        if here:
            return here
    if not timed:
        return ()
    # A field's tokens stand in event order, so binary search finds this event's.
    first = bisect_left(mine, stray.event, key=lambda cell: cell.event)
    last = bisect_right(mine, stray.event, key=lambda cell: cell.event)
    here = [cell for cell in mine[first:last] if cell.state is FateState.DROPPED]
    if not here and _BROKEN in stray.text:
        # U+FFFD sent before the token that completes the character: that token is the field's next.
        return _half(mine[first : last + 1])
    return here


def _half(cells: Sequence[Cell]) -> Sequence[Cell]:
    return [cell for cell in cells if cell.state in {FateState.DROPPED, FateState.GARBLED}]


def _origins(
    cells: Sequence[Cell], strays: Sequence[Stray], ids: Sequence[int]
) -> tuple[list[Extra], list[Fate]]:
    """Where the rest comes from: tokens delivered before, framing of messages, or nowhere."""
    extras: list[Extra] = []
    leaks: list[Fate] = []
    known: dict[str, Pool] = {}
    framing = _Framing(ids) if strays else None
    for number, group in enumerate(_joined(strays)):
        first = group[0]
        text = "".join([stray.text for stray in group])
        extra = Extra(first.event, first.field, text)
        if len(group) > 1:
            extra.last_event = group[-1].event
        if number < _SEARCHES_AT_MOST and framing is not None:
            if (span := framing.find(text)) is not None:
                state, start, end = FateState.MISROUTED, *span
                leaks.append(Fate(start, end, state, None, first.field, None, text, text, first.event))
                continue
            if first.field not in known and len(known) < _FIELDS_AT_MOST:
                known[first.field] = Pool(cell for cell in cells if cell.delivered_in == first.field)
            if first.field in known and (run := known[first.field].run_before(text, first.event)):
                extra.start, extra.end = run[0].first, run[-1].token + 1
        extras.append(extra)
    return extras, leaks


class _Framing:
    """All tokens as raw text, to find header tokens that were sent as text.

    vLLM 0.32 does so where a stream ends in a header (its Harmony parser's flush).
    """

    def __init__(self, ids: Sequence[int]) -> None:
        shown = texts(ids)
        self._ids = ids
        self._text = "".join(shown)
        self._starts = [0, *accumulate(map(len, shown))]

    def find(self, text: str) -> tuple[int, int] | None:
        """The last tokens that read `text`, a special token among them."""
        at = self._text.rfind(text)
        if at < 0:
            return None
        # Tokens that show nothing, as the beginnings of characters, share a start: take all of them.
        first, last = bisect_left(self._starts, at), bisect_left(self._starts, at + len(text))
        exact = self._starts[first] == at and self._starts[last] == at + len(text)
        return (first, last) if exact and not MARKERS.isdisjoint(self._ids[first:last]) else None
