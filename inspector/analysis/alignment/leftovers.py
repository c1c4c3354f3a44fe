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
"""Texts whose origin is searched over the whole stream; a stream that is wrong everywhere has thousands."""

_FIELDS_AT_MOST: Final = 16
"""Fields whose strays are searched for; a stream has a handful, a hostile one thousands."""

_BROKEN: Final = "\ufffd"


def explain(
    cells: Sequence[Cell], strays: Sequence[Stray], ids: Sequence[int]
) -> tuple[list[Extra], list[Fate]]:
    """Explain strays one way after another; those that remain repeat text, leak framing or have no source."""
    remaining = _by_same_event(cells, strays)
    groups = _joined(remaining)
    groups = _by_equal_run(cells, groups)
    remaining = _in_their_place(cells, [stray for group in groups for stray in group])
    return _origins(cells, remaining, ids)


def _by_same_event(cells: Sequence[Cell], strays: Sequence[Stray]) -> list[Stray]:
    free: defaultdict[int, list[Cell]] = defaultdict(list)
    for cell in cells:
        if cell.free and cell.event >= 0:
            free[cell.event].append(cell)
    remaining: list[Stray] = []
    for stray in strays:
        candidates = sorted(
            (cell for cell in free.get(stray.event, ()) if cell.free), key=lambda cell: cell.token
        )
        selected = select(candidates, stray.text, stray.field) if len(remaining) < _SEARCHES_AT_MOST else ()
        for cell in selected:
            cell.arrive(stray.field)
        if not selected:
            remaining.append(stray)
    return remaining


def _joined(strays: Iterable[Stray]) -> list[list[Stray]]:
    """Strays of one field in adjacent events, together."""
    groups: list[list[Stray]] = []
    for stray in sorted(strays, key=lambda stray: (stray.field, stray.event)):
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
        own, foreign, loose = pools[stray_field]
        for pool in (own, foreign, loose):
            run = pool.run(text)
            for cell in run:
                cell.arrive(stray_field, event, FateState.REORDERED if pool is own else None)
            if run:
                return True
        return False

    remaining: list[list[Stray]] = []
    for group in groups:
        first = group[0]
        if move(first.field, first.event, "".join([stray.text for stray in group])):
            continue
        rest = [s for s in group if len(group) == 1 or not move(s.field, s.event, s.text)]
        if rest:
            remaining.append(rest)
    return remaining


def _in_their_place(cells: Sequence[Cell], strays: Sequence[Stray]) -> list[Stray]:
    """Other text of the same field where lost tokens should be: garbled."""
    lanes: defaultdict[str | None, list[Cell]] = defaultdict(list)
    for cell in cells:
        lanes[cell.lane].append(cell)
    remaining: list[Stray] = []
    for stray in strays:
        lane = lanes.get(stray.field, [])
        garbled = _free_at(lane, stray)
        if not garbled:
            remaining.append(stray)
            continue
        for cell in garbled:
            cell.arrive(stray.field, None, FateState.GARBLED)
        garbled[0].delivered += stray.text
    return remaining


def _free_at(lane: Sequence[Cell], stray: Stray) -> Sequence[Cell]:
    """The lost cells in whose place a stray arrived."""
    timed = stray.event >= 0 and bool(lane) and lane[0].event >= 0
    if stray.place is not None:
        end = stray.place
        while end < len(lane) and lane[end].state is FateState.DROPPED:
            end += 1
        lost = lane[stray.place : end]
        if not timed:
            return lost or _half(lane[stray.place : stray.place + 1])
        lost = [cell for cell in lost if cell.event == stray.event]
        if lost:
            return lost
    if not timed:
        return ()
    # The tokens of a field are in the order of events, so binary search finds those of this event.
    first = bisect_left(lane, stray.event, key=lambda cell: cell.event)
    last = bisect_right(lane, stray.event, key=lambda cell: cell.event)
    lost = [cell for cell in lane[first:last] if cell.state is FateState.DROPPED]
    if not lost and _BROKEN in stray.text:
        # U+FFFD sent before the token that completes the character: that token is the field's next.
        return _half(lane[first : last + 1])
    return lost


def _half(cells: Sequence[Cell]) -> Sequence[Cell]:
    return [cell for cell in cells if cell.state in {FateState.DROPPED, FateState.GARBLED}]


def _origins(
    cells: Sequence[Cell], strays: Sequence[Stray], ids: Sequence[int]
) -> tuple[list[Extra], list[Fate]]:
    """The source of the strays that remain: tokens delivered before, framing of messages, or none."""
    extras: list[Extra] = []
    leaks: list[Fate] = []
    pools: dict[str, Pool] = {}
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
            if first.field not in pools and len(pools) < _FIELDS_AT_MOST:
                pools[first.field] = Pool(cell for cell in cells if cell.delivered_in == first.field)
            if first.field in pools and (run := pools[first.field].run_before(text, first.event)):
                extra.start, extra.end = run[0].first, run[-1].token + 1
        extras.append(extra)
    return extras, leaks


class _Framing:
    """All tokens as raw text, to find header tokens that were sent as text.

    vLLM 0.32 does so where a stream ends in a header (its Harmony parser's flush).
    """

    def __init__(self, ids: Sequence[int]) -> None:
        token_texts = texts(ids)
        self._ids = ids
        self._text = "".join(token_texts)
        self._starts = [0, *accumulate(map(len, token_texts))]

    def find(self, text: str) -> tuple[int, int] | None:
        """The last tokens that read `text`, a special token among them."""
        at = self._text.rfind(text)
        if at < 0:
            return None
        # Tokens without text, as those that begin a character, have the start of the next one: take them all.
        first, last = bisect_left(self._starts, at), bisect_left(self._starts, at + len(text))
        exact = self._starts[first] == at and self._starts[last] == at + len(text)
        return (first, last) if exact and not MARKERS.isdisjoint(self._ids[first:last]) else None
