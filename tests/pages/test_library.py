"""The Library page without a browser: the sentence, filters, groups, and captures that open in Replay."""

import sys
import zipfile
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from inspector.data.scan import Library
from inspector.data.scan.offers import EXAMPLE
from inspector.files.store import FIXTURES
from pages.parts.library import choosing
from tests.support.archives import id_lists, scanned
from tests.support.pages import tables

ROOT = Path(__file__).parents[2]
CAPTURES = "Captures with verdict, version, endpoint, tokens, findings, day, cause and model"

BUILT_IN = len(list(FIXTURES.glob("*.jsonl")))


@pytest.fixture(autouse=True)
def captures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HARMONY_INSPECTOR_CAPTURES", str(tmp_path / "captures"))
    return tmp_path / "captures"


@pytest.fixture
def archive(captures: Path, tmp_path: Path) -> Path:
    """A scan of the built-in captures, which are in a zip archive."""
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as made:
        for path in FIXTURES.glob("*.jsonl"):
            made.write(path, f"deep/{path.name}")
    scanned(captures / "scan", tmp_path / "all.zip")
    return tmp_path / "all.zip"


def page(**query: str) -> AppTest:
    app = AppTest.from_file(ROOT / "pages" / "library.py", default_timeout=180)
    for name, value in query.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    return app


def heading(app: AppTest) -> str:
    [headline] = [element.value for element in app.markdown if element.value.startswith("# ")]
    return headline.replace("\\", "")


def test_without_a_scan_of_ones_own_the_example_is_there_at_once() -> None:
    app = page()
    assert any("EXAMPLE" in element.value for element in app.caption)
    assert {"choose_files", "choose_folder"} <= {button.key for button in app.button}
    outcomes, *_ = tables(app).values()
    with Library(EXAMPLE) as library:
        counts = library.counts()
    assert sum(row["captures"] for row in outcomes) == counts.captures == 4800
    assert heading(app).startswith(f"# {counts.damaged} of 4,800 responses are damaged")


def test_page_begins_with_what_the_clients_got(archive: Path) -> None:
    app = page()
    assert heading(app).startswith(f"# 7 of {BUILT_IN} responses are damaged")
    outcomes, groups, rows, kinds, causes = tables(app).values()
    assert {row["what your client got"]: row["captures"] for row in outcomes} == {
        "no answer": 2,
        "broken tool call": 3,
        "text missing": 2,
        "error reported": 4,
        "cannot be determined": 3,
        "complete": BUILT_IN - 14,
    }
    damaged = {group["version"]: group["damaged"] for group in groups}
    assert list(damaged) == sorted(damaged)
    assert damaged["0.14.1"] == "2 of 4"
    assert "dropped" in {kind["kind"] for kind in kinds}
    assert "Text of an engine step that spans two messages is filed under one channel" in {
        cause["known issue"] for cause in causes
    }
    assert [row["verdict"] for row in rows].count("✕ error") == 12


def test_the_address_has_filter_group_and_order(archive: Path) -> None:
    app = page(filter="kind = 'dropped'", group="kind", sort="tokens", order="descending")
    assert heading(app).startswith("# 6 of 7 responses")
    assert list(tables(app).values())[1][0]["kind"] == "dropped"
    tokens = [row["tokens"] for row in tables(app)[CAPTURES] if row["tokens"]]
    assert tokens == sorted(tokens, reverse=True)
    app.text_input(key="library_filter").set_value("version = '0.14.1'").run()
    assert heading(app).startswith("# 2 of 4 responses")
    assert str(app.query_params["filter"]).strip("[]") == "version = '0.14.1'"
    assert "kind" in app.query_params["group"]


def test_invalid_filter_suggests_a_column_value(archive: Path) -> None:
    [error] = page(filter="kind = 'droped'").error
    assert error.value.replace("\\", "") == (
        "The filter does not work: kind is never 'droped'; did you mean dropped?"
    )
    assert len(tables(page(group="nothing", sort="x"))) == 5


@pytest.mark.parametrize("name", ["nope", "../../etc", "<b>"])
def test_an_address_names_no_folder_and_the_page_says_what_it_shows(archive: Path, name: str) -> None:
    app = page(scan=name)
    [warning] = [element.value.replace("\\", "") for element in app.warning]
    assert f"This session has no scan “{name}”" in warning
    assert warning.endswith("Shown is **scan**.")
    assert heading(app).startswith(f"# 7 of {BUILT_IN} ")


def test_a_folder_of_a_scan_is_not_reached_by_its_path(captures: Path, tmp_path: Path) -> None:
    scanned(tmp_path / "evals", FIXTURES / "chat-tool-call-leak-vllm-0.14.1.jsonl")
    app = page(scan=str(tmp_path / "evals"))
    assert app.selectbox(key="library_scan").value == "example"


