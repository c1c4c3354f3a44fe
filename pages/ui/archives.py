"""Many files at once: kept for the session, and scanned in a thread while the Library shows how far it is."""

import io
import zipfile
from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from inspector.data.scan.jobs import ScanJob, scan_jobs
from pages.ui import opening
from pages.ui.captures import shelf
from pages.ui.state import Session

File = tuple[str, bytes]


def scan_files(session: Session, files: Sequence[File]) -> None:
    """Scan files that came together, archives as they are; raises InspectorError where there is no room."""
    archives = [(name, content) for name, content in files if opening.is_zip(content)]
    if others := [(name, content) for name, content in files if not opening.is_zip(content)]:
        archives.append((others[0][0] if len(others) == 1 else f"{len(others)} files", packed(others)))
    name = archives[0][0] if len(archives) == 1 else f"{len(files)} files"
    paths = shelf().add_archives(_kept(session), name, archives)
    _begin(session, [str(path) for path in paths], paths[0].parent)


def scan_place(session: Session, place: Path, name: str = "") -> None:
    """Scan what is at a place of this machine; raises InspectorError where the rows cannot be kept."""
    _begin(session, [str(place)], shelf().place(_kept(session), name or place.name or "all"))


def scans_of(session: Session) -> Path | None:
    """The folder that has a session's own scans; None before the first."""
    return None if session.kept is None else shelf().archives(session.kept)


def job_of(session: Session) -> ScanJob | None:
    """The scan of a session that runs, or failed."""
    folder = scans_of(session)
    return None if folder is None else scan_jobs().below(folder)


def packed(files: Sequence[File]) -> bytes:
    """Files as one archive, each under a name of its own."""
    taken = set[str]()
    with io.BytesIO() as whole:
        with zipfile.ZipFile(whole, "w") as archive:
            for number, (name, content) in enumerate(files):
                member = name or "unnamed"
                while member in taken:
                    member = f"{number} {member}"
                taken.add(member)
                archive.writestr(zipfile.ZipInfo(member), content)
        return whole.getvalue()


def _kept(session: Session) -> str:
    session.kept = session.kept or shelf().session()
    return session.kept


def _begin(session: Session, places: Sequence[str], folder: Path) -> None:
    scan_jobs().start(places, folder)
    session.library = {"scan": folder.name}
    st.query_params.clear()
    for name in ("library_scan", "library_filter"):
        st.session_state.pop(name, None)
