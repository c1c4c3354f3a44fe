"""The token strip's payload: cells, message blocks, events and delivery ribbons, as columns and runs.

Everything is JSON-able and small: a capture of 131,072 tokens is one column of ids and some runs. A
capture without token ids shows pieces instead: the deltas, with the lost parts of the final texts
between them.
"""

from collections.abc import Sequence

from inspector.analysis.alignment import FateState, embed_or_align, reconstructed_cells
from inspector.analysis.audit import KINDS, Finding
from inspector.analysis.audit.kinds import OF_DELIVERY
from inspector.analysis.audit.rejection_findings import is_rejection
from inspector.analysis.reading import ChoiceReading, Evidence, Reading
from inspector.inspection.inspection import Examined
from inspector.protocol.harmony.transcript import Message, RejectedRun
from inspector.protocol.harmony.vocab import MARKERS
from inspector.views.payload import (
    Block,
    Cells,
    CellSpan,
    Events,
    LogprobRow,
    Payload,
    Pipeline,
    ReconstructionRow,
    Ribbon,
    Run,
    Tables,
)
from inspector.views.strip.blocks import block, field_block
from inspector.views.strip.findings import event_of_cells, piece_span, reconstructed_span, strip_finding
from inspector.views.strip.logprobs import logprobs
from inspector.views.strip.pipeline import piece_pipeline, token_pipeline
from inspector.views.strip.texts import split_texts, vocabulary
from inspector.views.strip.transcript import transcript_cells
from inspector.views.strip.unsent import rejected_span, unsent, with_unsent


def strip(
    seen: Examined,
    *,
    key: str,
    choice: ChoiceReading | None = None,
    findings: Sequence[Finding] | None = None,
) -> Payload:
    """The payload of one choice, by default the first; `key` identifies the capture.

    `findings` replace those of the inspection; a comparison has its own.
    """
    reading, stopped = seen.reading, seen.rejection
    choice = choice or reading.choice
    listed = seen.findings if findings is None else findings
    of_choice = [finding for finding in listed if finding.choice == choice.index]
    rebuilt = None if choice.has_ids else reconstructed_cells(choice)
    if choice.has_ids or rebuilt is not None:
        cells = _token_cells(seen, rebuilt or choice)
    else:
        cells = transcript_cells(reading, choice, of_choice) or _piece_cells(reading, choice)
    sent = cells["count"]
    added = None
    if stopped is not None and stopped.choice == choice.index:
        added = unsent(stopped, sent, reading.arrival_s)
    times = [event.at_s for event in reading.events if event.at_s is not None]
    pieces = event_of_cells(cells) if cells["unit"] == "piece" else None
    rows = []
    for finding in of_choice:
        span: CellSpan = {}
        if rebuilt is not None:
            span = reconstructed_span(finding, cells, seen.alignments[choice.index])
        elif pieces is not None:
            span = piece_span(finding, cells, pieces)
        if stopped is not None and is_rejection(finding):
            span = rejected_span(stopped, sent)
        rows.append(strip_finding(finding, seen.situation, span))
    if stopped is not None and added is not None:
        cells = with_unsent(cells, added, stopped)
    columns = logprobs(reading, choice, cells)
    logprob_row: LogprobRow = {} if columns is None else {"logprobs": columns}
    return {
        "key": key,
        **cells,
        **logprob_row,
        **reconstruction_row(choice),
        "sent": sent,
        "hidden": 0,
        "unsent": [] if added is None else added["unsent"],
        "findings": rows,
        **tables(),
        "first_at": times[0] if times else None,
        "last_at": times[-1] if times else None,
        "finish": choice.finish_reason,
        "evidence": str(choice.evidence),
    }


def empty_strip(key: str) -> Payload:
    """The payload of a stream before its first token."""
    no_logprobs: LogprobRow = {}
    return {
        "key": key,
        "unit": "token",
        "count": 0,
        "sent": 0,
        "hidden": 0,
        "ids": [],
        "vocab": {},
        "texts": {},
        "events": {"index": [], "start": [], "at": []},
        "blocks": [],
        "ribbons": [],
        "pipelines": [],
        "reconstructed": False,
        "uncertain": [],
        "unsent": [],
        "findings": [],
        **tables(),
        **no_logprobs,
        "first_at": None,
        "last_at": None,
        "finish": None,
        "evidence": str(Evidence.NONE),
    }


def reconstruction_row(choice: ChoiceReading) -> ReconstructionRow:
    """Whether the cells are reconstructed tokens, and the spans of those whose ID is not certain."""
    reconstruction = None if choice.rebuilt is None else choice.reconstruction
    return {
        "reconstructed": reconstruction is not None,
        "uncertain": [] if reconstruction is None else list(reconstruction.uncertain),
    }


