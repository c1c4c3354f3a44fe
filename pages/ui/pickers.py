"""Choosing a capture from a list, and names of files as Markdown."""

import re
from collections.abc import Sequence
from typing import Any

import streamlit as st

from inspector import Inspection
from pages.ui import captures
from pages.ui.state import Selection, Session, went_back

_ADDRESS = re.compile(r"((?:https?://|www\.)[^\s`]*[^\s`.,;:!?'\")\]])", re.IGNORECASE)
_MARKDOWN = set("\\`*_{}[]()<>#+-.!|~$:&=^/@\"'")


def plain(text: str) -> str:
    """Text escaped for Markdown, so that file names and quotes are shown verbatim."""
    parts = _ADDRESS.split(" ".join(text.split()))
    # Addresses become links however they are escaped, except as code.
    return "".join(f"`{part}`" if place % 2 else _escaped(part) for place, part in enumerate(parts))


def _escaped(text: str) -> str:
    return "".join("\\" + char if char in _MARKDOWN else char for char in text)


def compare_with(session: Session, name: str) -> None:
    """Offer a second capture, and open both on the Compare page, this one on the left."""
    with st.popover("Compare", icon=":material/compare_arrows:", width="content"):
        right = select(
            session,
            "Right side",
            [candidate for candidate in captures.names(session) if candidate != name],
            width=480,
            key=f"replay_compare_{name}",
        )
    if right is not None:
        compare(name, right)


def compare(left: str, right: str) -> None:
    """Open the Compare page with two captures."""
    st.switch_page("compare.py", query_params={"left": left, "right": right})


def select(
    session: Session, label: str, names: Sequence[str], *, index: int | None = None, key: str, **options: Any
) -> str | None:
    """A list of captures, found by any part of the title, the name or what it shows; the one chosen."""
    return st.selectbox(
        label,
        names,
        index=index,
        key=key,
        format_func=captures.labels(session),
        filter_mode="contains",  # the default also matches letters that are scattered over the line
        placeholder="Select a capture",
        **options,
    )


def capture(session: Session) -> str | None:
    """The list of captures; the name of the one chosen."""
    available = captures.names(session)
    if session.capture is None or went_back():
        follow_link(session, available)
    if not available:
        return session.capture
    picked = select(
        session,
        "Capture",
        available,
        index=available.index(session.capture) if session.capture in available else None,
        label_visibility="collapsed",
        key=f"replay_capture_{session.capture}",
    )
    if picked is not None and picked != session.capture:
        session.choose(picked)
        st.rerun()
    return session.capture


def follow_link(session: Session, available: Sequence[str]) -> None:
    """Show the capture and the selection that the address names; without one, the default capture."""
    linked = st.query_params.get("capture")
    if linked is not None:
        session.choose(linked, session.choice if linked == session.capture else 0)
        token, to = (_number(st.query_params.get(name)) for name in ("token", "to"))
        view = "client" if st.query_params.get("view") == "client" else None
        session.navigate(Selection(token, to=to, view=view))
    elif session.capture is None and (first := captures.opening(available)) is not None:
        session.choose(first)


def choice(session: Session, inspection: Inspection) -> int:
    """Which completion to show, if the request asked for several."""
    count = len(inspection.reading.choices)
    session.choice = min(session.choice, count - 1)
    if count > 1:
        picked = st.segmented_control(
            "Choice",
            range(count),
            default=session.choice,
            format_func=lambda place: f"choice {inspection.reading.choices[place].index}",
            key=f"replay_choice_{session.capture}",
            label_visibility="collapsed",
        )
        if picked is not None and picked != session.choice and session.capture is not None:
            session.choose(session.capture, picked)
    return session.choice


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 10 else None
