"""The failures of a text, a log or a capture: as a list, as a table with their lines, and over time."""

from typing import Final

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from inspector import Diagnosis
from inspector.capture.formats import clip
from inspector.issues import Failure
from pages.ui import pickers
from pages.ui.palette import series

_LISTED: Final = 12
_OCCURRENCES: Final = 3
_MESSAGES_PLOTTED: Final = 5
_FEW_TIMES: Final = 3
"""Up to this many minutes, bars are drawn narrow: a bar as wide as the plot looks like an area."""
_REST: Final = "others"


def findings(diagnosis: Diagnosis) -> None:
    """The failures of a text or the findings of a capture, with the known issue of each."""
    if diagnosis.is_log or not diagnosis.failures:
        return
    st.markdown("**Findings**")
    for failure in diagnosis.failures[:_LISTED]:
        where = "" if failure.first_line is None else f"line {failure.first_line:,}, "
        leads = f"known issue: {failure.answers[0].issue.id}" if failure.answers else "unknown"
        st.markdown(pickers.plain(failure.message))
        st.caption(pickers.plain(f"{where}{leads}"))
    if len(diagnosis.failures) > _LISTED:
        st.caption(f"The download contains {len(diagnosis.failures) - _LISTED:,} more.")


def by_message(diagnosis: Diagnosis) -> None:
    """The failures of a log by message; the chosen one shows the lines around its first occurrences."""
    if not diagnosis.is_log or not diagnosis.failures:
        return
    st.markdown("**Failures by message**")
    chosen = st.dataframe(
        pd.DataFrame([_failure_row(failure) for failure in diagnosis.failures]),
        hide_index=True,
        on_select="rerun",
        selection_mode="single-row",
        key="diagnose_failures",
        column_config={
            "times": st.column_config.NumberColumn(format="localized", width=60),
            "share": st.column_config.NumberColumn("of requests", format="percent", width=90),
            "message": st.column_config.TextColumn(width=560),
            "known issue": st.column_config.TextColumn(width=230),
        },
        alt="Failures by message, with the known issue of each",
    )
    rows = chosen["selection"]["rows"]
    if rows and rows[0] < len(diagnosis.failures):
        _lines(diagnosis.failures[rows[0]], _OCCURRENCES)
    elif diagnosis.failures[0].around:
        st.caption("Select a row to see the lines around another message.")
        _lines(diagnosis.failures[0], 1)


def other_parsers(diagnosis: Diagnosis) -> None:
    """The results of strict and lenient parsing for rejected tokens."""
    if diagnosis.parser_results:
        st.markdown("**Results of other parsers for the same tokens**")
        st.markdown("\n".join(f"- {pickers.plain(parsed.sentence)}" for parsed in diagnosis.parser_results))


def _failure_row(failure: Failure) -> dict[str, object]:
    return {
        "times": failure.count,
        "share": failure.share,
        "message": failure.message,
        "known issue": failure.answers[0].issue.id if failure.answers else "unknown",
    }


def _lines(failure: Failure, at_most: int) -> None:
    for number, lines in enumerate(failure.around[:at_most], 1):
        caption = pickers.plain(f"Lines around “{failure.message}”, occurrence {number} of {failure.count:,}")
        st.caption(caption)
        st.code("\n".join(lines), language=None, wrap_lines=True)


def over_time(diagnosis: Diagnosis) -> None:
    """Failures and requests of a log by time: a plot, and the same as a table."""
    if not diagnosis.is_log or not diagnosis.failures:
        return
    st.markdown("**Over time**")
    rows = pd.DataFrame([count._asdict() for count in diagnosis.timeline])
    theme = "dark" if st.context.theme.type == "dark" else "light"
    st.plotly_chart(_plot(rows, diagnosis, theme), key="diagnose_plot", alt="Failures by time and message")
    with st.expander("As a table"):
        st.dataframe(rows, hide_index=True, key="diagnose_counts", alt="Failures and requests by time")


def _plot(rows: pd.DataFrame, diagnosis: Diagnosis, theme: str) -> go.Figure:
    figure = go.Figure()
    named = [failure.message for failure in diagnosis.failures[:_MESSAGES_PLOTTED]]
    wrong = rows[rows["name"] != "requests"]
    plotted = wrong.assign(name=wrong["name"].where(wrong["name"].isin(named), _REST))
    sums = plotted.groupby(["name", "time"], as_index=False)["times"].sum()
    for hue, name in zip(series(theme), [*named, _REST], strict=False):
        of_message = sums[sums["name"] == name]
        if not of_message.empty:
            label = clip(name, 48)
            figure.add_bar(x=of_message["time"], y=of_message["times"], name=_safe(label), marker_color=hue)
    request_counts = rows[rows["name"] == "requests"].groupby("time", as_index=False)["times"].sum()
    if not request_counts.empty:
        figure.add_scatter(
            x=request_counts["time"],
            y=request_counts["times"],
            name="requests",
            mode="lines+markers",
            line_dash="dot",
        )
    if plotted["time"].nunique() <= _FEW_TIMES:
        figure.update_traces(width=0.3, selector={"type": "bar"})
    figure.update_xaxes(type="category", categoryorder="category ascending", title_text="time in the log")
    figure.update_yaxes(title_text="times", rangemode="tozero")
    figure.update_layout(
        barmode="stack",
        height=340,
        margin={"l": 8, "r": 8, "t": 24, "b": 8},
        legend={"orientation": "h", "y": -0.3, "x": 0},
    )
    return figure


def _safe(text: str) -> str:
    """Text escaped for a legend, where Plotly interprets some HTML."""
    return text.replace("&", "&amp;").replace("<", "&lt;")
