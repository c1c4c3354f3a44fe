"""The captures of a filter: groups with their plot, kinds, causes, and the captures themselves."""

from collections.abc import Sequence
from typing import Any, Final

import pandas as pd
import streamlit as st

from inspector import InspectorError, dashboard
from inspector.dashboard import Library, LibraryGroup, LibrarySummary, LibraryTally
from pages.parts.library import plots
from pages.parts.library.choosing import CLICKS, LibraryQuery, clear, only
from pages.ui.captures import take
from pages.ui.errors import show_error
from pages.ui.pickers import plain
from pages.ui.state import Opened, Session
from pages.ui.tables import counts, selected_row, table_height

_ROWS: Final = 200
_FINDINGS: Final = 20
_HEIGHT: Final = 300
_UNKNOWN: Final = "–"
_LEVELS: Final = {
    "error": "✕ error",
    "warning": "! warning",
    "clean": "✓ clean",
    "unknown": "? unknown",
    "unread": "– unread",
}
"""Readable without colour, with the signs of the list of captures."""


def groups(library: Library, query: LibraryQuery, rows: Sequence[LibraryGroup]) -> None:
    """A row and a bar for each group; a click on one adds it to the filter."""
    if not rows:
        return
    left, right = st.columns([1, 1], gap="medium")
    with left:
        st.header(f"By {dashboard.column_words(query.by)}", anchor=False)
        table = pd.DataFrame(dashboard.group_cells(query.by, rows))
        _narrowing(
            library,
            query,
            table,
            query.by,
            [group.value for group in rows],
            key=_key("library_groups", query[:3]),
            alt="Captures of each group by verdict",
        )
    with right:
        plotted = [group for group in rows if group.counts.captures]
        if not plotted:
            return
        figure = plots.verdicts(query.by, plotted, "dark" if st.context.theme.type == "dark" else "light")
        key = _key("library_plot", query[:3])

        def pick() -> None:
            if points := st.session_state[key]["selection"]["points"]:
                only(library, query.words, query.by, plotted[points[0]["point_index"]].value)

        st.plotly_chart(
            figure,
            key=key,
            config={"displayModeBar": False},
            on_select=pick,
            selection_mode="points",
            alt=f"Share of verdicts by {dashboard.column_words(query.by)}",
        )
        if len(rows) > (drawn := len(figure.data[0].x)):
            st.caption(f"The first {drawn} of {len(rows):,} groups, in the order of the table.")


def kinds_and_causes(library: Library, query: LibraryQuery, summary: LibrarySummary) -> None:
    """The kinds of findings, and the known issues that explain them; a click adds one to the filter."""
    if not summary.kinds:
        return
    left, right = st.columns([1, 1], gap="medium")
    with left:
        st.header("Findings", anchor=False)
        table = pd.DataFrame(
            {
                "kind": dashboard.kind_label(tally.value),
                "captures": tally.captures,
                "findings": tally.findings,
                "versions": dashboard.version_words(tally),
            }
            for tally in summary.kinds
        )
        _narrowing(
            library,
            query,
            table,
            "kind",
            [tally.value for tally in summary.kinds],
            key=_key("library_kinds", query[:2]),
            alt="Kinds of findings by the captures that have one",
        )
    with right:
        st.header("Known issues", anchor=False)
        if summary.causes:
            _causes(library, query, summary.causes)
        else:
            st.caption("No finding has a known issue.")


def _narrowing(
    library: Library,
    query: LibraryQuery,
    table: pd.DataFrame,
    column: str,
    values: Sequence[str | int | None],
    *,
    key: str,
    alt: str,
) -> None:
    """Draw a table in which a click on a row keeps the captures with its value of a column."""

    def pick() -> None:
        row = selected_row(st.session_state[key], len(values))
        if row is not None:
            only(library, query.words, column, values[row])

    st.dataframe(
        table,
        hide_index=True,
        width="stretch",
        height=table_height(len(table), _HEIGHT),
        on_select=pick,
        selection_mode="single-cell",
        key=key,
        column_config=counts(table),
        alt=alt,
    )


def _causes(library: Library, query: LibraryQuery, tallies: Sequence[LibraryTally]) -> None:
    """The known issues, and what to do about the first, which most captures have."""
    table = pd.DataFrame(
        {
            "captures": tally.captures,
            "known issue": dashboard.cause_title(tally.value) or tally.value,
            "versions": dashboard.version_words(tally),
        }
        for tally in tallies
    )
    _narrowing(
        library,
        query,
        table,
        "finding_cause",
        [tally.value for tally in tallies],
        key=_key("library_causes", query[:2]),
        alt="Known issues by the captures that have one",
    )
    first = tallies[0]
    title = dashboard.cause_title(first.value) or first.value
    st.markdown(f"**{plain(title)}**: {plain(dashboard.cause_fix(first.value, first.releases))}")


