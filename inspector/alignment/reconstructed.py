"""A choice of Responses with the tokens that were reconstructed from its final object."""

from collections import defaultdict
from dataclasses import replace

from inspector.alignment.cells import Part, Stray, cells_of
from inspector.alignment.matching import Sent, match_field
from inspector.harmony.contract import expect
from inspector.harmony.events import shifted
from inspector.harmony.reconstruction import Reconstruction
from inspector.harmony.tracker import HarmonyTracker
from inspector.harmony.transcript import Transcript
from inspector.reading import ChoiceReading
from inspector.tokens import Tokens

__all__ = ["reconstructed_choice"]


def reconstructed_choice(choice: ChoiceReading) -> ChoiceReading | None:
    """The choice with its reconstructed tokens; None where the count does not confirm them.

    The event of a token is that of the delta which brought its text; a token without text has the event of
    the text after it in its message, else of what came before it.
    """
    found = choice.reconstruction
    if found is None or not found.confirmed:
        return None
    transcript = _transcript(found)
    shown = replace(
        choice,
        tokens=Tokens(list(found.ids), [-1] * len(found.ids)),
        transcript=transcript,
        expected=expect(transcript),
        reconstructed=True,
    )
    shown.tokens.events = _events(shown)
    return shown


def _transcript(found: Reconstruction) -> Transcript:
    """The messages turn by turn: the prompt of a later turn holds what a tool of the server answered."""
    transcript = Transcript()
    for start, end in zip(found.turns, (*found.turns[1:], len(found.ids)), strict=True):
        events = HarmonyTracker().receive(found.ids[start:end])
        transcript.receive([shifted(event, start) for event in events], end)
    return transcript


def _events(choice: ChoiceReading) -> list[int]:
    arrived: dict[int, int] = {}
    sent: defaultdict[str, list[Sent]] = defaultdict(list)
    for event, field, text in choice.deltas:
        sent[field].append((event, field, text))
    lanes: defaultdict[str, list[Part]] = defaultdict(list)
    for segment in choice.expected.segments:
        if segment.field is not None:
            lanes[segment.field].append(
                Part(segment.start, segment.end, segment.field, segment.field, segment.message)
            )
    for field, parts in lanes.items():
        cells = [cell for part in parts for cell in cells_of(choice.tokens, part)]
        match_field(cells, [Stray(*one) for one in sent[field]], sent[field])
        for cell in cells:
            if cell.delivery_event is not None:
                arrived.update(dict.fromkeys(range(cell.first, cell.token + 1), cell.delivery_event))
    return _filled(choice, arrived)


def _filled(choice: ChoiceReading, arrived: dict[int, int]) -> list[int]:
    count = len(choice.tokens.ids)
    events = [arrived.get(place, -1) for place in range(count)]
    for message in choice.transcript.messages:
        following = -1
        for place in range(message.end - 1, message.start - 1, -1):
            following = events[place] if events[place] >= 0 else following
            events[place] = following
    last = next((event for event in events if event >= 0), choice.deltas[0].event if choice.deltas else 0)
    for place in range(count):
        events[place] = last = max(events[place], last)  # nothing came before what stands before it
    return events
