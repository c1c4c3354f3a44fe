"""All captures that can be opened, in one table: built-in ones, runs and uploads."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import streamlit as st

from inspector import Level
from inspector.capture.formats import number, plural
from pages.ui import captures
from pages.ui.rows import rows
from pages.ui.state import Session

_LISTED: Final = 200
_WORDS: Final = {
    Level.ERROR: "with errors",
    Level.WARNING: "with warnings",
    Level.UNKNOWN: "without a verdict",
    Level.CLEAN: "clean",
}


def overview(session: Session) -> None:
    """The button that opens the table."""
    if st.button("All captures", icon=":material/table_rows:", key="replay_overview", width="content"):
        _table(session)


@st.dialog("All captures", width="large")
def _table(session: Session) -> None:
    words = st.text_input(
        "Filter", placeholder="name, verdict, version, endpoint or words", key="replay_overview_filter"
    )
    names = captures.names(session)
    with st.spinner("Reading captures"):
        listed = [_row(session, name) for name in names[:_LISTED]]
    matches = [row for row in listed if matching(row, words)]
    if len(names) > _LISTED:
        st.caption(f"The first {_LISTED} of {len(names):,} captures.")
    if not matches:
        st.info("No capture matches this filter.")
        return
    own = [row for row in matches if row["from"] == "your file"]
    st.markdown(f"**Yours: {totals(own)}**" if own else f"**{totals(matches)}**")
    opened = rows(
        matches,
        label="All captures with their verdicts",
        opens="capture",
        sortable=True,
        key="replay_overview_rows",
    )
    if opened is not None:
        session.choose(matches[opened]["capture"])
        st.rerun()


def totals(rows: Sequence[Mapping[str, Any]]) -> str:
    """The number of captures per verdict, in one line, the worst first."""
    levels = {level: sum(row["verdict"] == _verdict(level) for row in rows) for level in _WORDS}
    counts = ", ".join(f"{number(count)} {_WORDS[level]}" for level, count in levels.items() if count)
    return f"{number(len(rows))} {plural(len(rows), 'capture')}: {counts}."


def _verdict(level: Level) -> str:
    return f"{captures.SIGNS[level]} {level}"


def matching(row: dict[str, Any], words: str) -> bool:
    """Whether every word is somewhere in the row."""
    text = " ".join(str(value) for value in row.values()).lower()
    return all(word in text for word in words.lower().split())


def _row(session: Session, name: str) -> dict[str, Any]:
    summary = captures.summary(session, name)
    return {
        "verdict": _verdict(Level(summary["level"])),
        "capture": name,
        "from": summary["origin"],
        "version": summary["version"],
        "endpoint": summary["endpoint"],
        "tokens": summary["tokens"],
        "findings": summary["findings"],
        "shows": summary["shows"],
    }
