"""Repeated runs of both sides: how many have errors, and whether the difference is significant."""

from typing import Final

import pandas as pd
import streamlit as st

from inspector import Inspection, Level
from inspector.inspection.compare import Repeats, significance
from inspector.views.comparison_rows import run_rows
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
"""Widths of the columns of `views.comparison_rows.run_rows`."""


def repeats(session: Session) -> None:
    """Repeated runs: how many of each side have errors, and whether the difference is significant."""
    available = captures.names(session)
    groups: list[list[Inspection]] = []
    for column, side in zip(st.columns(2), ("Left", "Right"), strict=True):
        names = column.multiselect(
            f"{side} runs",
            available,
            format_func=captures.labels(session),
            filter_mode="contains",
            key=f"compare_repeats_{side.lower()}",
        )
        runs = [captures.chosen(session, name) for name in names]
        groups.append([run.inspection for run in runs if run is not None])
    left, right = groups
    if not left or not right:
        st.info(
            "Select the runs of each side: captures of the same request, sent several times to the left and "
            "the right server. **Ask two servers** at the top can record them.",
            icon=":material/science:",
        )
        return
    rates(significance(left, right), key="compare_repeats")
    st.dataframe(pd.DataFrame(run_rows(left, right)), hide_index=True, width="stretch", column_config=RUNS)


def rates(repeats: Repeats, *, key: str) -> None:
    """The rates of both sides in a sentence, with the test by name."""
    level = Level.WARNING if repeats.left_failed or repeats.right_failed else Level.CLEAN
    if repeats.more_than_chance is None:
        level = Level.UNKNOWN
    elif repeats.more_than_chance:
        level = Level.ERROR
    unknown = repeats.left_unknown + repeats.right_unknown
    chips = [
        ("left", f"{repeats.left_failed} of {repeats.left_runs}", "with errors"),
        ("right", f"{repeats.right_failed} of {repeats.right_runs}", "with errors"),
    ]
    if repeats.p_value is not None:
        chips.append(("p", f"{repeats.p_value:.2g}", repeats.test))
    if unknown:
        chips.append(("", f"{unknown}", "without evidence, not counted"))
    why = "A run fails if it has at least one error finding. A difference is significant if p is below 0.05."
    sentence_banner(level, repeats.sentence, why, chips, key=key)