def offering() -> None:
    """The picker alone, with a place typed into it: AppTest cannot type what is no option."""
    import streamlit as st  # noqa: PLC0415 -- runs as a script of its own

    from pages.parts.library import choosing  # noqa: PLC0415
    from pages.ui import archives, state  # noqa: PLC0415

    session = state.current()
    if place := st.session_state.pop("typed", ""):
        st.session_state["library_scan"] = place
        choosing._take_place(session, [])
        if (job := archives.job_of(session)) is not None:
            job.wait(60)
    choosing.choose(session)


def test_a_scan_that_is_typed_is_offered_in_its_session_only(archive: Path, tmp_path: Path) -> None:
    scanned(tmp_path / "evals", FIXTURES / "chat-tool-call-leak-vllm-0.14.1.jsonl")
    mine, other = (AppTest.from_function(offering, default_timeout=180) for _ in range(2))
    mine.session_state["typed"] = str(tmp_path / "evals")
    assert mine.run().selectbox(key="library_scan").options == ["evals", "scan", "example"]
    assert other.run().selectbox(key="library_scan").options == ["scan", "example"]
    other.query_params["scan"] = "evals"
    assert other.run().selectbox(key="library_scan").value == "scan"


@pytest.mark.parametrize("place", ["folder", "zip", "file"])
def test_a_place_of_captures_that_is_typed_is_scanned_for_its_session(
    archive: Path, tmp_path: Path, place: str
) -> None:
    [file] = id_lists(tmp_path / "runs", 1)
    app = AppTest.from_function(offering, default_timeout=180)
    app.session_state["typed"] = str({"folder": file.parent, "zip": archive, "file": file}[place])
    box = app.run().selectbox(key="library_scan")
    name = {"folder": "runs", "zip": "all", "file": file.name}[place]
    assert box.options == [name, "scan", "example"]
    assert box.value == name
    other = AppTest.from_function(offering, default_timeout=180).run()
    assert other.selectbox(key="library_scan").options == ["scan", "example"]


def test_what_is_typed_and_is_not_there_is_an_error(archive: Path, tmp_path: Path) -> None:
    app = AppTest.from_function(offering, default_timeout=180)
    app.session_state["typed"] = str(tmp_path / "none")
    [error] = app.run().error
    assert "no such folder or file" in error.value


def test_an_empty_result_says_what_to_do(archive: Path) -> None:
    app = page(filter="tokens > 100_000")
    assert heading(app) == "# No capture matches the filter."
    assert f"The scan has {BUILT_IN} rows. Remove a condition of the filter, or clear it." in [
        element.value for element in app.caption
    ]
    app.button(key="library_clear").click().run()
    assert heading(app).startswith(f"# 7 of {BUILT_IN} responses")


def test_an_empty_scan_says_what_to_do(captures: Path, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    scanned(captures / "scan", tmp_path / "in")
    app = page()
    assert heading(app) == "# The scan found no captures."
    assert any("Nothing in it is a capture" in element.value for element in app.caption)


def test_unknown_token_count_is_empty(archive: Path, captures: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{")
    scanned(captures / "scan", archive, tmp_path / "bad.json")
    app = page(filter="verdict = 'unread'")
    assert {row["tokens"] for row in tables(app)[CAPTURES]} == {None}


def test_a_capture_in_an_archive_says_where_it_is(archive: Path) -> None:
    app = page(filter="name LIKE '%tool-call-leak-vllm-0.14.1%' AND NOT contains(name, 'preamble')")
    [row] = tables(app)[CAPTURES]
    assert "leaked 2 reasoning tokens" in row["what happened"]
    assert row["path"] == "all.zip · deep/chat-tool-call-leak-vllm-0.14.1.jsonl"
    assert "filed under one channel" in row["known issue"]


def test_a_file_that_could_not_be_read_is_a_row(captures: Path, tmp_path: Path) -> None:
    id_lists(tmp_path / "in", 1)
    (tmp_path / "in" / "<b>bad.json").write_text("{")
    scanned(captures / "scan", tmp_path / "in")
    app = page()
    assert heading(app) == "# None of 1 response is damaged."
    [warning] = [element.value.replace("\\", "") for element in app.warning]
    assert warning.startswith("**1 file could not be read.** <b>bad.json: ")
    assert [row["verdict"] for row in tables(app)[CAPTURES]].count("– unread") == 1
    assert "<b>" not in "".join(element.value for element in app.markdown)


def test_missing_extra_is_an_error(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    monkeypatch.setattr(choosing, "scan_stamp", lambda _: "another")
    [error] = page().error
    assert 'pip install "harmony-inspector[scan]"' in error.value.replace("\\", "")


def test_a_known_issue_says_what_to_do(archive: Path) -> None:
    app = page()
    [advice] = [
        element.value.replace("\\", "")
        for element in app.markdown
        if element.value.startswith("**Text of an engine step")
    ]
    assert "Upgrade to vLLM 0.24.0 or newer" in advice
