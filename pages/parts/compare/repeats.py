"""Repeated runs of both sides: how many have errors, and whether the difference is significant."""

from typing import Final

import pandas as pd
import streamlit as st

from inspector import Inspection, Level, dashboard
from inspector.dashboard import Repeats
from pages.ui import captures
from pages.ui.banner import sentence_banner
from pages.ui.state import Session

RUNS: Final = {
    "run": st.column_config.NumberColumn(width=50),
    "side": st.column_config.TextColumn(width=60),
    "result": st.column_config.TextColumn(width=80),
    "errors": st.column_config.NumberColumn(width=60),
    "says": st.column_config.TextColumn(width=520),
}
"""Widths of the columns of `dashboard.run_rows`."""


def repeats(session: Session) -> None:
    """Repeated runs: how many of each side have errors, and whether the difference is significant."""
    known = captures.names(session)
    groups: list[list[Inspection]] = []
    for column, side in zip(st.columns(2), ("Left", "Right"), strict=True):
        names = column.multiselect(
            f"{side} runs", known, format_func=captures.title, key=f"compare_repeats_{side.lower()}"
        )
        found = [captures.chosen(session, name) for name in names]
        groups.append([one.seen for one in found if one is not None])
    left, right = groups
    if not left or not right:
        st.info(
            "Select the runs of each side: captures of the same request, sent several times to the left and "
            "the right server. **Ask two servers** at the top can record them.",
            icon=":material/science:",
        )
        return
    rates(dashboard.significance(left, right), key="compare_repeats")
    st.dataframe(
        pd.DataFrame(dashboard.run_rows(left, right)), hide_index=True, width="stretch", column_config=RUNS
    )


def rates(found: Repeats, *, key: str) -> None:
    """The rates of both sides in a sentence, with the test by name."""
    level = Level.WARNING if found.left_failed or found.right_failed else Level.CLEAN
    if found.more_than_chance is None:
        level = Level.UNKNOWN
    elif found.more_than_chance:
        level = Level.ERROR
    unknown = found.left_unknown + found.right_unknown
    told = [
        ("left", f"{found.left_failed} of {found.left_runs}", "with errors"),
        ("right", f"{found.right_failed} of {found.right_runs}", "with errors"),
    ]
    if found.p_value is not None:
        told.append(("p", f"{found.p_value:.2g}", found.test))
    if unknown:
        told.append(("", f"{unknown}", "without evidence, not counted"))
    why = "A run fails if it has at least one error finding. A difference is significant if p is below 0.05."
    sentence_banner(level, found.sentence, why, told, key=key)
