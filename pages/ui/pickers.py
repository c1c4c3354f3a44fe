"""Choosing a capture from a list, and names of files as Markdown."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import streamlit as st

from inspector import Level
from pages.ui import captures
from pages.ui.state import Selection, Session, went_back

_TABS_AT_MOST: Final = 10
_WORST_FIRST: Final = (Level.ERROR, Level.WARNING, Level.UNKNOWN, Level.CLEAN)
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
        session.choose(linked, _number(st.query_params.get("choice")))
        token, to = (_number(st.query_params.get(name)) for name in ("token", "to"))
        view = "client" if st.query_params.get("view") == "client" else None
        session.navigate(Selection(token, to=to, view=view))
    elif session.capture is None and (first := captures.opening(available)) is not None:
        session.choose(first)


def choice(session: Session, capture: captures.Chosen) -> int:
    """Which completion to show: of several the first damaged one, until one is chosen."""
    choices = capture.inspection.reading.choices
    if len(choices) == 1:
        return 0
    levels = captures.levels(capture.digest, capture.inspection)
    worst = min(range(len(choices)), key=lambda place: _WORST_FIRST.index(levels[place]))
    shown = worst if session.choice is None else min(session.choice, len(choices) - 1)
    found = Counter(finding.choice for finding in capture.inspection.findings)

    def label(place: int) -> str:
        index = choices[place].index
        amount = f" · {found[index]}" if found[index] else ""
        return f"{captures.SIGNS[levels[place]]} choice {index}{amount}"

    key = f"replay_choice_{capture.name}_{shown}"
    if len(choices) <= _TABS_AT_MOST:
        picked = st.segmented_control(
            "Choice",
            range(len(choices)),
            default=shown,
            format_func=label,
            key=key,
            label_visibility="collapsed",
        )
    else:
        places = sorted(range(len(choices)), key=lambda place: _WORST_FIRST.index(levels[place]))
        picked = st.selectbox(
            "Choice",
            places,
            index=places.index(shown),
            format_func=label,
            key=key,
            label_visibility="collapsed",
            width=240,
        )
    if picked is not None and picked != shown:
        session.choose(capture.name, picked)
        st.rerun()
    return shown


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 10 else None
