"""The token strip: tokens over their delivery ribbons, a time bar, findings, the selected token.

A component of Streamlit's v2 kind. It gets bytes: one line of JSON that says what to select, then the
payload of `views.strip`, which the browser reads once however often the page runs again. The payload is a
line that names its long columns, a line of JSON without them, and the columns as binary numbers, which a
browser reads faster than JSON.
Text of a model reaches the page through `textContent` only.
"""

import sys
from array import array
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import streamlit as st

from inspector.views.encoding import json_bytes
from inspector.views.payload import Head as StripHead
from inspector.views.payload import Payload as StripPayload
from pages.ui.assets import inline, sheet
from pages.ui.modules import loader
from pages.ui.state import Selection, StripView

__all__ = ["Payload", "RawEvent", "pack", "raw_events", "strip", "styles"]

_RAW_AT_MOST: Final = 20_000
"""Characters of a raw event that the strip receives."""

_SHEETS: Final = (
    *("draw/strip", "pipeline/pipeline", "draw/time", "draw/tokens", "draw/ribbons"),
    *("panels/panels", "panels/find", "draw/display-options", "draw/narrow"),
)
"""In this order: a later sheet overrides an earlier one."""


def styles() -> str:
    """The style sheet of the strip."""
    return sheet(*(f"strip/{name}.css" for name in _SHEETS))


_raw = st.components.v2.component(
    "inspector_raw", html="<div></div>", js=loader("ui/strip/panels/raw-events.js")
)

_component = st.components.v2.component(
    "inspector_strip",
    html=inline("strip/strip.html"),
    css=styles(),
    js=loader("ui/strip/component.js"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """A strip payload ready to send."""

    key: str
    """Identity of the capture; another key resets the view."""
    digest: str
    """Identity of the content: the browser reads a payload again when it changes."""
    content: bytes
    cells: int
    starts: "array[int]"
    """First cell of each event that brought cells, ascending."""
    events: "array[int]"
    """Those events by number; -1 for one that is not known."""
    finding_cells: Sequence[int | None]
    """First cell of each finding; None for one that has no cells."""

    def event_of(self, cell: int | None) -> int | None:
        """The event that brought a cell; None where it is not known."""
        place = -1 if cell is None else bisect_right(self.starts, cell) - 1
        return self.events[place] if place >= 0 and self.events[place] >= 0 else None

    def cell_of(self, event: int) -> int | None:
        """The first cell that an event brought; None when it brought none."""
        return self.starts[self.events.index(event)] if event in self.events else None


def pack(payload: StripPayload, *, digest: str) -> Payload:
    """A payload as bytes; lone surrogates stay JSON escapes."""
    events = payload["events"]
    columns = {
        "ids": _column("i", payload.get("ids")),
        "index": _column("i", events["index"]),
        "start": _column("i", events["start"]),
        "at": _column("d", events["at"]),
    }
    packed = {name: column for name, column in columns.items() if column is not None}
    bare = {**payload, "events": {name: [] if name in packed else value for name, value in events.items()}}
    if "ids" in packed:
        bare["ids"] = []
    lines = [{name: [column.typecode, len(column)] for name, column in packed.items()}, bare]
    return Payload(
        key=payload["key"],
        digest=digest,
        cells=payload["count"],
        content=b"".join(
            [
                *(json_bytes(line) + b"\n" for line in lines),
                *(column.tobytes() for column in packed.values()),
            ]
        ),
        starts=array("i", events["start"]),
        events=array("i", events["index"]),
        finding_cells=[finding.get("cell_start", finding["token_start"]) for finding in payload["findings"]],
    )


def _column(code: Literal["i", "d"], values: Sequence[float | None] | None) -> "array[Any] | None":
    """Numbers in little-endian form; None if there are none, or if one does not fit."""
    if not values:
        return None
    try:
        column: array[Any] = array(code, values)
    except (OverflowError, TypeError):  # a server may send any number as a token ID; a cell may have none
        return None
    if sys.byteorder == "big":
        column.byteswap()
    return column


def strip(
    payload: Payload, view: StripView, *, key: str, feed: str | None = None, live: bool = False
) -> None:
    """Draw the strip, move it to the target of the view, and take over what the user selects.

    `feed` is the address of a run's increments relative to the page, see `net.runs.feed`; the
    strip grows by them. On the page of `live` runs token IDs and headers are shown at first.
    """
    target = view.target
    head: StripHead = {
        "digest": payload.digest,
        "nonce": view.navigations,
        "token": target.token,
        "finding": target.finding,
        "to": target.to,
        "view": target.view,
        "feed": feed,
        "live": live,
    }
    result = _component(
        key=key,
        data=json_bytes(head) + b"\n" + payload.content,
        on_selection_change=lambda: None,
    )
    selected = result.get("selection")
    if isinstance(selected, Mapping) and selected.get("key") == payload.key:
        token, finding, to = (_number(selected.get(name)) for name in ("token", "finding", "to"))
        shown_as = "client" if selected.get("view") == "client" else None
        view.select(Selection(token, finding, to, shown_as), _number(selected.get("at")) or 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RawEvent:
    """An event as it was received."""

    event: int | None
    """Its number; None when there is none."""
    text: str
    side: str = ""
    """`left` or `right` in a comparison."""


def raw_events(payload: Payload, cell: int | None, events: Sequence[RawEvent], *, key: str) -> None:
    """Send the raw events of the selected cell, which the strip shows below the tokens."""
    rows = [
        {"side": event.side, "event": event.event, "text": text, "more": len(event.text) - len(text)}
        for event in events
        for text in (event.text[:_RAW_AT_MOST],)
    ]
    # In a list: Streamlit looks for data frames in an object, and imports pandas for that.
    _raw(key=key, data=[{"key": payload.key, "cell": cell, "events": rows}])


def _number(value: object) -> int | None:
    """A cell number sent by the browser; None for anything else."""
    return value if type(value) is int and value >= 0 else None
