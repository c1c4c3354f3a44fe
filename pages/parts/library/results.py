"""The captures of a filter: groups with their plot, kinds, causes, and the captures themselves."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import streamlit as st

from inspector import InspectorError
from inspector.analysis.audit.kinds import kind_label
from inspector.data.scan import Group as LibraryGroup
from inspector.data.scan import Library, cause_fix, cause_title, column_words, group_cells, version_words
from inspector.data.scan import Summary as LibrarySummary
from inspector.data.scan import Tally as LibraryTally
from inspector.data.scan.offers import open_row
from pages.parts.library import plots
from pages.parts.library.choosing import LibraryQuery, clear, narrow, only
from pages.ui.captures import take
from pages.ui.errors import show_error
from pages.ui.pickers import plain
from pages.ui.rows import rows
from pages.ui.state import Opened, Session

_ROWS: Final = 200
_HEIGHT: Final = 300
"""Pixels of a table that narrows the filter."""
_LEVELS: Final = {
    "error": "✕ error",
    "warning": "! warning",
    "clean": "✓ clean",
    "unknown": "? unknown",
    "unread": "– unread",
}
"""Readable without colour, with the signs of the list of captures."""


def groups(library: Library, query: LibraryQuery, all_groups: Sequence[LibraryGroup]) -> None:
    """A row and a bar for each group; a click on one adds it to the filter."""
    if not all_groups:
        return
    left, right = st.columns([1, 1], gap="medium")
    with left:
        st.header(f"By {column_words(query.by)}", anchor=False)
        table = group_cells(query.by, all_groups)
        _narrowing(
            library,
            query,
            table,
            query.by,
            [group.value for group in all_groups],
            opens=column_words(query.by),
            label="Captures of each group by verdict",
            key="library_groups",
        )
    with right:
        plotted = [group for group in all_groups if group.counts.captures]
        if plotted:
            _plot(library, query, plotted)


def _plot(library: Library, query: LibraryQuery, plotted: Sequence[LibraryGroup]) -> None:
    figure = plots.verdicts(query.by, plotted, "dark" if st.context.theme.type == "dark" else "light")
    # A new key for other groups: the selection of a bar ends with it.
    key = f"library_plot {query.words} {query.by}"

    def pick() -> None:
        if points := st.session_state[key]["selection"]["points"]:
            only(library, query.words, query.by, plotted[points[0]["point_index"]].value)

    st.plotly_chart(
        figure,
        key=key,
        config={"displayModeBar": False},
        on_select=pick,
        selection_mode="points",
        alt=f"Share of verdicts by {column_words(query.by)}",
    )
    if len(plotted) > (drawn := len(figure.data[0].x)):
        st.caption(f"The first {drawn} of {len(plotted):,} groups, in the order of the table.")


def kinds_and_causes(library: Library, query: LibraryQuery, summary: LibrarySummary) -> None:
    """The kinds of findings, and the known issues that explain them; a click adds one to the filter."""
    if not summary.kinds:
        return
    left, right = st.columns([1, 1], gap="medium")
    with left:
        st.header("Findings", anchor=False)
        _narrowing(
            library,
            query,
            [
                {
                    "kind": kind_label(tally.value),
                    "captures": tally.captures,
                    "findings": tally.findings,
                    "versions": version_words(tally),
                }
                for tally in summary.kinds
            ],
            "kind",
            [tally.value for tally in summary.kinds],
            opens="kind",
            label="Kinds of findings by the captures that have one",
            key="library_kinds",
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
    table: Sequence[Mapping[str, str | int]],
    column: str,
    values: Sequence[str | int | None],
    *,
    opens: str,
    label: str,
    key: str,
) -> None:
    """Draw a table in which a click on a row keeps the captures with its value of a column."""
    row = rows(table, label=label, opens=opens, key=key, height=_HEIGHT)
    if row is not None:
        narrow(library, query.words, column, values[row])


def _causes(library: Library, query: LibraryQuery, tallies: Sequence[LibraryTally]) -> None:
    """The known issues, and what to do about the first, which most captures have."""
    _narrowing(
        library,
        query,
        [
            {
                "captures": tally.captures,
                "known issue": cause_title(tally.value) or tally.value,
                "versions": version_words(tally),
            }
            for tally in tallies
        ],
        "finding_cause",
        [tally.value for tally in tallies],
        opens="known issue",
        label="Known issues by the captures that have one",
        key="library_causes",
    )
    first = tallies[0]
    title = cause_title(first.value) or first.value
    st.markdown(f"**{plain(title)}**: {plain(cause_fix(first.value, first.releases))}")


def captures_table(session: Session, library: Library, query: LibraryQuery, total: int) -> None:
    """The captures; a click opens one in Replay."""
    listed = library.rows(query.words, sort=query.sort, descending=query.descending, limit=_ROWS)
    if not listed:
        _nothing(library, query)
        return
    st.header("Captures", anchor=False)
    row = rows(
        list(map(_cells, listed)),
        label="Captures with verdict, version, endpoint, tokens, findings, day, cause and model",
        opens="file",
        key="library_captures",
    )
    if row is not None:
        _open(session, listed[row])
    if total > len(listed):
        st.caption(
            f"The first {len(listed):,} of {total:,}. Filter or sort to see others; "
            "`python -m inspector library --csv FILE` writes all."
        )


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


def _cells(row: Mapping[str, Any]) -> dict[str, str | int | float | None]:
    return {
        "verdict": _LEVELS.get(row["verdict"], row["verdict"]),
        "file": row["name"],
        "what happened": row["sentence"],
        "version": row["version"] or "",
        "endpoint": row["endpoint"] or "",
        "tokens": row["tokens"],
        "findings": row["findings"],
        "day": row["day"] or "",
        "known issue": cause_title(row["cause"] or "") or row["cause"] or "",
        "model": row["model"] or "",
        "path": row["path"] if row["member"] is None else f"{row['path']} · {row['member']}",
    }


def _open(session: Session, row: Mapping[str, Any]) -> None:
    """Open a capture in Replay, or say why it cannot be opened."""
    try:
        capture = open_row(row)
    except InspectorError as error:
        show_error(error)
        return
    take(session, [Opened(name=row["name"], digest=f"{row['digest']} {row['number']}", capture=capture)])
    st.switch_page("replay.py")
