"""The pickers of the Library page: scan, filter, groups and order, kept in the URL."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

import streamlit as st

from inspector import dashboard
from inspector.dashboard import Library
from pages.ui.state import Session, went_back

_FILTER: Final = "library_filter"
_WORST: Final = "worst first"
_ADDRESS: Final = frozenset({"scan", "filter", "group", "sort", "order"})
_EXAMPLE: Final = "kind = 'dropped' AND tokens > 500"
_HELP: Final = (
    "An SQL expression of columns: `=` `<>` `<` `>`, `IN (...)`, `BETWEEN`, `ILIKE '%text%'`, `IS NULL`, "
    "joined with `AND`, `OR`, `NOT`. A condition on a column of findings, such as `kind`, matches captures "
    "with such a finding (docs/scan.md). Other text is searched as words. A kind is typed as its key: "
    f"`kind = 'unserved'` finds what pages call “{dashboard.kind_label('unserved')}”; the table of findings "
    "shows both.\n\n"
    "Columns are `tokens`, `findings`, `name`, "
    f"{', '.join(f'`{name}`' for name in dashboard.LIBRARY_GROUPS)} and others."
)


class LibraryQuery(NamedTuple):
    """Which captures are shown, and in which groups and order."""

    scan: str
    words: str
    """The filter."""
    by: str
    sort: str
    """A column; empty for the worst first."""
    descending: bool


def choose(session: Session, scans: Mapping[str, Path]) -> LibraryQuery:
    """Draw the pickers."""
    # Without words in the address the page shows what it showed before.
    linked = {name: value for name, value in st.query_params.to_dict().items() if name in _ADDRESS}
    kept = linked or session.library
    if went_back() or _FILTER not in st.session_state:
        st.session_state[_FILTER] = kept.get("filter", "")
    names = list(scans)
    groups, sorts = list(dashboard.LIBRARY_GROUPS), [_WORST, *dashboard.LIBRARY_SORTS]
    with st.container(horizontal=True, vertical_alignment="bottom", key="library_row"):
        scan = _pick("Scan", names, kept.get("scan"), width=170)
        st.text_input("Filter", placeholder=_EXAMPLE, key=_FILTER, help=_HELP, width=440)
        by = _pick("Group by", groups, kept.get("group"), width=150)
        sort = _pick("Sort captures by", sorts, kept.get("sort"), width=150)
        descending = st.toggle("Largest first", kept.get("order") == "descending", key="library_descending")
    words = str(st.session_state[_FILTER]).strip()
    address = {
        "scan": scan,
        "filter": words,
        "group": "" if by == groups[0] else by,
        "sort": "" if sort == _WORST else sort,
        "order": "descending" if descending else "",
    }
    session.library = {name: value for name, value in address.items() if value}
    session.address(session.library)
    return LibraryQuery(scan, words, by, "" if sort == _WORST else sort, descending)


def only(library: Library, words: str, by: str, value: str | int | None) -> None:
    """Narrow the filter to one group; a callback, as the field is drawn before its groups are known."""
    st.session_state[_FILTER] = library.narrowed(words, by, value)


def clear() -> None:
    """Remove the filter; a callback too."""
    st.session_state[_FILTER] = ""


def opened(folder: Path) -> Library:
    """The rows of a scan; read again after the next scan into its folder."""
    return _library(str(folder), dashboard.scan_stamp(folder))


@st.cache_resource(max_entries=4, show_spinner=False)
def _library(folder: str, stamp: str) -> Library:
    del stamp
    return Library(Path(folder))


def _pick(label: str, names: list[str], kept: str | None, *, width: int) -> str:
    key = f"library_{label}"
    if went_back() or st.session_state.get(key) not in names:
        st.session_state[key] = kept if kept in names else names[0]
    chosen: str = st.selectbox(
        label, names, key=key, width=width, format_func=str if label == "Scan" else dashboard.column_words
    )
    return chosen
