"""The raw events of a capture, a page of them at a time, and one of them open."""

import json
import shlex
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import islice, takewhile
from typing import Final

import streamlit as st

from inspector import Header, Inspection, dashboard
from inspector.dashboard import ChoiceReading, event_rows
from pages.ui.state import Place, Session
from pages.ui.strip import Payload, RawEvent
from pages.ui.tables import table_height

_PER_PAGE: Final = 25
_SHOWN_AT_MOST: Final = 60_000
"""Characters of one event or request that are drawn."""


def events(session: Session, seen: Inspection, choice: int, payload: Payload) -> None:
    """Draw the events around the chosen token or finding; choosing a row moves the strip to it."""
    total = len(seen.reading.events)
    if not total:
        st.info("This capture contains no events.")
        return
    one = seen.reading.choices[choice]
    chosen = opened_event(session, seen, choice, payload)
    start = _page(session, total, chosen)
    import pandas as pd  # noqa: PLC0415 -- a third of the first page's time, and only this tab needs it

    frame = pd.DataFrame(
        [
            {
                "": "▸" if row["event"] == chosen else "",
                "event": row["event"],
                "time, ms": None if row["arrival_s"] is None else row["arrival_s"] * 1000,
                "tokens": _span(one.tokens.events, row["event"]),
                "kind": row["name"] or row["kind"],
                "delivered text, or data": _delivered(one, row["event"]) or row["data"][:200],
            }
            for row in event_rows(seen.reading, start, start + _PER_PAGE)
        ]
    )
    left, right = st.columns([4, 3], gap="small")
    with left:
        picked = st.dataframe(
            frame,
            hide_index=True,
            height=table_height(len(frame)),
            on_select="rerun",
            selection_mode="single-row",
            key=f"replay_events_{session.capture}_{start}",
            column_config={
                "": st.column_config.TextColumn("▸", width=28),
                "event": st.column_config.NumberColumn(format="localized", width=64),
                "time, ms": st.column_config.NumberColumn(format="%.1f", width=72),
                "tokens": st.column_config.NumberColumn(format="localized", width=60),
                "kind": st.column_config.TextColumn(width=90),
            },
            alt="Raw events of the capture",
        )
    shown = chosen or 0
    if picked.selection.rows:
        shown = start + picked.selection.rows[0]
        if shown != session.event:
            session.event = shown
            if (cell := payload.cell_of(shown)) is not None:
                session.point(Place(cell))
                st.rerun()
    with right:
        _open(seen, shown)


def _span(events_of: Sequence[int], event: int) -> int:
    """How many tokens an event brought; tokens stand in the order of their events."""
    return bisect_right(events_of, event) - bisect_left(events_of, event)


def _delivered(one: ChoiceReading, event: int) -> str:
    """What an event delivered, field by field."""
    first = bisect_left(one.deltas, event, key=lambda delta: delta.event)
    mine = takewhile(lambda delta: delta.event == event, islice(one.deltas, first, None))
    return " ".join(f"{delta.field}: {delta.text[:200]}" for delta in mine)


def opened_event(session: Session, seen: Inspection, choice: int, payload: Payload) -> int | None:
    """The event of the chosen cell, or of the chosen finding where no cell is chosen."""
    place = session.place
    if place.token is not None or place.finding is None or place.finding >= len(payload.found):
        return payload.event_of(place.token)
    if (cell := payload.found[place.finding]) is not None:
        return payload.event_of(cell)
    index = seen.reading.choices[choice].index
    finding = [one for one in seen.findings if one.choice == index][place.finding]
    return None if finding.event_start is None else min(finding.event_start, len(seen.reading.events) - 1)


def raw(seen: Inspection, event: int | None) -> RawEvent:
    """An event as the strip shows it."""
    return RawEvent(event=event, text="" if event is None else seen.reading.events[event].data)


def request(seen: Inspection) -> None:
    """Draw what is known of the request, and its body."""
    header = seen.reading.header
    known = {
        "endpoint": str(header.endpoint),
        "model": header.model or header.request.get("model"),
        seen.reading.engine.label: seen.reading.server_version,
        "HTTP status": header.status,
        "started": header.started_at,
        "recorded by": header.source,
    }
    rows = [{"key": name, "value": str(value)} for name, value in known.items() if value not in (None, "")]
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
        f'curl -N "$BASE_URL{dashboard.spec_of(header.endpoint).path}" \\\n'
        "  -H 'Content-Type: application/json' -H \"Authorization: Bearer $API_KEY\" \\\n"
        f"  -d {shlex.quote(body)}"
    )


def _page(session: Session, total: int, chosen: int | None) -> int:
    """First event of the page shown: the page of the chosen event, until the user turns to another."""
    pages = -(-total // _PER_PAGE)
    if pages == 1:
        return 0
    here = 1 if chosen is None else chosen // _PER_PAGE + 1
    return (
        st.pagination(pages, default=here, key=f"replay_events_page_{session.capture}_{chosen}") - 1
    ) * _PER_PAGE


def _open(seen: Inspection, event: int) -> None:
    (row,) = event_rows(seen.reading, event, event + 1)
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
