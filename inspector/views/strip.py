"""The token strip's payload: cells, message blocks, events and delivery ribbons, as columns and runs.

Everything is JSON-able and small: a capture of 131,072 tokens is one column of ids and some runs. A
capture without token ids shows pieces instead: the deltas, with the lost parts of the final texts
between them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from inspector.alignment import embed_or_align
from inspector.audit import KINDS, Finding, Kind, Rejection
from inspector.audit.rejection import UnsentKind, culprit
from inspector.audit.rejection_findings import is_rejection
from inspector.audit.wording import unsent_words
from inspector.harmony.parser_errors import parser_error
from inspector.harmony.text import text_of, texts
from inspector.harmony.transcript import Message, Refusal
from inspector.harmony.vocab import VOCABULARY_SIZE, token_bytes
from inspector.inspection import Examined
from inspector.reading import ChoiceReading, Evidence, Reading
from inspector.views.rows import finding_row, finding_words, issue_row

__all__ = [
    "block",
    "kind_rows",
    "rejected_blocks",
    "rejected_span",
    "ribbon",
    "strip",
    "unsent",
    "vocabulary",
]


def strip(
    seen: Examined,
    *,
    key: str,
    choice: ChoiceReading | None = None,
    findings: Sequence[Finding] | None = None,
) -> dict[str, Any]:
    """The payload of one choice, the first when none is named; `key` names the capture.

    `findings` stand in for those of the examination, as a comparison has its own.
    """
    reading, stopped = seen.reading, seen.stopped
    choice = choice or reading.choice
    shown = seen.findings if findings is None else findings
    mine = [finding for finding in shown if finding.choice == choice.index]
    shape = _token_cells(seen, choice) if choice.has_ids else _piece_cells(reading, choice)
    shape["sent"] = shape["count"]
    if stopped is not None and stopped.choice == choice.index:
        shape = _with_unsent(shape, unsent(stopped, shape["count"], reading.arrival_s), stopped)
    times = [event.at_s for event in reading.events if event.at_s is not None]
    rows = []
    for finding in mine:
        row = {**finding_row(finding), **finding_words(finding)}
        row["known_issues"] = [issue_row(issue, reading.server_version) for issue in finding.known_issues]
        if not choice.has_ids:
            row |= _cell_span(finding, shape)
        if stopped is not None and is_rejection(finding):
            row |= rejected_span(stopped, shape["sent"])
        rows.append(row)
    shape.pop("places", None)
    shape.setdefault("unsent", [])
    shape["kinds"] = kind_rows()
    return {
        "key": key,
        **shape,
        "findings": rows,
        "first_at": times[0] if times else None,
        "last_at": times[-1] if times else None,
        "finish": choice.finish_reason,
        "evidence": str(choice.evidence),
    }


def kind_rows() -> dict[str, dict[str, Any]]:
    """The table of kinds as a page needs it: label, and whether a finding's cells themselves are wrong."""
    return {str(kind): {"label": info.label, "marks": info.marks} for kind, info in KINDS.items()}


def unsent(stopped: Rejection, count: int, at_s: Callable[[int], float | None]) -> dict[str, Any]:
    """Columns of the cells after the last of `count` sent ones: a gap, the rejected token or header."""
    said = unsent_words(stopped)
    token_id = stopped.token_id
    shown = {
        UnsentKind.GAP: "",
        UnsentKind.TOKEN: "" if token_id is None else text_of([token_id]),
        UnsentKind.HEADER: stopped.error.quoted,
    }
    cells = [
        {
            "at": place,
            "kind": str(kind),
            "id": token_id if kind is UnsentKind.TOKEN else None,
            "text": shown[kind],
            "words": said[kind],
        }
        for place, kind in enumerate(stopped.unsent, count)
    ]
    at = at_s(stopped.event)
    return {
        "ids": [cell["id"] for cell in cells],
        "vocab": vocabulary(() if token_id is None else (token_id,)),
        "events": {"index": [stopped.event], "start": [count], "at": None if at is None else [at]}
        if cells
        else {"index": [], "start": [], "at": []},
        "unsent": cells,
    }


