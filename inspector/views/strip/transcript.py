"""The picture of Harmony that a server passed through as text: messages, all of them in one field.

Its cells are special tokens, what is between them in a header, and pieces of bodies. They are not tokens, as
those that the model sampled are not known.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from inspector.analysis.audit import Code, Finding
from inspector.analysis.reading import ChoiceReading, Reading
from inspector.protocol.harmony.markup import has_stop, parsed
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.vocab import Marker
from inspector.views.lane_labels import lane_labels
from inspector.views.payload import Block, CellFate, Cells, FateRun, Pipeline
from inspector.views.strip.blocks import block
from inspector.views.strip.pipeline import server_name

_SPECIAL: Final = re.compile(f"({'|'.join(re.escape(marker.text) for marker in Marker)})")
_PIECE: Final = re.compile(r"\s{0,24}\S.{0,22}?(?=\s|\Z)|.{1,24}", re.DOTALL)
"""A few words of a body."""


def transcript_cells(
    reading: Reading, choice: ChoiceReading, findings: Sequence[Finding]
) -> tuple[Cells, Pipeline] | None:
    """The cells of a transcript in the only field that arrived; None where no finding shows one."""
    finding = next((finding for finding in findings if finding.code is Code.TRANSCRIPT_UNPARSED), None)
    deltas = choice.deltas_by_field()
    if finding is None or finding.field is None or len(deltas) > 1:
        return None
    text = finding.delivered or ""
    messages = parsed(text)
    if messages is None or messages.transcript.rejected_runs:
        return None
    texts: list[str] = []
    blocks: list[Block] = []
    fates: list[FateRun] = []
    fields = {segment.message: segment.field for segment in messages.expected.segments}
    lanes = list(dict.fromkeys([finding.field, *filter(None, fields.values())]))
    for number, message in enumerate(messages.transcript.messages):
        start = len(texts)
        texts += _framing(messages.ids[message.start : message.body])
        body = len(texts)
        texts += _PIECE.findall(text_of(messages.ids[message.body : message.body_end]))
        body_end = len(texts)
        if has_stop(text):
            texts += _framing(messages.ids[message.body_end : message.end])
        field = fields.get(number)
        own = None if field is None else lanes.index(field)
        fates += [(start, body, "misrouted", None, 0, ""), (body_end, len(texts), "misrouted", None, 0, "")]
        fate: CellFate = "delivered" if own == 0 else "misrouted"
        fates.append((body, body_end, fate, own, 0, ""))
        blocks.append(block(replace(message, start=start, body=body, end=len(texts)), ()))
    if "".join(texts) != text.strip():
        return None
    count, event = len(texts), deltas[finding.field][0].event
    labels = lane_labels(choice, lanes, calls=[call.name for call in messages.expected.calls])
    cells: Cells = {
        "unit": "piece",
        "count": count,
        "ids": None,
        "vocab": {},
        "texts": {str(place): piece for place, piece in enumerate(texts)},
        "events": {"index": [event], "start": [0], "at": reading.arrivals_s([event])},
        "blocks": blocks,
        "unsent": [],
    }
    pipeline: Pipeline = {
        "server": f"{server_name(reading)}: everything passed through",
        "per_event": None,
        "lanes": [
            {"field": field, "label": label, "pieces": [] if place else [(0, count, None, "")]}
            for place, (field, label) in enumerate(zip(lanes, labels, strict=True))
        ],
        "fates": list(_joined(sorted(fate for fate in fates if fate[0] < fate[1]))),
    }
    return cells, pipeline


def _framing(ids: Sequence[int]) -> list[str]:
    """Each special token, and all that is between two."""
    return [part for part in _SPECIAL.split(text_of(ids)) if part]


def _joined(runs: Iterable[FateRun]) -> Iterator[FateRun]:
    """The runs, with neighbours of the same fate as one."""
    last: FateRun | None = None
    for run in runs:
        if last is not None and last[1] == run[0] and last[2:] == run[2:]:
            last = (last[0], run[1], *run[2:])
            continue
        if last is not None:
            yield last
        last = run
    if last is not None:
        yield last
