"""A scan that runs, as the Library shows it; the browser tests drop real files."""

import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest
from streamlit.testing.v1 import AppTest

from inspector.data.scan.items import ItemReader, ScanItem
from inspector.data.scan.jobs import scan_jobs
from inspector.data.scan.rows import rows_of
from inspector.data.scan.scanning import Progress
from inspector.files.store import FIXTURES
from inspector.views.delivery import Delivery
from pages.ui import archives
from pages.ui.captures import shelf
from pages.ui.state import Session
from tests.support.archives import id_lists
from tests.support.pages import tables

LEAK = FIXTURES / "chat-tool-call-leak-vllm-0.14.1.jsonl"


class Places(list[str]):
    """Places whose listing waits, so that the scan of them still runs."""

    def __init__(self, *places: str) -> None:
        super().__init__(places)
        self.go = Event()

    def __iter__(self) -> Iterator[str]:
        self.go.wait(60)
        return super().__iter__()


def page() -> None:
    import streamlit as st  # noqa: PLC0415 -- runs as a script of its own

    from pages.parts.library import running  # noqa: PLC0415
    from pages.ui import state  # noqa: PLC0415

    session = state.current()
    session.kept = st.session_state["kept"]
    if not running(session):
        st.caption("no scan")


@pytest.fixture
def session() -> Session:
    return Session(kept=shelf().session())


def shown(session: Session) -> AppTest:
    app = AppTest.from_function(page, default_timeout=60)
    app.session_state["kept"] = session.kept
    app.run()
    assert not app.exception
    return app


def test_a_scan_that_runs_says_how_far_it_is(session: Session, tmp_path: Path) -> None:
    id_lists(tmp_path / "in", 1)
    places = Places(str(tmp_path / "in"))
    assert session.kept is not None
    job = scan_jobs().start(places, shelf().place(session.kept, "runs <b>.zip"))
    try:
        assert "listing its files" in shown(session).markdown[0].value
        progress = Progress(
            files=8, skipped=0, removed=0, size=800, done=4, done_size=400, captures=3, unread=1
        )
        progress.deliveries.update({Delivery.NO_ANSWER.value: 1, Delivery.COMPLETE.value: 2})
        progress.worst = rows_of(ScanItem(str(LEAK), None, 1, ""), ItemReader()).captures
        job.progress = progress
        app = shown(session)
        assert "4 of 8 files read" in app.markdown[0].value
        [bar] = [element.proto.body for element in app.get("html")]
        assert sum(map(float, re.findall(r"width:([\d.]+)%", bar))) == pytest.approx(50)
        assert "✕ 1 damaged" in app.caption[0].value
        assert "– 1 could not be read" in app.caption[0].value
        [worst] = tables(app)["The worst captures so far"]
        assert worst["what your client got"] == "broken tool call"
    finally:
        places.go.set()
    assert job.wait(60)
    assert shown(session).caption[0].value == "no scan"


def test_a_scan_that_failed_says_why_once(session: Session, tmp_path: Path) -> None:
    archives.scan_place(session, tmp_path / "gone")
    job = archives.job_of(session)
    assert job is not None
    assert job.wait(60)
    [error] = shown(session).error
    assert "no such file or folder" in error.value
    assert not shown(session).error


def test_files_of_one_name_are_all_kept() -> None:
    files = [("a.jsonl", LEAK.read_bytes()), ("a.jsonl", b"2"), ("1 a.jsonl", b"3"), ("", b"4")]
    with zipfile.ZipFile(io.BytesIO(archives.packed(files))) as archive:
        names = archive.namelist()
        assert len(set(names)) == len(files)
        assert [archive.read(name) for name in names] == [content for _, content in files]