def rejected_blocks(
    blocks: Sequence[dict[str, Any]], stopped: Rejection, count: int, cells: int
) -> list[dict[str, Any]]:
    """Blocks with the rejected one at their end; `count` cells were sent, `cells` follow them."""
    found = list(blocks)
    start = count
    if stopped.header is not None and found and found[-1]["start"] == stopped.header[0]:
        start = found.pop()["start"]
    if start < count + cells:
        found.append(
            {
                "kind": "refused",
                "start": start,
                "body": count,
                "end": count + cells,
                "role": None,
                "channel": None,
                "recipient": None,
                "content_type": None,
                "complete": False,
                "reason": stopped.words,
                "state": "header" if stopped.error.reason.in_header else "between messages",
                "culprit": stopped.culprit
                or (None if stopped.header is not None else (count, count + cells)),
            }
        )
    return found


def rejected_span(stopped: Rejection, count: int) -> dict[str, int]:
    """The cells of the finding of a rejection; `count` cells were sent."""
    end = count + len(stopped.unsent)
    return {"cell_start": end - 1 if stopped.header is None else stopped.header[0], "cell_end": end}


def _with_unsent(shape: dict[str, Any], added: dict[str, Any], stopped: Rejection) -> dict[str, Any]:
    count = shape["count"]
    cells = added["unsent"]
    events, more = shape["events"], added["events"]
    at = None if events["at"] is None or more["at"] is None else [*events["at"], *more["at"]]
    if not events["index"]:
        at = more["at"]
    return {
        **shape,
        "count": count + len(cells),
        "ids": None if shape["ids"] is None else [*shape["ids"], *added["ids"]],
        "vocab": added["vocab"] if shape["vocab"] is None else {**shape["vocab"], **added["vocab"]},
        "events": {
            "index": [*events["index"], *more["index"]],
            "start": [*events["start"], *more["start"]],
            "at": at,
        },
        "blocks": rejected_blocks(shape["blocks"], stopped, count, len(cells)),
        "unsent": cells,
    }


def ribbon(seen: Examined, choice: ChoiceReading) -> dict[str, Any] | None:
    """The delivery lane of a choice; None when nothing says where its tokens were delivered."""
    laid = seen.alignments[choice.index]
    if laid is None:
        return None
    return {
        "label": seen.reading.server_label if seen.reading.server_version else "delivered",
        "runs": [
            [fate.start, fate.end, fate.delivered_in, str(fate.state)]
            for fate in laid.fates
            if fate.start < fate.end
        ],
    }


def _token_cells(seen: Examined, choice: ChoiceReading) -> dict[str, Any]:
    reading, ids = seen.reading, choice.tokens.ids
    vocab = vocabulary(ids)
    lane = ribbon(seen, choice)
    return {
        "unit": "token",
        "count": len(ids),
        "ids": list(ids),
        "vocab": vocab,
        "texts": dict(_split_texts(ids, vocab)),
        "events": _events(reading, choice.tokens.events),
        "blocks": _blocks(choice),
        "ribbons": [] if lane is None else [lane],
    }


def vocabulary(ids: Iterable[int]) -> dict[str, list[str | None]]:
    """Text, None for partial UTF-8, and bytes as hex of each distinct id; none for unknown ids."""
    found: dict[str, list[str | None]] = {}
    for token_id in dict.fromkeys(ids):
        if 0 <= token_id < VOCABULARY_SIZE:
            added = token_bytes(token_id)
            try:
                shown: str | None = added.decode()
            except UnicodeDecodeError:
                shown = None
            found[str(token_id)] = [shown, added.hex()]
    return found


def _split_texts(ids: Sequence[int], vocab: dict[str, list[str | None]]) -> Iterator[tuple[str, str]]:
    """Texts of tokens around split characters: the runs of ids whose bytes alone are no text."""
    partial = {int(token_id) for token_id, (shown, _) in vocab.items() if shown is None}
    if not partial:
        return
    places = [place for place, token_id in enumerate(ids) if token_id in partial]
    start = 0
    while start < len(places):
        end = start
        while end + 1 < len(places) and places[end + 1] == places[end] + 1:
            end += 1
        first, last = places[start], places[end] + 1
        for place, text in enumerate(texts(ids[first:last]), first):
            yield str(place), text
        start = end + 1


def _events(reading: Reading, events: Sequence[int]) -> dict[str, Any]:
    starts = [place for place in range(len(events)) if place == 0 or events[place] != events[place - 1]]
    index = [events[place] for place in starts]
    at = [reading.arrival_s(event) for event in index]
    timed = bool(at) and all(time is not None for time in at)
    return {"index": index, "start": starts, "at": at if timed else None}