def tables() -> Tables:
    """What the page needs to know about kinds, states and special tokens."""
    return {
        "kinds": {
            str(kind): {
                "label": info.label,
                "marks": info.marks,
                "side": str(info.side),
                "of_delivery": kind in OF_DELIVERY,
            }
            for kind, info in KINDS.items()
        },
        "lost_states": [str(FateState.DROPPED), str(FateState.UNSERVED)],
        "special_tokens": sorted(MARKERS),
    }


def ribbon(inspection: Examined, choice: ChoiceReading) -> Ribbon | None:
    """The delivery lane of a choice; None if it is unknown where its tokens were delivered."""
    laid = inspection.alignments[choice.index]
    if laid is None:
        return None
    return {
        "label": inspection.reading.server_label if inspection.reading.server_version else "delivered",
        "runs": [
            (fate.start, fate.end, fate.delivered_in, str(fate.state))
            for fate in laid.fates
            if fate.start < fate.end and fate.state is not FateState.LEFT_OUT
        ],
    }


def picture(inspection: Examined, choice: ChoiceReading) -> Pipeline | None:
    """The picture of a choice; None while no token of it is known."""
    tokens = choice if choice.has_ids else reconstructed_cells(choice)
    if tokens is None:
        return None
    return token_pipeline(inspection.reading, tokens, inspection.alignments[choice.index])


def _token_cells(inspection: Examined, choice: ChoiceReading) -> Cells:
    reading, ids = inspection.reading, choice.tokens.ids
    vocab = vocabulary(ids)
    lane = ribbon(inspection, choice)
    return {
        "unit": "token",
        "count": len(ids),
        "ids": list(ids),
        "vocab": vocab,
        "texts": dict(split_texts(ids, vocab)),
        "events": _events(reading, choice.tokens.events),
        "blocks": _blocks(choice),
        "ribbons": [] if lane is None else [lane],
        "pipelines": [token_pipeline(reading, choice, inspection.alignments[choice.index])],
    }


def _events(reading: Reading, events: Sequence[int]) -> Events:
    starts = [place for place in range(len(events)) if place == 0 or events[place] != events[place - 1]]
    index = [events[place] for place in starts]
    return {"index": index, "start": starts, "at": reading.arrivals_s(index)}


def _blocks(choice: ChoiceReading) -> list[Block]:
    transcript = choice.transcript
    items: list[Message | RejectedRun] = [
        message for message in transcript.messages if message.start < message.end
    ]
    items.extend(transcript.rejected_runs)
    return [block(item, choice.tokens.ids) for item in sorted(items, key=lambda item: item.start)]


def _piece_cells(reading: Reading, choice: ChoiceReading) -> Cells:
    """Cells without IDs: one block per field, of its deltas and the lost parts of the final text."""
    cells: list[str] = []
    events: list[int] = []
    blocks: list[Block] = []
    runs: list[Run] = []
    fields: dict[str, list[int]] = {}
    for number, delta in enumerate(choice.deltas):
        fields.setdefault(delta.field, []).append(number)
    for field in choice.finals:
        fields.setdefault(field, [])
    for field, numbers in fields.items():
        if field.endswith(".name"):
            continue
        start = len(cells)
        deltas = [choice.deltas[number] for number in numbers]
        lost = _lost_before(choice, field, [delta.text for delta in deltas])
        delivered = "ok" if choice.has_finals else "unknown"
        for place in range(len(deltas) + 1):
            event = deltas[min(place, len(deltas) - 1)].event if deltas else -1
            pieces: list[tuple[str, str | None, str]] = [
                (text, None, "dropped") for text in lost.get(place, ())
            ]
            if place < len(deltas):
                pieces.append((deltas[place].text, field, delivered))
            for text, arrived_in, state in pieces:
                runs.append((len(cells), len(cells) + 1, arrived_in, state))
                cells.append(text)
                events.append(event)
        if len(cells) > start:
            blocks.append(field_block(start, len(cells), field))
    shape: Cells = {
        "unit": "piece",
        "count": len(cells),
        "ids": None,
        "vocab": None,
        "texts": {str(place): text for place, text in enumerate(cells)},
        "events": _events(reading, events),
        "blocks": blocks,
        "ribbons": [{"label": reading.server_label if reading.server_version else "delivered", "runs": runs}],
        "pipelines": [],
    }
    return {**shape, "pipelines": [piece_pipeline(reading, choice, shape)]}


def _lost_before(choice: ChoiceReading, field: str, pieces: list[str]) -> dict[int, list[str]]:
    final = choice.finals.get(field)
    if final is None or final == "".join(pieces):
        return {}
    gaps, _ = embed_or_align(final, pieces)
    lost: dict[int, list[str]] = {}
    for start, end, _, after in gaps:
        lost.setdefault(len(pieces) if after is None else after, []).append(final[start:end])
    return lost
