"""Delivered text that neither its event nor its field explains: moved, garbled, header text, repeated."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Final

from inspector.analysis.alignment.cells import Arrival, Cell, Extra, Fate, FateState, Piece, Pool, fill
from inspector.analysis.alignment.matching import lay, select
from inspector.capture.deltas import TEXT
from inspector.protocol.harmony.text import texts
from inspector.protocol.harmony.vocab import MARKERS

_SEARCHES_AT_MOST: Final = 256
"""Texts whose origin is searched over the whole stream; a stream that is wrong everywhere has thousands."""

_FIELDS_AT_MOST: Final = 16
"""Fields whose strays are searched for; a stream has a handful, a hostile one thousands."""

_SLIDES_AT_MOST: Final = 16
"""Tokens by which a stray is moved to another place where it may stand as well."""

_BROKEN: Final = "\ufffd"


def explain(
    lanes: Mapping[str | None, Sequence[Cell]], strays: Sequence[Piece], ids: Sequence[int], separator: str
) -> tuple[list[Extra], list[Fate]]:
    """Explain strays one way after another; those that remain repeat text, leak framing or have no source.

    `lanes` are the cells by the field in which their text is searched for first.
    """
    cells = [cell for lane in lanes.values() for cell in lane]
    remaining = _by_same_event(cells, strays)
    remaining, separators = _by_equal_run(cells, remaining, separator)
    remaining = _permuted(lanes, remaining)
    mark_reordered(lanes)
    remaining = _in_their_place(lanes, remaining)
    extras, leaks = _origins(cells, remaining, None if TEXT in lanes else ids)
    return [*separators, *extras], leaks


def _by_same_event(cells: Sequence[Cell], strays: Sequence[Piece]) -> list[Piece]:
    free: defaultdict[int, list[Cell]] = defaultdict(list)
    for cell in cells:
        if cell.free and cell.event >= 0:
            free[cell.event].append(cell)
    remaining: list[Piece] = []
    for stray in strays:
        selected: Sequence[Cell] = ()
        if len(remaining) < _SEARCHES_AT_MOST:
            selected = select((cell for cell in free.get(stray.event, ()) if cell.free), stray.text)
        fill(selected, stray)
        if not selected:
            remaining.append(stray)
    return remaining


def _joined(strays: Iterable[Piece]) -> list[list[Piece]]:
    """Strays that are one text, as nothing else was delivered in their field between them."""
    groups: list[list[Piece]] = []
    for stray in sorted(strays, key=lambda stray: (stray.field, stray.start)):
        last = groups[-1][-1] if groups else None
        if last is not None and last.field == stray.field and last.end == stray.start:
            groups[-1].append(stray)
        else:
            groups.append([stray])
    return groups


def _by_equal_run(
    cells: Sequence[Cell], strays: Sequence[Piece], separator: str
) -> tuple[list[Piece], list[Extra]]:
    """A lost run with exactly that text, anywhere: first of its own field, then of another.

    Before or after a message in a wrong field there may be a separator. If the text before a stray ends like
    the stray, either may be the surplus, so both are tried.
    """
    ends: dict[tuple[str, int], Cell] = {}
    """By field and end of their text: the cells that arrived."""
    pools: dict[str, tuple[Pool, Pool, Pool]] = {}
    separators: list[Extra] = []
    searches = 0

    def slide(piece: Piece, event: int) -> bool:
        """Move a piece whose own end is that of the text before it; `event` is that of its own end."""
        if not ends:
            ends.update(
                {(cell.delivered_in or "", cell.at + len(cell.text)): cell for cell in cells if cell.at >= 0}
            )
        before: list[Cell] = []
        slid = piece
        while len(before) < _SLIDES_AT_MOST:
            cell = ends.get((piece.field, slid.start))
            if cell is None or cell.state is not FateState.OK or not slid.text.endswith(cell.text):
                return False
            before.append(cell)
            slid = slid._replace(
                text=cell.text + slid.text.removesuffix(cell.text),
                start=cell.at,
                event=cell.event if cell.delivery_event is None else cell.delivery_event,
            )
            if move(slid):
                for moved in before:
                    moved.arrive(piece.field, event, moved.at + len(piece.text))
                return True
        return False

    def move(piece: Piece) -> bool:
        nonlocal searches
        searches += 1
        field = piece.field
        if (
            searches > _SEARCHES_AT_MOST
            or _BROKEN in piece.text
            or (field not in pools and len(pools) >= _FIELDS_AT_MOST)
        ):
            return False
        if field not in pools:
            lost = [cell for cell in cells if cell.lost]
            pools[field] = (
                Pool(cell for cell in lost if cell.field == field),
                Pool(cell for cell in lost if cell.field != field),
                Pool(cell for cell in cells if cell.state is FateState.UNSERVED),
            )
        for text, before in _without_separator(piece.text, separator):
            run = next(filter(None, (pool.run(text) for pool in pools[field])), ())
            if run:
                fill(run, piece.part(before, before + len(text)))
                if text != piece.text:
                    at = piece.start if before else piece.end - len(separator)
                    separators.append(Extra(piece.event, field, separator, at, separates=True))
                return True
        return False

    remaining: list[Piece] = []
    for group in _joined(strays):
        joined = group[0]._replace(text="".join([piece.text for piece in group]))
        if not (move(joined) or slide(joined, group[-1].event)):
            remaining += [stray for stray in group if len(group) == 1 or not move(stray)]
    return remaining, separators


def _without_separator(text: str, separator: str) -> Iterator[tuple[str, int]]:
    """A text, and without the separator before or after it; each with the characters left out before it."""
    yield text, 0
    if separator and text.startswith(separator) and text != separator:
        yield text.removeprefix(separator), len(separator)
    if separator and text.endswith(separator) and text != separator:
        yield text.removesuffix(separator), 0


def _permuted(lanes: Mapping[str | None, Sequence[Cell]], strays: Sequence[Piece]) -> list[Piece]:
    """Lost tokens of a field and its strays, where they are the same characters in another order."""
    by_field: defaultdict[str, list[Piece]] = defaultdict(list)
    for stray in strays:
        by_field[stray.field].append(stray)
    remaining: list[Piece] = []
    for field, own in by_field.items():
        lost = [cell for cell in lanes.get(field, ()) if cell.lost]
        characters = Counter("".join([cell.text for cell in lost]))
        if lost and characters == Counter("".join([stray.text for stray in own])):
            remaining += _by_equal_run(lost, lay(lost, own), "")[0]
        else:
            remaining += own
    return remaining


def mark_reordered(lanes: Mapping[str | None, Sequence[Cell]]) -> None:
    """Mark the fewest cells of a field without which its texts are in the order of their tokens."""
    for lane in lanes.values():
        arrived = [cell for cell in lane if cell.state is FateState.OK and cell.field is not None]
        places = [cell.at for cell in arrived]
        if sorted(places) == places:
            continue
        tops: list[int] = []
        """Where the first text begins of the best run of each length, from the end on (patience sorting)."""
        lengths: list[int] = []
        for cell in reversed(arrived):
            length = bisect_left(tops, -cell.at)
            tops[length : length + 1] = [-cell.at]
            lengths.append(length)
        wanted = len(tops) - 1
        for cell, length in zip(arrived, reversed(lengths), strict=True):
            if length == wanted:
                wanted -= 1
            else:
                cell.state = FateState.REORDERED


class Gaps:
    """The cells of a field that should have arrived between two that did; ask only after `mark_reordered`."""

    def __init__(self, lane: Sequence[Cell]) -> None:
        self._lane = lane
        in_place = [number for number, cell in enumerate(lane) if cell.state is FateState.OK and cell.field]
        self._numbers = [-1, *in_place, len(lane)]
        self._starts = [lane[number].at for number in in_place]

    def around(self, piece: Piece) -> Sequence[Cell]:
        """The cells between the text before a piece and the text after it."""
        place = bisect_left(self._starts, piece.start)
        return self._lane[self._numbers[place] + 1 : self._numbers[place + 1]]

    def tokens_around(self, piece: Piece, separator: str) -> tuple[int, int | None]:
        """Past the last token before a piece, and the first one after it; None where none is.

        Tokens that read as separators are passed over: which of several line feeds is the text's is unknown.
        """
        after = bisect_left(self._starts, piece.start) + 1
        before = after - 1
        while before > 0 and not self._lane[self._numbers[before]].text.strip(separator):
            before -= 1
        while after <= len(self._starts) and not self._lane[self._numbers[after]].text.strip(separator):
            after += 1
        return (
            self._lane[self._numbers[before]].token + 1 if before else 0,
            self._lane[self._numbers[after]].first if after <= len(self._starts) else None,
        )


def _in_their_place(lanes: Mapping[str | None, Sequence[Cell]], strays: Sequence[Piece]) -> list[Piece]:
    """Other text of the same field where lost tokens should be: garbled."""
    gaps: dict[str, Gaps] = {}
    remaining: list[Piece] = []
    for group in _joined(strays):
        field = group[0].field
        if field not in gaps:
            gaps[field] = Gaps(lanes.get(field, ()))
        lost = [cell for cell in gaps[field].around(group[0]) if cell.lost or cell.state is FateState.GARBLED]
        if not lost:
            remaining += group
            continue
        for cell in lost:
            cell.arrive(field, group[0].event, group[0].start)
            cell.state = FateState.GARBLED
        lost[0].delivered += "".join([piece.text for piece in group])
    return remaining


def _origins(
    cells: Sequence[Cell], strays: Sequence[Piece], ids: Sequence[int] | None
) -> tuple[list[Extra], list[Fate]]:
    """The source of the strays that remain: tokens delivered before, framing of messages, or none.

    `ids` are all tokens; None where no framing is expected to be missing from the text.
    """
    extras: list[Extra] = []
    leaks: list[Fate] = []
    delivered: dict[str, tuple[Pool, Sequence[int]]] = {}
    """By field: the cells in the order in which they arrived there, and where each begins."""
    framing = _Framing(ids) if strays and ids is not None else None
    for number, group in enumerate(_joined(strays)):
        first = group[0]
        text = "".join([stray.text for stray in group])
        extra = Extra(first.event, first.field, text, first.start)
        if len(group) > 1:
            extra.last_event = group[-1].event
        if number < _SEARCHES_AT_MOST:
            if framing is not None and (span := framing.find(text)) is not None:
                state, arrival = FateState.MISROUTED, Arrival(*span, first.start, text)
                leaks.append(Fate(*span, state, None, first.field, None, text, text, first.event, (arrival,)))
                continue
            if first.field not in delivered and len(delivered) < _FIELDS_AT_MOST:
                delivered[first.field] = _arrived_in(cells, first.field)
            if first.field in delivered:
                pool, starts = delivered[first.field]
                run = pool.run_within(text, bisect_left(starts, first.start))
                # One token occurs again by chance; right behind itself, or as a whole phrase, it does not.
                if len(run) > 1 or (run and run[-1].at + len(run[-1].text) == first.start):
                    extra.start, extra.end = run[0].first, run[-1].token + 1
        extras.append(extra)
    return extras, leaks


def _arrived_in(cells: Iterable[Cell], field: str) -> tuple[Pool, Sequence[int]]:
    arrived = sorted((cell for cell in cells if cell.delivered_in == field), key=lambda cell: cell.at)
    return Pool(arrived), [cell.at for cell in arrived]


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
