"""Opening files: the button, the upload behind it, and one line for the files that could not be read."""

from collections.abc import Sequence
from typing import Final

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from inspector.capture.errors import InspectorError
from inspector.capture.formats import count, listed
from inspector.capture.replay_only import replay_only, upload_mb
from inspector.inspection.triage import is_log
from pages.ui import captures
from pages.ui.pickers import plain
from pages.ui.state import HANDFUL, OPENED_AT_MOST, Rejected, Session

LIMIT_MB: Final = upload_mb(256)
"""Of one file that is opened on a page with an upload."""
FROM_DISK: Final = (
    "scan their folder with `harmony-inspector scan` on your machine"
    if replay_only()
    else "type their folder on the Library page, which reads it from the disk"
)
"""What to do with more than can be uploaded."""
_HELP: Final = "Recordings, logs, a folder, a ZIP"
_NAMED: Final = 3
_ZIPS: Final = (b"PK\x03\x04", b"PK\x05\x06")


def _itself(file: UploadedFile, memo: object) -> UploadedFile:
    del memo
    return file


# Streamlit deep-copies a widget's value in each run of a page, lest the page change it: an upload's bytes
# twice, 0.1 s for 37 MB. The pages only read uploads.
setattr(UploadedFile, "__deepcopy__", _itself)  # noqa: B010 -- the class does not declare it


def button(place: str) -> None:
    """The button that opens files. The browser answers it (anywhere.js): Streamlit's upload is hidden."""
    st.button(
        "Open, drop or paste",
        icon=":material/upload_file:",
        help=_HELP,
        key=f"open_{place}",
        width="content",
    )


def uploads(session: Session) -> list[str]:
    """The button in the sidebar and the opened files below it; the names of captures opened just now."""
    with st.sidebar:
        button("sidebar")
    opened = uploader(session)
    with st.sidebar:
        for name in list(reversed(session.opened))[:HANDFUL]:
            if st.button(plain(name), type="tertiary", key=f"opened_{name}"):
                session.choose(name)
                opened = [name]
        if session.closed:
            st.caption(f"{count(session.closed, 'older capture')} closed: {OPENED_AT_MOST} stay open.")
    rejections(session)
    return opened


def uploader(session: Session) -> list[str]:
    """Streamlit's upload, which is hidden: anywhere.js fills it; the captures that opened just now."""
    captures.restore(session)
    before = dict(session.opened)
    with st.sidebar:
        files = st.file_uploader(
            "Open captures", accept_multiple_files=True, max_upload_size=LIMIT_MB, key="replay_files"
        )
    received = [file for file in files if file.file_id not in session.received]
    session.received = frozenset(file.file_id for file in files)
    if received:
        receive(session, [(file.name, file.getvalue()) for file in received])
    return [name for name, capture in session.opened.items() if before.get(name) is not capture]


def elsewhere(session: Session) -> None:
    """The upload of a page that shows no capture: what opens is shown on Replay, a log on Diagnose."""
    known = session.received
    opened = uploader(session)
    if session.received <= known:
        return
    match session.rejected:
        case [Rejected(name=name, log=bytes() as log)] if session.rejected_of == 1:
            diagnose_log(session, name, log)
    if opened and not session.rejected:
        st.switch_page("replay.py")


def receive(session: Session, files: Sequence[tuple[str, bytes]]) -> None:
    """Open files that came together; those that cannot be read replace the rejected ones of before.

    More than a handful, and what is in an archive, open in the Library.
    """
    rejected, many = list[Rejected](), list[tuple[str, bytes]]()
    if len(files) > HANDFUL or any(is_zip(content) for _, content in files):
        many, files = list(files), []
    for name, content in files:
        try:
            problem = captures.open_file(session, name, content)
        except captures.ManyCapturesError:
            many.append((name, content))
            continue
        if problem:
            log = content if is_log(content, name) else None
            rejected.append(Rejected(name=name, problem=problem, log=log))
    reject(session, rejected, of=len(files))
    if many:
        _to_library(session, many)


def is_zip(content: bytes) -> bool:
    """Whether a file is a zip archive."""
    return content.startswith(_ZIPS)


def _to_library(session: Session, files: Sequence[tuple[str, bytes]]) -> None:
    from pages.ui import archives  # noqa: PLC0415 -- the first page needs no scans

    try:
        archives.scan_files(session, files)
    except InspectorError as error:
        name = files[0][0] if len(files) == 1 else f"{len(files)} files"
        reject(session, [Rejected(name=name, problem=str(error))], of=len(files))
    else:
        st.switch_page("library.py")


def reject(session: Session, rejected: Sequence[Rejected], *, of: int) -> None:
    """Remember the files that could not be read, of how many that came with them."""
    session.rejected, session.rejected_of = tuple(rejected), of


def rejections(session: Session) -> None:
    """One line for all files that could not be read, until it is dismissed."""
    if not session.rejected:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="rejected"):
        st.error(plain(rejection_line(session.rejected, session.rejected_of)), icon=":material/block:")
        if len(session.rejected) > 1:
            with st.popover("Details"):
                for number, file in enumerate(session.rejected):
                    st.markdown(plain(file.problem))
                    _diagnosable(session, file, key=f"rejected_log_{number}")
        else:
            _diagnosable(session, session.rejected[0], key="rejected_log")
        st.button("Dismiss", key="rejected_dismiss", on_click=reject, args=(session, ()), kwargs={"of": 0})


def rejection_line(rejected: Sequence[Rejected], of: int) -> str:
    """One sentence: the problem of a single file, the names of several."""
    if len(rejected) == 1:
        return rejected[0].problem
    names = [file.name for file in rejected[:_NAMED]]
    if more := len(rejected) - len(names):
        names.append(f"{more} more")
    return f"{len(rejected)} of {of} files were not read: {listed(names)}."


def _diagnosable(session: Session, file: Rejected, *, key: str) -> None:
    if file.log is not None and st.button(
        f"Diagnose {plain(file.name)}", icon=":material/troubleshoot:", key=key
    ):
        diagnose_log(session, file.name, file.log)


def diagnose_log(session: Session, name: str, content: bytes) -> None:
    """Open a log on the Diagnose page."""
    session.log, session.logs = (name, content), {}
    st.session_state["diagnose_kind"] = "Log"
    st.switch_page("diagnose.py")