def captures_table(session: Session, library: Library, query: LibraryQuery, total: int) -> None:
    """The captures; the selected one with its findings and a button to Replay."""
    rows = library.rows(query.words, sort=query.sort, descending=query.descending, limit=_ROWS)
    if not rows:
        _nothing(library, query)
        return
    st.header("Captures", anchor=False)
    table = pd.DataFrame(list(map(_cells, rows)))
    selection = st.dataframe(
        table,
        hide_index=True,
        width="stretch",
        height=table_height(len(rows), 420),
        on_select="rerun",
        selection_mode="single-cell",
        key=_key("library_captures", query),
        placeholder=_UNKNOWN,
        column_config={**counts(table), "day": st.column_config.TextColumn(width=100)},
        alt="One row per capture: verdict, version, endpoint, tokens, findings, day, file, cause, model",
    )
    if total > len(rows):
        st.caption(
            f"The first {len(rows):,} of {total:,}. Filter or sort to see others; "
            "`python -m inspector library --csv FILE` writes all."
        )
    _details(session, library, rows[selected_row(selection, len(rows)) or 0])


def _nothing(library: Library, query: LibraryQuery) -> None:
    """Advice where there is no capture."""
    counts = library.counts()
    if not query.words or not (total := counts.captures + counts.unread):
        st.caption(
            "Run `python -m inspector scan PLACE...` on a folder, a zip archive or a URL that has captures, "
            "and reload this page."
        )
        return
    st.caption(f"The scan has {total:,} rows. Remove a condition of the filter, or clear it.")
    st.button("Clear the filter", icon=":material/filter_alt_off:", key="library_clear", on_click=clear)


def _key(name: str, content: object) -> str:
    """The key of a table: a new one after a click, and if a row was selected in its earlier content.

    The browser rebuilds a table whose key is new, which takes longer than the rest of a filter change. After a
    selection elsewhere, a table that keeps its key ignores the first click (Streamlit 1.67).
    """
    clicks = st.session_state.get(CLICKS, 0)
    turn, before, clicks_before = st.session_state.get(f"{name}_shown", (0, content, clicks))
    kept = st.session_state.get(f"{name} {turn}")
    if clicks != clicks_before or (content != before and kept and any(kept["selection"].values())):
        turn += 1
    st.session_state[f"{name}_shown"] = turn, content, clicks
    return f"{name} {turn}"


def _cells(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "verdict": _LEVELS.get(row["verdict"], row["verdict"]),
        "version": row["version"] or "",
        "endpoint": row["endpoint"] or "",
        "tokens": row["tokens"],
        "findings": row["findings"],
        "day": row["day"] or "",
        "file": row["name"],
        "what happened": row["sentence"],
        "cause": row["cause"] or "",
        "model": row["model"] or "",
    }


def _details(session: Session, library: Library, row: dict[str, Any]) -> None:
    """One capture: its place, its findings, and Open in Replay."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="library_open_row"):
        pressed = st.button(
            "Open in Replay",
            icon=":material/play_circle:",
            type="primary",
            key="library_open",
            disabled=row["error"] is not None,
        )
        st.markdown(f"**{plain(row['name'])}** · {plain(row['sentence'])}", width=900)
    st.caption(plain(row["path"] if row["member"] is None else f"{row['path']} · {row['member']}"))
    if row["cause"] and (fix := dashboard.cause_fix(row["cause"], [row["version"]])):
        st.markdown(f"Known issue: {plain(dashboard.cause_title(row['cause']))}. {plain(fix)}")
    if pressed:
        try:
            capture = dashboard.open_row(row)
        except InspectorError as error:
            show_error(error)
        else:
            digest = f"{row['digest']} {row['number']}"
            take(session, [Opened(name=row["name"], digest=digest, capture=capture)])
            st.switch_page("replay.py")
    findings = library.findings([row["id"]])
    if findings:
        kinds = [dashboard.kind_label(finding["kind"]) for finding in findings[:_FINDINGS]]
        lines = [
            f"- {finding['severity']} · {kind} · {plain(finding['message'])}"
            for finding, kind in zip(findings, kinds, strict=False)
        ]
        st.markdown("\n".join(lines))
    if len(findings) > _FINDINGS:
        st.caption(f"{len(findings) - _FINDINGS:,} more findings; open the capture in Replay to see all.")
