"""The pickers of the Library page: scan, filter, groups and order, kept in the URL."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import streamlit as st

from inspector import InspectorError
from inspector.capture.replay_only import replay_only
from inspector.data.scan import GROUPS as LIBRARY_GROUPS
from inspector.data.scan import SORTS as LIBRARY_SORTS
from inspector.data.scan import Library, column_words
from inspector.data.scan.jobs import scan_jobs
from inspector.data.scan.offers import EXAMPLE, has_scans, offered_scans, scan_stamp, typed_place
from inspector.files.store import FIXTURES
from pages.ui import archives
from pages.ui.pickers import plain
from pages.ui.state import Session, went_back

_SCAN: Final = "library_scan"
_FILTER: Final = "library_filter"
_GROUP: Final = "library_Group by"
_SORT: Final = "library_Sort captures by"
_DESCENDING: Final = "library_descending"
_NARROWED: Final = "library_narrowed"
_REJECTED: Final = "library_rejected"
_TYPED: Final = "library_typed"
_WORST: Final = "worst first"
_ADDRESS: Final = frozenset({"scan", "filter", "group", "sort", "order"})
_EXAMPLE: Final = "kind = 'dropped' AND tokens > 500"
_TYPING: Final[Mapping[str, Any]] = {
    "accept_new_options": True,
    "placeholder": "the full path of a folder of captures",
    "help": "To read captures from the disk, type the full path of their folder.",
}
_OR_TYPE: Final = "" if replay_only() else ", or type its folder"
_HELP: Final = (
    "An SQL expression of columns: `=` `<>` `<` `>`, `IN (...)`, `BETWEEN`, `ILIKE '%text%'`, `IS NULL`, "
    "joined with `AND`, `OR`, `NOT`. A condition on a column of findings, such as `kind`, matches captures "
    "with such a finding (docs/scan.md). Other text is searched as words. A click on a bar or a row of the "
    "tables adds its condition.\n\n"
    "Columns are `tokens`, `findings`, `name`, "
    f"{', '.join(f'`{name}`' for name in LIBRARY_GROUPS)} and others."
)


class LibraryQuery(NamedTuple):
    """Which captures are shown, and in which groups and order."""

    folder: Path
    words: str
    """The filter."""
    by: str
    sort: str
    """A column; empty for the worst first."""
    descending: bool


def choose(session: Session) -> LibraryQuery | None:
    """Draw the pickers; None where there is no scan."""
    own = archives.scans_of(session)
    scans = offered_scans([*_typed(), *([] if own is None else [own])])
    # Without words in the address the page shows what it showed before, unless somebody went back to that.
    linked = {name: value for name, value in st.query_params.to_dict().items() if name in _ADDRESS}
    kept = linked if linked or went_back() else session.library
    if went_back() or _FILTER not in st.session_state:
        st.session_state[_FILTER] = kept.get("filter", "")
    if _NARROWED in st.session_state:
        st.session_state[_FILTER] = st.session_state.pop(_NARROWED)
    names = list(scans)
    _remember(_SCAN, names, kept.get("scan"))
    groups, sorts = list(LIBRARY_GROUPS), [_WORST, *LIBRARY_SORTS]
    by, sort = _remember(_GROUP, groups, kept.get("group")), _remember(_SORT, sorts, kept.get("sort"))
    if went_back() or _DESCENDING not in st.session_state:
        st.session_state[_DESCENDING] = kept.get("order") == "descending"
    if not scans or scans[st.session_state[_SCAN]] == EXAMPLE.resolve():
        zone()
    with st.container(horizontal=True, vertical_alignment="bottom", key="library_row"):
        scan = _choose_scan(session, names)
        if scans:
            st.text_input("Filter", placeholder=_EXAMPLE, key=_FILTER, help=_HELP, width="stretch")
            if scans[scan] != EXAMPLE.resolve():
                file_buttons()
    if trouble := st.session_state.pop(_REJECTED, ""):
        st.error(plain(trouble), icon=":material/block:")
    missing = linked.get("scan", "")
    if missing and missing not in names:
        st.warning(
            plain(f"This session has no scan “{missing}”: drop its files again{_OR_TYPE}.")
            + (f" Shown is **{plain(scan)}**." if scans else ""),
            icon=":material/link_off:",
        )
    if not scans:  # an installed package has no example
        st.button(
            "Try it with the built-in captures",
            on_click=archives.scan_place,
            args=(session, FIXTURES / "*.jsonl", "built-in captures"),
            key="library_built_in",
        )
        return None
    words, descending = str(st.session_state[_FILTER]).strip(), bool(st.session_state[_DESCENDING])
    address = {
        "scan": scan,
        "filter": words,
        "group": "" if by == groups[0] else by,
        "sort": "" if sort == _WORST else sort,
        "order": "descending" if descending and sort != _WORST else "",
    }
    session.library = {name: value for name, value in address.items() if value}
    if not missing or missing in names:
        session.address(session.library)
    return LibraryQuery(scans[scan], words, by, "" if sort == _WORST else sort, descending)


def zone() -> None:
    """Where captures are dropped, and the buttons for those who do not drag."""
    with st.container(horizontal=True, vertical_alignment="center", key="library_zone"):
        st.markdown("**Drop captures, a ZIP or a folder here**")
        file_buttons()
        st.caption(f"They stay in this session{'' if replay_only() else ', on this machine'}.")


def file_buttons() -> None:
    """Buttons that the browser answers (anywhere.js)."""
    st.button("Choose files", key="choose_files", width="content")
    st.button("Choose a folder", key="choose_folder", width="content")


def group_picker() -> None:
    """By which column the captures are counted."""
    st.selectbox(
        "Group by",
        list(LIBRARY_GROUPS),
        key=_GROUP,
        width=240,
        format_func=lambda name: f"Damaged, by {column_words(name)}",
        label_visibility="collapsed",
    )


def sort_picker() -> None:
    """The order of the captures."""
    st.selectbox(
        "Sort captures by",
        [_WORST, *LIBRARY_SORTS],
        key=_SORT,
        width=200,
        format_func=lambda name: name if name == _WORST else f"by {column_words(name)}",
        label_visibility="collapsed",
    )
    if st.session_state[_SORT] != _WORST:
        st.toggle("Largest first", key=_DESCENDING)


def _choose_scan(session: Session, names: list[str]) -> str:
    """The name of a scan; a folder that is typed is one of them from then on."""
    typing = {} if replay_only() else _TYPING
    chosen = st.selectbox(
        "Scan",
        names,
        index=0 if names else None,
        key=_SCAN,
        width=220 if names else 480,
        on_change=_take_place,
        args=(session, names),
        **typing,
    )
    return str(chosen)


def _take_place(session: Session, names: list[str]) -> None:
    """Take over a place that was typed; a callback, as the names are drawn before it is known."""
    text = st.session_state[_SCAN]
    if not text or text in names:
        return
    del st.session_state[_SCAN]
    try:
        place = typed_place(text)
        if not has_scans(place):
            archives.scan_place(session, place)
            return
    except InspectorError as error:
        st.session_state[_REJECTED] = str(error)
        return
    if place not in _typed():
        _typed().append(place)
    inside = {path: name for name, path in offered_scans(_typed()).items()}
    st.session_state[_SCAN] = next(
        name for path, name in inside.items() if place.resolve() in (path, path.parent)
    )


def _typed() -> list[Path]:
    """The folders that were typed in this session; no other session and no address can name them."""
    typed: list[Path] = st.session_state.setdefault(_TYPED, [])
    return typed


def resume(session: Session, folder: Path) -> None:
    """Read what a stopped scan of the session has not read; a callback."""
    if archives.scans_of(session) == folder.parent:
        scan_jobs().start((), folder)


def narrow(library: Library, words: str, by: str, value: str | int | None) -> None:
    """Narrow the filter and draw the page again: a component tells of a click after the field is drawn."""
    st.session_state[_NARROWED] = library.narrowed(words, by, value)
    st.rerun()


def clear() -> None:
    """Remove the filter; a callback too."""
    st.session_state[_FILTER] = ""


def opened(folder: Path) -> Library:
    """The rows of a scan; read again after the next scan into its folder."""
    return _library(str(folder), scan_stamp(folder))


@st.cache_resource(max_entries=4, show_spinner=False)
def _library(folder: str, stamp: str) -> Library:
    del stamp
    return Library(Path(folder))


def _remember(key: str, names: list[str], kept: str | None) -> str:
    """What a picker shows, before it is drawn: its value, else that of the address, else the first."""
    if names and (went_back() or st.session_state.get(key) not in names):
        st.session_state[key] = kept if kept in names else names[0]
    return str(st.session_state.get(key, ""))
