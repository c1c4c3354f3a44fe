"""The token strip's payload: cells, message blocks and events as columns, findings, and the picture as runs.

Everything is JSON-able and small: a capture of 131,072 tokens is one column of ids and some runs. A
capture without token ids shows pieces instead: the deltas, with the lost parts of the final texts
between them.
"""

from collections.abc import Sequence

from inspector.analysis.alignment import reconstructed_cells
from inspector.analysis.audit import KINDS, Finding
from inspector.analysis.audit.kinds import OF_DELIVERY
from inspector.analysis.audit.rejection import is_rejection
from inspector.analysis.reading import ChoiceReading, Evidence
from inspector.inspection.inspection import Examined
from inspector.protocol.harmony.vocab import MARKERS
from inspector.views.payload import CellSpan, LogprobRow, Payload, Pipeline, Tables
from inspector.views.strip.findings import event_of_cells, piece_span, reconstructed_spans, strip_finding
from inspector.views.strip.growth import grown, reconstruction_row
from inspector.views.strip.logprobs import logprobs
from inspector.views.strip.pipeline import piece_pipeline, token_pipeline
from inspector.views.strip.transcript import transcript_cells
from inspector.views.strip.unsent import add_unseen, add_unsent, is_unseen, rejected_span


def strip(
    examined: Examined,
    *,
    key: str,
    choice: ChoiceReading | None = None,
    findings: Sequence[Finding] | None = None,
) -> Payload:
    """The payload of one choice, by default the first; `key` identifies the capture.

    `findings` replace those of the inspection; a comparison has its own.
    """
    reading, stopped = examined.reading, examined.rejection
    choice = choice or reading.choice
    listed = examined.findings if findings is None else findings
    of_choice = [finding for finding in listed if finding.choice == choice.index]
    transcript = None
    if not choice.has_ids and choice.rebuilt is None:
        transcript = transcript_cells(reading, choice, of_choice)
    if transcript is None:
        cells, pipeline = grown(choice, reading.arrival_s, stopped), picture(examined, choice)
    else:
        cells, pipeline = transcript
        if stopped is not None and stopped.choice == choice.index:
            add_unsent(cells, cells["blocks"], stopped, reading.arrival_s)
    sent = cells["count"] - len(cells["unsent"])
    times = [event.at_s for event in reading.events if event.at_s is not None]
    spans: list[CellSpan] = [{} for _ in of_choice]
    if cells["unit"] == "piece":
        events = event_of_cells(cells)[:sent]
        spans = [piece_span(finding, cells, pipeline, events) for finding in of_choice]
    elif choice.rebuilt is not None:
        spans = list(reconstructed_spans(of_choice, cells, examined.alignments[choice.index]))
    rows = []
    for finding, by_text in zip(of_choice, spans, strict=True):
        span = by_text
        if stopped is not None and is_rejection(finding):
            span = rejected_span(stopped, sent)
        elif is_unseen(finding):
            span = add_unseen(cells, finding)
        rows.append(strip_finding(finding, examined.situation, span))
    columns = logprobs(reading, choice, cells)
    logprob_row: LogprobRow = {} if columns is None else {"logprobs": columns}
    return {
        "key": key,
        **cells,
        **logprob_row,
        **reconstruction_row(choice),
        "sent": sent,
        "hidden": 0,
        "pipelines": [pipeline],
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


def tables() -> Tables:
    """What the page needs to know about kinds and special tokens."""
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
        "special_tokens": sorted(MARKERS),
    }


def picture(inspection: Examined, choice: ChoiceReading) -> Pipeline:
    """What became of the cells of a choice, and what each field of the client received."""
    tokens = choice if choice.has_ids else reconstructed_cells(choice)
    if tokens is None:
        return piece_pipeline(inspection.reading, choice)
    return token_pipeline(inspection.reading, tokens, inspection.alignments[choice.index])
