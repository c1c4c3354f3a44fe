"""Text that no field explains as a whole, aligned token by token."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from inspector.analysis.alignment.cells import Cell, Extra, Fate, Part, Stray, cells_of, fates_of
from inspector.analysis.alignment.leftovers import explain
from inspector.analysis.alignment.matching import match_events, match_field
from inspector.analysis.reading import ChoiceReading
from inspector.capture.deltas import Delta
from inspector.protocol.harmony.vocab import MARKERS


def align_by_token(
    choice: ChoiceReading,
    parts: Iterable[Part],
    sent: Mapping[str, Sequence[Delta]],
    *,
    skip_special: bool = False,
    unstreamed: bool = False,
) -> tuple[list[Fate], list[Extra]]:
    """Fates of the tokens of some parts, and what the fields `sent` have that no token explains."""
    ids = choice.tokens.ids
    cells = [cell for part in parts for cell in cells_of(choice.tokens, part, skip_special=skip_special)]
    strays = _match(cells, sent)
    if unstreamed:  # the server joins messages by line feeds
        stripped = (Stray(stray.event, stray.field, stray.text.strip("\n"), stray.place) for stray in strays)
        strays = [stray for stray in stripped if stray.text]
    extras, leaks = explain(cells, strays, ids)
    own = [cell for cell in cells if not _is_rejected_special(cell, ids)]
    own.sort(key=lambda cell: cell.token)
    return [*leaks, *fates_of(own)], extras


def _is_rejected_special(cell: Cell, ids: Sequence[int]) -> bool:
    """Whether it is a special token among rejected ones: it frames nothing, and is no text to be lost."""
    return cell.message is None and cell.field is None and ids[cell.token] in MARKERS


def _match(cells: Sequence[Cell], sent: Mapping[str, Sequence[Delta]]) -> list[Stray]:
    """Match by event, where events are known, and then by field; what is left of the deliveries."""
    deliveries = [(delta.event, delta.field, delta.text) for deltas in sent.values() for delta in deltas]
    if cells and cells[0].event >= 0:
        unmatched = match_events(cells, deliveries)
    else:
        unmatched = [Stray(event, field, text) for event, field, text in deliveries]
    lanes: defaultdict[str | None, list[Cell]] = defaultdict(list)
    for cell in cells:
        lanes[cell.lane].append(cell)
    strays: defaultdict[str, list[Stray]] = defaultdict(list)
    for stray in unmatched:
        strays[stray.field].append(stray)
    unexplained: list[Stray] = []
    for field, own in strays.items():
        everything = [(delta.event, field, delta.text) for delta in sent[field]]
        unexplained.extend(match_field(lanes.get(field, []), own, everything))
    return unexplained