def _blocks(choice: ChoiceReading) -> list[dict[str, Any]]:
    transcript = choice.transcript
    items: list[Message | Refusal] = [one for one in transcript.messages if one.start < one.end]
    items.extend(transcript.refusals)
    return [block(item, choice.tokens.ids) for item in sorted(items, key=lambda item: item.start)]


def block(item: Message | Refusal, ids: Sequence[int]) -> dict[str, Any]:
    """The block of a message or of a refused run; `culprit` is what the parser rejected in it."""
    if isinstance(item, Refusal):
        error = parser_error(item.words) if item.in_header else None
        blamed = None if error is None else culprit(ids, item.start, item.at, error)
        return {
            "kind": "refused",
            "start": item.start,
            "body": item.at,
            "end": item.end,
            "role": None,
            "channel": None,
            "recipient": None,
            "content_type": None,
            "complete": False,
            "reason": item.words,
            "state": str(item.state),
            "culprit": blamed or (None if item.in_header else (item.at, item.at + 1)),
        }
    return {
        "kind": "message",
        "start": item.start,
        "body": item.body,
        "end": item.end,
        "role": item.header.role,
        "channel": item.header.channel,
        "recipient": item.header.recipient,
        "content_type": item.header.content_type,
        "in_body": item.in_body,
        "complete": item.complete,
        "reason": "",
    }


def _piece_cells(reading: Reading, choice: ChoiceReading) -> dict[str, Any]:
    """Cells without ids: each field a block, its deltas and what the final text has between them."""
    cells: list[str] = []
    events: list[int] = []
    blocks: list[dict[str, Any]] = []
    runs: list[list[Any]] = []
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
        known = "ok" if choice.evidence is Evidence.FINAL_OBJECT else "unknown"
        for place in range(len(deltas) + 1):
            event = deltas[min(place, len(deltas) - 1)].event if deltas else -1
            pieces: list[tuple[str, str | None, str]] = [
                (text, None, "dropped") for text in lost.get(place, ())
            ]
            if place < len(deltas):
                pieces.append((deltas[place].text, field, known))
            for text, arrived_in, state in pieces:
                runs.append([len(cells), len(cells) + 1, arrived_in, state])
                cells.append(text)
                events.append(event)
        if len(cells) > start:
            blocks.append(
                {
                    "kind": "field",
                    "start": start,
                    "body": start,
                    "end": len(cells),
                    "role": None,
                    "channel": field,
                    "recipient": None,
                    "content_type": None,
                    "complete": True,
                    "reason": "",
                }
            )
    return {
        "unit": "piece",
        "count": len(cells),
        "ids": None,
        "vocab": None,
        "texts": {str(place): text for place, text in enumerate(cells)},
        "events": _events(reading, events),
        "blocks": blocks,
        "ribbons": [{"label": reading.server_label if reading.server_version else "delivered", "runs": runs}],
        "places": (cells, blocks, runs, events),
    }


def _lost_before(choice: ChoiceReading, field: str, pieces: list[str]) -> dict[int, list[str]]:
    final = choice.finals.get(field)
    if final is None or final == "".join(pieces):
        return {}
    gaps, _ = embed_or_align(final, pieces)
    lost: dict[int, list[str]] = {}
    for start, end, _, after in gaps:
        lost.setdefault(len(pieces) if after is None else after, []).append(final[start:end])
    return lost


def _cell_span(finding: Finding, shape: dict[str, Any]) -> dict[str, int | None]:
    """The cells of a finding that has no tokens."""
    cells, blocks, runs, events = shape["places"]
    block = next((one for one in blocks if one["channel"] == finding.field), None)
    if finding.kind is Kind.DROPPED and block is not None:
        for place in range(block["start"], block["end"]):
            around = finding.event_start is None or abs(events[place] - finding.event_start) <= 1
            if runs[place][3] == "dropped" and cells[place] == finding.generated and around:
                return {"cell_start": place, "cell_end": place + 1}
    if finding.event_start is None:
        return {"cell_start": None, "cell_end": None}
    end = finding.event_end or finding.event_start + 1
    inside = [place for place, event in enumerate(events) if finding.event_start <= event < end]
    if not inside:
        return {"cell_start": None, "cell_end": None}
    return {"cell_start": inside[0], "cell_end": inside[-1] + 1}
