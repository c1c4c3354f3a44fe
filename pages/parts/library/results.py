"""The captures of a filter: what the clients got, groups, the captures themselves, kinds and causes."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import streamlit as st

from inspector import InspectorError
from inspector.analysis.audit.kinds import kind_label
from inspector.capture.formats import count, number
from inspector.data.scan import (
    Counts,
    Library,
    cause_fix,
    cause_title,
    column_words,
    value_words,
    version_words,
)
from inspector.data.scan import Summary as LibrarySummary
from inspector.data.scan import Tally as LibraryTally
from inspector.data.scan.columns import UNREAD
from inspector.data.scan.offers import EXAMPLE, open_row, row_content
from inspector.inspection.triage import is_log
from inspector.views.delivery import DAMAGED, Delivery
from pages.parts.library.choosing import LibraryQuery, clear, group_picker, narrow, resume, sort_picker
from pages.ui.captures import take
from pages.ui.errors import show_error
from pages.ui.opening import diagnose_log
from pages.ui.pickers import plain
from pages.ui.rows import Bar, Cell, rows
from pages.ui.state import Opened, Session

_ROWS: Final = 200
_UNREAD: Final = 3
_NOT_READ: Final = "could not be read"
_BARS: Final = (*DAMAGED, Delivery.ERROR_REPORTED)
"""What is drawn as a bar: hundreds of complete captures would make three damaged ones invisible."""
_CAPTURES_PX: Final = 430
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


def lead(session: Session, library: Library, query: LibraryQuery, summary: LibrarySummary) -> None:
    """The sentence, and the files that are in no count of it."""
    if query.folder == EXAMPLE.resolve():
        st.caption(f":grey-badge[EXAMPLE] {count(library.counts().captures, 'capture')} of the repository")
    nothing = "No file has been read yet." if not summary.complete else summary.sentence
    st.markdown(f"# {plain(summary.headline or nothing)}")
    if not summary.complete:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.warning("This scan was stopped before it had read all files.", icon=":material/pause:")
            st.button("Read the rest", key="library_rest", on_click=resume, args=(session, query.folder))
    if words := _unread(summary):
        st.warning(words, icon=":material/block:")
    if summary.counts.deliveries and (ignored := library.manifest.ignored):
        listed = ", ".join(f"{number(amount)} {ending}" for ending, amount in sorted(ignored.items()))
        st.caption(f"Left out: {plain(listed)}")


def _unread(summary: LibrarySummary) -> str:
    """The first files that could not be read, with their reasons."""
    if not summary.counts.unread:
        return ""
    files = [f"{plain(row['name'])}: {plain(_reason(row['error']))}" for row in summary.unread[:_UNREAD]]
    if more := summary.counts.unread - len(files):
        files.append(f"{number(more)} more, in the list below")
    return f"**{count(summary.counts.unread, 'file')} could not be read.** {' · '.join(files)}"


def _reason(error: str) -> str:
    """What is wrong, without the list of what would be right."""
    return error.partition("; ")[0].partition(" (")[0]


def shares(library: Library, query: LibraryQuery, summary: LibrarySummary) -> None:
    """What the clients got, and how much of each group is damaged; a click on a row keeps its captures."""
    counts = summary.counts
    if not counts.deliveries:
        return
    left, right = st.columns([1, 1], gap="medium")
    with left:
        with st.container(key="library_got_head"):
            st.header("What your client got", anchor=False)
        amounts = {delivery.value: counts.deliveries.get(delivery, 0) for delivery in Delivery}
        amounts |= {_NOT_READ: counts.unread}
        most = max([amounts[delivery.value] for delivery in _BARS] or [0]) or 1
        _narrowing(
            library,
            query,
            [
                {
                    "what your client got": value,
                    "": Bar(amount if value in _BARS else 0, most, amount, _hue(value)),
                    "captures": amount,
                }
                for value, amount in amounts.items()
                if amount
            ],
            [
                ("verdict", UNREAD) if value == _NOT_READ else ("delivery", value)
                for value, amount in amounts.items()
                if amount
            ],
            opens="what your client got",
            label="Captures by what the client got",
            key="library_got",
        )
    with right:
        with st.container(key="library_group"):
            group_picker()
        groups = summary.versions if query.by == "version" else library.groups(query.by, query.words)
        groups = [group for group in groups if group.counts.captures]
        most = max((group.counts.captures for group in groups), default=1)
        if not groups:
            return
        _narrowing(
            library,
            query,
            [
                {
                    column_words(query.by): value_words(group.value, query.by),
                    "": Bar(group.counts.captures, most, group.counts.damaged),
                    "damaged": f"{number(group.counts.damaged)} of {number(group.counts.captures)}",
                }
                for group in groups
            ],
            [(query.by, group.value) for group in groups],
            opens=column_words(query.by),
            label="Damaged captures of each group",
            key="library_groups",
        )


def _hue(value: str) -> str:
    return "warning" if value == Delivery.ERROR_REPORTED else "error"


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
            [("kind", tally.value) for tally in summary.kinds],
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
    table: Sequence[Mapping[str, Cell]],
    conditions: Sequence[tuple[str, str | int | None]],
    *,
    opens: str,
    label: str,
    key: str,
) -> None:
    """Draw a table in which a click on a row keeps the captures for which its column has its value."""
    row = rows(table, label=label, opens=opens, key=key, height=_HEIGHT)
    if row is not None:
        narrow(library, query.words, *conditions[row])


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
        [("finding_cause", tally.value) for tally in tallies],
        opens="known issue",
        label="Known issues by the captures that have one",
        key="library_causes",
    )
    first = tallies[0]
    title = cause_title(first.value) or first.value
    st.markdown(f"**{plain(title)}**: {plain(cause_fix(first.value, first.releases))}")


def captures_table(session: Session, library: Library, query: LibraryQuery, counts: Counts) -> None:
    """The captures, the worst first; a click opens one in Replay."""
    total = counts.captures + counts.unread
    listed = library.rows(query.words, sort=query.sort, descending=query.descending, limit=_ROWS)
    if not listed:
        _nothing(library, query)
        return
    with st.container(horizontal=True, vertical_alignment="center", key="library_captures_row"):
        st.header("Captures", anchor=False, width="content")
        sort_picker()
    row = rows(
        list(map(_cells, listed)),
        label="Captures with verdict, version, endpoint, tokens, findings, day, cause and model",
        opens="file",
        height=_CAPTURES_PX,
        key="library_captures",
    )
    if row is not None:
        open_capture(session, listed[row])
    if total > len(listed):
        st.caption(
            f"The first {len(listed):,} of {total:,}. Filter or sort to see others; "
            "`python -m inspector library --csv FILE` writes all."
        )


def _nothing(library: Library, query: LibraryQuery) -> None:
    """Advice where there is no capture."""
    counts = library.counts()
    if not query.words or not (total := counts.captures + counts.unread):
        if library.manifest.finished_at is None:
            return
        st.caption("Nothing in it is a capture. Drop other files.")
        return
    st.caption(f"The scan has {total:,} rows. Remove a condition of the filter, or clear it.")
    st.button("Clear the filter", icon=":material/filter_alt_off:", key="library_clear", on_click=clear)


def _cells(row: Mapping[str, Any]) -> dict[str, str | int | float | None]:
    return {
        "verdict": _LEVELS.get(row["verdict"], row["verdict"]),
        "file": row["name"],
        "what your client got": row["delivery"] or "",
        "what happened": row["sentence"],
        "version": row["version"] or "",
        "endpoint": row["endpoint"] or "",
        "tokens": row["tokens"],
        "findings": row["findings"],
        "day": row["day"] or "",
        "known issue": cause_title(row["cause"] or "") or row["cause"] or "",
        "model": row["model"] or "",
        "path": row["path"] if row["member"] is None else f"{Path(row['path']).name} · {row['member']}",
    }


def open_capture(session: Session, row: Mapping[str, Any]) -> None:
    """Open a capture in Replay and a log in Diagnose, or say why a file cannot be opened."""
    try:
        if row["error"] is not None and is_log(content := row_content(row), row["name"]):
            diagnose_log(session, row["name"], content)
        capture = open_row(row)
    except InspectorError as error:
        show_error(error)
        return
    take(session, [Opened(name=row["name"], digest=f"{row['digest']} {row['number']}", capture=capture)])
    st.switch_page("replay.py")
