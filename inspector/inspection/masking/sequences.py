"""Tokens of a completion or a prompt to stand-ins; what the grammar is made of stays."""

from collections.abc import Mapping, Sequence

from inspector.inspection.masking.forms import FIRST_SPECIAL
from inspector.inspection.masking.standins import Standins
from inspector.inspection.masking.vocabulary import GRAMMAR, HEADER, TEMPLATE
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.tracker import HarmonyTracker
from inspector.protocol.harmony.transcript import Transcript
from inspector.protocol.harmony.vocab import Marker, encode_plain


def masked_ids(ids: Sequence[int], transcript: Transcript, standins: Standins) -> list[int]:
    """A stand-in for each token of text; in headers and rejected runs words of the grammar stay."""
    masked = list(ids)
    for start, end, in_body in _runs(ids, transcript):
        masked[start:end] = standins.ids(ids[start:end], None if in_body else GRAMMAR)
    return masked


def masked_prompt(ids: Sequence[int], standins: Standins, names: Mapping[str, str]) -> list[int]:
    """A prompt with a stand-in for each word, the same one that the word has in the request."""
    transcript = Transcript()
    transcript.receive(HarmonyTracker(()).receive(ids), len(ids))
    masked: list[int] = []
    at = 0
    for start, end, in_body in _runs(ids, transcript):
        text = standins.words(text_of(ids[start:end]), TEMPLATE if in_body else HEADER, names)
        masked += [*ids[at:start], *encode_plain(text)]
        at = end
    return [*masked, *ids[at:]]


def _runs(ids: Sequence[int], transcript: Transcript) -> list[tuple[int, int, bool]]:
    """Tokens of text that stand together: start, end, and whether they are in a body."""
    body = bytearray(len(ids))
    for message in transcript.messages:
        if message.in_body:
            body[message.body : message.body_end] = b"\1" * (message.body_end - message.body)
    for rejected_run in transcript.rejected_runs:
        inside = False
        for place in range(max(rejected_run.at, 0), min(rejected_run.end, len(ids))):
            body[place] = inside
            inside = ids[place] == Marker.MESSAGE or (inside and ids[place] < FIRST_SPECIAL)
    runs: list[tuple[int, int, bool]] = []
    start = 0
    for place in range(len(ids) + 1):
        ends = place == len(ids) or not 0 <= ids[place] < FIRST_SPECIAL
        if ends or body[place] != body[start]:
            if start < place:
                runs.append((start, place, bool(body[start])))
            start = place + 1 if ends else place
    return runs
