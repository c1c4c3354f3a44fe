"""Text that no field explains as a whole, aligned token by token."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from inspector.analysis.alignment.cells import Cell, Extra, Fate, Part, Piece, cells_of, fates_of, pieces_of
from inspector.analysis.alignment.leftovers import Gaps, explain, mark_reordered
from inspector.analysis.alignment.matching import match_around, match_events, match_field
from inspector.analysis.reading import ChoiceReading
from inspector.capture.deltas import Delta
from inspector.protocol.harmony.vocab import MARKERS


def align_by_token(
    choice: ChoiceReading,
    parts: Iterable[Part],
    sent: Mapping[str, Sequence[Delta]],
    *,
    skip_special: bool = False,
    separator: str = "",
) -> tuple[list[Fate], list[Extra]]:
    """Fates of the tokens of some parts, and what the fields `sent` have that no token explains.

    `separator` is what the server may put between two messages of a field.
    """
    ids = choice.tokens.ids
    lanes: defaultdict[str | None, list[Cell]] = defaultdict(list)
    for part in parts:
        lanes[part.lane].extend(cells_of(choice.tokens, part, skip_special=skip_special))
    strays = _match(lanes, {field: pieces_of(field, deltas) for field, deltas in sent.items()})
    mark_reordered(lanes)
    separators, strays = _split_separators(choice, lanes, strays, separator) if separator else ([], strays)
    extras, leaks = explain(lanes, strays, ids, separator)
    own = [cell for lane in lanes.values() for cell in lane if not _leaves_nothing(cell, ids)]
    own.sort(key=lambda cell: cell.token)
    return [*leaks, *fates_of(own)], [*separators, *extras]


def _leaves_nothing(cell: Cell, ids: Sequence[int]) -> bool:
    """Whether nothing is lost with it: a special token among rejected ones, a character that was cut off."""
    if cell.free and cell.optional:
        return True
    return cell.message is None and cell.field is None and ids[cell.token] in MARKERS


def _match(lanes: Mapping[str | None, Sequence[Cell]], sent: Mapping[str, Sequence[Piece]]) -> list[Piece]:
    """Match by text the fields that differ in one place, others by event and then by field; what is left."""
    strays: list[Piece] = []
    pending: list[Piece] = []
    for field, pieces in sent.items():
        rest = match_around(lanes.get(field, ()), pieces)
        strays += rest or ()
        pending += pieces if rest is None else ()
    cells = [cell for lane in lanes.values() for cell in lane]
    if pending and cells and cells[0].event >= 0:
        pending = match_events(cells, pending)
    by_field: defaultdict[str, list[Piece]] = defaultdict(list)
    for stray in pending:
        by_field[stray.field].append(stray)
    for field, own in by_field.items():
        strays += match_field(lanes.get(field, ()), own, sent[field])
    return strays


def _split_separators(
    choice: ChoiceReading, lanes: Mapping[str | None, Sequence[Cell]], strays: Iterable[Piece], separator: str
) -> tuple[list[Extra], list[Piece]]:
    """What the server put between two messages of a field, and the strays without it.

    There is one separator between two messages, so of three only as many are meant as messages begin there.
    """
    gaps: dict[str, Gaps] = {}
    borders: dict[str, list[int]] = {}
    """By field: the first tokens of texts before which a separator may be."""
    separators: list[Extra] = []
    remaining: list[Piece] = []
    for stray in strays:
        field, rest = stray.field, stray
        if separator not in stray.text:
            remaining.append(stray)
            continue
        if field not in gaps:
            gaps[field] = Gaps(lanes.get(field, ()))
            borders[field] = [start for _, start in choice.expected.gaps(field, choice.tokens.ids)]
        after, before = gaps[field].tokens_around(stray, separator)
        for start in [s for s in borders[field] if after <= s and (before is None or s <= before)]:
            if rest.text.startswith(separator):
                at, rest = rest.start, rest.part(len(separator), len(rest.text))
            elif rest.text.endswith(separator):
                rest = rest.part(0, len(rest.text) - len(separator))
                at = rest.end
            else:
                break
            borders[field].remove(start)
            separators.append(Extra(rest.event, field, separator, at, separates=True))
        if rest.text:
            remaining.append(rest)
    return separators, remaining
