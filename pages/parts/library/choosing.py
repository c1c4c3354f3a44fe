"""The pickers of the Library page: scan, filter, groups and order, kept in the URL."""

from pathlib import Path
from typing import Final, NamedTuple

import streamlit as st

from inspector import InspectorError
from inspector.data.scan import GROUPS as LIBRARY_GROUPS
from inspector.data.scan import SORTS as LIBRARY_SORTS
from inspector.data.scan import Library, column_words
from inspector.data.scan.offers import offered_scans, scan_example, scan_stamp, typed_scan
from inspector.data.scan.scanning import Progress as ScanProgress
from inspector.data.scan.scanning import progress_words
from pages.ui.errors import show_error
from pages.ui.pickers import plain
from pages.ui.state import Session, went_back

_FILTER: Final = "library_filter"
_NARROWED: Final = "library_narrowed"
_REJECTED: Final = "library_rejected"
_TYPED: Final = "library_typed"
_WORST: Final = "worst first"
_ADDRESS: Final = frozenset({"scan", "filter", "group", "sort", "order"})
_EXAMPLE: Final = "kind = 'dropped' AND tokens > 500"
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
    scans = offered_scans(_typed())
    # Without words in the address the page shows what it showed before, unless somebody went back to that.
    linked = {name: value for name, value in st.query_params.to_dict().items() if name in _ADDRESS}
    kept = linked if linked or went_back() else session.library
    if not scans:
        _choose_folder([], "")
        return None
    if went_back() or _FILTER not in st.session_state:
        st.session_state[_FILTER] = kept.get("filter", "")
    if _NARROWED in st.session_state:
        st.session_state[_FILTER] = st.session_state.pop(_NARROWED)
    names = list(scans)
    groups, sorts = list(LIBRARY_GROUPS), [_WORST, *LIBRARY_SORTS]
    with st.container(horizontal=True, vertical_alignment="bottom", key="library_row"):
        scan = _choose_folder(names, kept.get("scan", ""))
        st.text_input("Filter", placeholder=_EXAMPLE, key=_FILTER, help=_HELP, width=380)
        by = _pick("Group by", groups, kept.get("group"), width=140)
        sort = _pick("Sort captures by", sorts, kept.get("sort"), width=140)
        descending = sort != _WORST and st.toggle(
            "Largest first", kept.get("order") == "descending", key="library_descending"
        )
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
    return LibraryQuery(scans[scan], words, by, "" if sort == _WORST else sort, descending)


def _choose_folder(names: list[str], linked: str) -> str:
    """The name of a scan; a folder that is typed is one of them from then on."""
    key = "library_scan"
    if names and (went_back() or st.session_state.get(key) not in names):
        st.session_state[key] = linked if linked in names else names[0]
    chosen = st.selectbox(
        "Scan",
        names,
        index=0 if names else None,
        key=key,
        width=190 if names else 480,
        accept_new_options=True,
        placeholder="the folder of scan --out",
        on_change=_take_folder,
        args=(key, names),
        help="Those in the folder of live captures. To see another, type the folder that `scan --out` wrote.",
    )
    if trouble := st.session_state.pop(_REJECTED, ""):
        st.error(plain(trouble), icon=":material/block:")
    return str(chosen)


def _take_folder(key: str, names: list[str]) -> None:
    """Take over a folder that was typed; a callback, as the names are drawn before it is known."""
    text = st.session_state[key]
    if not text or text in names:
        return
    try:
        folder = typed_scan(text)
    except InspectorError as error:
        st.session_state[_REJECTED] = str(error)
        del st.session_state[key]
        return
    if folder not in _typed():
        _typed().append(folder)
    inside = {path: name for name, path in offered_scans(_typed()).items()}
    st.session_state[key] = next(
        name for path, name in inside.items() if folder.resolve() in (path, path.parent)
    )


def _typed() -> list[Path]:
    """The folders that were typed in this session; no other session and no address can name them."""
    typed: list[Path] = st.session_state.setdefault(_TYPED, [])
    return typed


def first_steps() -> None:
    """What to do without a scan."""
    st.info(
        "No scan yet. Run `python -m inspector scan PLACE...` on folders, zip archives or URLs of captures, "
        "and reload this page, or name the folder of its `--out` above. Scans need an extra: "
        '`pip install "harmony-inspector[scan]"`, in a checkout `pip install -r requirements.txt`.',
        icon=":material/inventory_2:",
    )
    if not st.button("Scan the captures of the repository as an example", icon=":material/inventory_2:"):
        return
    bar = st.progress(0.0, "starting")

    def tell(progress: ScanProgress) -> None:
        bar.progress(progress.done / max(progress.files, 1), progress_words(progress))

    try:
        scan_example(tell)
    except InspectorError as error:
        show_error(error)
    else:
        st.session_state.pop("library_scan", None)
        st.rerun()


def only(library: Library, words: str, by: str, value: str | int | None) -> None:
    """Narrow the filter to one group; a callback, as the field is drawn before its groups are known."""
    st.session_state[_FILTER] = library.narrowed(words, by, value)


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


def _pick(label: str, names: list[str], kept: str | None, *, width: int) -> str:
    key = f"library_{label}"
    if went_back() or st.session_state.get(key) not in names:
        st.session_state[key] = kept if kept in names else names[0]
    chosen: str = st.selectbox(label, names, key=key, width=width, format_func=column_words)
    return chosen
