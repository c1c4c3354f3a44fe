"""What the captures of a filter show: groups with their plot, kinds, causes, and the captures themselves."""

from collections.abc import Sequence
from typing import Any, Final

import pandas as pd
import streamlit as st

from inspector import InspectorError, dashboard
from inspector.dashboard import Library, LibraryGroup, LibrarySummary, LibraryTally
from pages.parts.library import plots
from pages.parts.library.choosing import Choice, clear, only
from pages.ui.captures import take
from pages.ui.errors import show_error
from pages.ui.pickers import plain
from pages.ui.state import Opened, Session
from pages.ui.tables import counts, table_height

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


def groups(library: Library, choice: Choice, found: Sequence[LibraryGroup]) -> None:
    """A row and a bar for each group; a selected group can become part of the filter."""
    if not found:
        return
    left, right = st.columns([1, 1], gap="medium")
    with left:
        st.header(f"By {dashboard.column_words(choice.by)}", anchor=False)
        table = pd.DataFrame(dashboard.group_cells(choice.by, found))
        chosen = _chosen(table, _key("library_groups", choice[:3]), "Captures of each group by verdict")
        picked = found[chosen[0]] if chosen and chosen[0] < len(found) else None
        st.button(
            "Only these captures",
            icon=":material/filter_alt:",
            key="library_only",
            disabled=picked is None,
            on_click=only,
            args=(library, choice.words, choice.by, None if picked is None else picked.value),
            help="Select a row of the table first.",
        )
    with right:
        figure = plots.verdicts(choice.by, found, "dark" if st.context.theme.type == "dark" else "light")
        if figure is None:
            st.caption("There is only one group, so there is nothing to compare.")
        else:
            st.plotly_chart(
                figure,
                key="library_plot",
                config={"displayModeBar": False},
                alt=f"Captures by {dashboard.column_words(choice.by)} and verdict",
            )
            if len(found) > (drawn := len(figure.data[0].x)):
                st.caption(f"The first {drawn} of {len(found):,} groups, in the order of the table.")


def kinds_and_causes(library: Library, choice: Choice, found: LibrarySummary) -> None:
    """Which findings there are, which known issues explain them, and what to do about one."""
    if not found.kinds:
        return
    left, right = st.columns([1, 1], gap="medium")
    with left:
        st.header("Findings", anchor=False)
        rows = [
            {
                "kind": dashboard.kind_and_key(one.value),
                "captures": one.captures,
                "findings": one.findings,
                "versions": dashboard.version_words(one),
            }
            for one in found.kinds
        ]
        table = pd.DataFrame(rows)
        st.dataframe(
            table,
            hide_index=True,
            width="stretch",
            height=table_height(len(rows), _HEIGHT),
            key="library_kinds",
            column_config=counts(table),
            alt="Kinds of findings by the captures that have one",
        )
    with right:
        st.header("Known issues", anchor=False)
        if found.causes:
            _causes(library, choice, found.causes)
        else:
            st.caption("No finding has a known issue.")


def _chosen(table: pd.DataFrame, key: str, words: str) -> list[int]:
    """Draw a table of which one row may be selected; its number, or none."""
    drawn = st.dataframe(
        table,
        hide_index=True,
        width="stretch",
        height=table_height(len(table), _HEIGHT),
        on_select="rerun",
        selection_mode="single-row",
        key=key,
        column_config=counts(table),
        alt=words,
    )
    return list(drawn["selection"]["rows"])


def _causes(library: Library, choice: Choice, found: Sequence[LibraryTally]) -> None:
    """The known issues, and what to do about the selected one, first about that with most captures."""
    rows = [
        {
            "captures": one.captures,
            "known issue": dashboard.cause_title(one.value) or one.value,
            "versions": dashboard.version_words(one),
            "id": one.value,
        }
        for one in found
    ]
    table = pd.DataFrame(rows)
    chosen = _chosen(table, _key("library_causes", choice[:2]), "Known issues by the captures that have one")
    one = found[chosen[0] if chosen and chosen[0] < len(found) else 0]
    title = dashboard.cause_title(one.value) or one.value
    st.markdown(f"**{plain(title)}**: {plain(dashboard.cause_fix(one.value, one.releases))}")
    st.button(
        f"Only these {dashboard.number(one.captures)} {dashboard.plural(one.captures, 'capture')}",
        icon=":material/filter_alt:",
        key="library_only_cause",
        on_click=only,
        args=(library, choice.words, "finding_cause", one.value),
    )


def captures_table(session: Session, library: Library, choice: Choice, total: int) -> None:
    """The captures; the selected one with its findings, and the way to Replay."""
    rows = library.rows(choice.words, sort=choice.sort, descending=choice.descending, limit=_ROWS)
    if not rows:
        _nothing(library, choice)
        return
    st.header("Captures", anchor=False)
    table = pd.DataFrame(list(map(_cells, rows)))
    chosen = st.dataframe(
        table,
        hide_index=True,
        width="stretch",
        height=table_height(len(rows), 420),
        on_select="rerun",
        selection_mode="single-row",
        key=_key("library_captures", choice),
        placeholder=_UNKNOWN,
        column_config={**counts(table), "day": st.column_config.TextColumn(width=100)},
        alt="One row per capture: verdict, version, endpoint, tokens, findings, day, file, cause, model",
    )["selection"]["rows"]
    if total > len(rows):
        st.caption(
            f"The first {len(rows):,} of {total:,}. Filter or sort to see others; "
            "`python -m inspector library --csv FILE` writes all."
        )
    _details(session, library, rows[chosen[0] if chosen and chosen[0] < len(rows) else 0])


def _nothing(library: Library, choice: Choice) -> None:
    """What to do where there is no capture."""
    counts = library.counts()
    if not choice.words or not (total := counts.captures + counts.unread):
        st.caption(
            "Run `python -m inspector scan PLACE...` on a folder, a zip archive or a URL that has captures, "
            "and reload this page."
        )
        return
    st.caption(f"The scan has {total:,} rows. Remove a condition of the filter, or clear it.")
    st.button("Clear the filter", icon=":material/filter_alt_off:", key="library_clear", on_click=clear)


def _key(name: str, shown: object) -> str:
    """The key of a table: another one where a selection was made in what it showed before.

    The browser rebuilds a table whose key is new, which takes longer than the rest of a filter change.
    """
    turn, before = st.session_state.get(f"{name}_shown", (0, shown))
    kept = st.session_state.get(f"{name} {turn}")
    if shown != before and kept and kept["selection"]["rows"]:
        turn += 1
    st.session_state[f"{name}_shown"] = turn, shown
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
        st.markdown(
            "\n".join(
                f"- {one['severity']} · {dashboard.kind_and_key(one['kind'])} · {plain(one['message'])}"
                for one in findings[:_FINDINGS]
            )
        )
    if len(findings) > _FINDINGS:
        st.caption(f"{len(findings) - _FINDINGS:,} more findings; open the capture in Replay to see all.")
