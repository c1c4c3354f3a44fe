"""When reconstructed tokens arrived: the events of the deltas that brought their text."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from inspector.analysis.alignment.cells import Part, cells_of, pieces_of
from inspector.analysis.alignment.fields import parts_of
from inspector.analysis.alignment.matching import match_field
from inspector.analysis.reading import ChoiceReading
from inspector.capture.tokens import Tokens


def reconstructed_cells(choice: ChoiceReading) -> ChoiceReading | None:
    """A choice with its reconstructed tokens, each in the event that brought its text; None without them."""
    rebuilt = choice.rebuilt
    if rebuilt is None:
        return None
    return replace(rebuilt, tokens=Tokens(rebuilt.tokens.ids, _reconstructed_events(rebuilt)))


def _reconstructed_events(choice: ChoiceReading) -> list[int]:
    """The event of each reconstructed token, in order.

    A token without text of its own has the event of the text after it in its message, else of what came
    before it.
    """
    arrived: dict[int, int] = {}
    sent = choice.deltas_by_field()
    lanes: defaultdict[str, list[Part]] = defaultdict(list)
    for part in parts_of(choice, sent):
        if part.lane is not None:
            lanes[part.lane].append(part)
    for field, parts in lanes.items():
        cells = [cell for part in parts for cell in cells_of(choice.tokens, part)]
        pieces = pieces_of(field, sent.get(field, ()))
        match_field(cells, pieces, pieces)
        for cell in cells:
            if cell.delivery_event is not None:
                arrived.update(dict.fromkeys(range(cell.first, cell.token + 1), cell.delivery_event))
    return _filled(choice, arrived)


def _filled(choice: ChoiceReading, arrived: Mapping[int, int]) -> list[int]:
    count = len(choice.tokens)
    events = [arrived.get(place, -1) for place in range(count)]
    for message in choice.transcript.messages:
        following = -1
        for place in range(message.end - 1, message.start - 1, -1):
            following = events[place] if events[place] >= 0 else following
            events[place] = following
    last = next((event for event in events if event >= 0), choice.deltas[0].event if choice.deltas else 0)
    for place in range(count):
        events[place] = last = max(events[place], last)  # a token cannot arrive before the tokens before it
    return events
