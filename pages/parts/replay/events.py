"""The raw events of a capture, page by page, with one of them open."""

import json
import shlex
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import islice, takewhile
from typing import Final

import streamlit as st

from inspector import Header, Inspection
from inspector.analysis.reading import ChoiceReading
from inspector.protocol.wire.endpoints import spec_of
from inspector.views.rows import event_rows
from pages.ui.rows import rows
from pages.ui.state import Selection, Session
from pages.ui.strip import Payload, RawEvent

_PER_PAGE: Final = 25
_SHOWN_AT_MOST: Final = 60_000
"""Characters of one event or request that are drawn."""


def events(session: Session, inspection: Inspection, choice: int, payload: Payload) -> None:
    """Draw the events around the chosen token or finding; choosing a row moves the strip to it."""
    total = len(inspection.reading.events)
    if not total:
        st.info("This capture contains no events.")
        return
    choice_reading = inspection.reading.choices[choice]
    chosen = opened_event(session, inspection, choice, payload)
    start = _page(session, total, chosen)
    table = [
        {
            "event": row["event"],
            "time, ms": None if row["arrival_s"] is None else round(row["arrival_s"] * 1000, 1),
            "tokens": _span(choice_reading.tokens.events, row["event"]) if choice_reading.has_ids else None,
            "kind": row["name"] or row["kind"],
            "delivered text, or data": _delivered(choice_reading, row["event"]) or row["data"][:200],
        }
        for row in event_rows(inspection.reading, start, start + _PER_PAGE)
    ]
    picked_event, picked_with = session.event or (None, None)
    number = (picked_event if picked_with == session.selection else chosen) or 0
    left, right = st.columns([4, 3], gap="small")
    with left:
        opened = rows(
            table,
            label="Raw events of the capture",
            opens="event",
            current=number - start if start <= number < start + len(table) else None,
            key=f"replay_events_{session.capture}_{start}",
        )
    if opened is not None:
        if (cell := payload.cell_of(start + opened)) is not None:
            session.navigate(Selection(cell))
        session.event = start + opened, session.selection
        st.rerun()
    with right:
        _open(inspection, number)


def _span(events_of: Sequence[int], event: int) -> int:
    """How many tokens an event brought; tokens stand in the order of their events."""
    return bisect_right(events_of, event) - bisect_left(events_of, event)


def _delivered(choice: ChoiceReading, event: int) -> str:
    """What an event delivered, field by field."""
    first = bisect_left(choice.deltas, event, key=lambda delta: delta.event)
    of_event = takewhile(lambda delta: delta.event == event, islice(choice.deltas, first, None))
    return " ".join(f"{delta.field}: {delta.text[:200]}" for delta in of_event)


def opened_event(session: Session, inspection: Inspection, choice: int, payload: Payload) -> int | None:
    """The event of the chosen cell, or of the chosen finding where no cell is chosen."""
    selection = session.selection
    if (
        selection.token is not None
        or selection.finding is None
        or selection.finding >= len(payload.finding_cells)
    ):
        return payload.event_of(selection.token)
    if (cell := payload.finding_cells[selection.finding]) is not None:
        return payload.event_of(cell)
    index = inspection.reading.choices[choice].index
    finding = [candidate for candidate in inspection.findings if candidate.choice == index][selection.finding]
    return (
        None if finding.event_start is None else min(finding.event_start, len(inspection.reading.events) - 1)
    )


def raw(inspection: Inspection, event: int | None) -> RawEvent:
    """An event as the strip shows it."""
    return RawEvent(event=event, text="" if event is None else inspection.reading.events[event].data)


def request(inspection: Inspection) -> None:
    """Draw what is known of the request, and its body."""
    header = inspection.reading.header
    facts = {
        "endpoint": str(header.endpoint),
        "model": header.model or header.request.get("model"),
        inspection.reading.engine.label: inspection.reading.server_version,
        "HTTP status": header.status,
        "started": header.started_at,
        "recorded by": header.source,
    }
    rows = [{"key": name, "value": str(value)} for name, value in facts.items() if value not in (None, "")]
    st.dataframe(
        rows,
        hide_index=True,
        width="stretch",
        alt="Request metadata",
    )
    if header.request:
        with st.expander("Request as curl", icon=":material/terminal:"):
            st.code(_bounded(as_curl(header)), language="bash", wrap_lines=True)
        st.code(
            _bounded(json.dumps(header.request, indent=2, ensure_ascii=False)),
            language="json",
            wrap_lines=True,
        )
    else:
        st.info("This capture does not contain the request body.")


def as_curl(header: Header) -> str:
    """The request as a command for a shell; the address and the key are not in a capture."""
    body = json.dumps(header.request, indent=2, ensure_ascii=False)
    return (
        f'curl -N "$BASE_URL{spec_of(header.endpoint).path}" \\\n'
        "  -H 'Content-Type: application/json' -H \"Authorization: Bearer $API_KEY\" \\\n"
        f"  -d {shlex.quote(body)}"
    )


def _page(session: Session, total: int, chosen: int | None) -> int:
    """First event of the page shown: the page of the chosen event, until the user turns to another."""
    pages = -(-total // _PER_PAGE)
    if pages == 1:
        return 0
    current_page = 1 if chosen is None else chosen // _PER_PAGE + 1
    return (
        st.pagination(pages, default=current_page, key=f"replay_events_page_{session.capture}_{chosen}") - 1
    ) * _PER_PAGE


def _open(inspection: Inspection, event: int) -> None:
    (row,) = event_rows(inspection.reading, event, event + 1)
    try:
        text = json.dumps(json.loads(row["data"]), indent=2, ensure_ascii=False)
        language: str | None = "json"
    except (ValueError, RecursionError):
        text, language = row["data"], None
    st.text(f"event {event}")
    st.code(_bounded(text), language=language, wrap_lines=True, height=500)


def _bounded(text: str) -> str:
    if len(text) <= _SHOWN_AT_MOST:
        return text
    return (
        text[:_SHOWN_AT_MOST]
        + f"\n… {len(text) - _SHOWN_AT_MOST:,} more characters: download the capture to see them"
    )
