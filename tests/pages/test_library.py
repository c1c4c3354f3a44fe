"""The Library page without a browser: the sentence, filters, groups, and captures that open in Replay."""

import shutil
import sys
import zipfile
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from inspector.data.scan import Counts
from inspector.data.scan import Group as LibraryGroup
from inspector.files.store import FIXTURES
from pages.parts.library import choosing, plots
from tests.support.archives import id_lists, scanned
from tests.support.pages import tables

ROOT = Path(__file__).parents[2]
CAPTURES = "Captures with verdict, version, endpoint, tokens, findings, day, cause and model"


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


def test_without_a_scan_the_page_says_what_to_do() -> None:
    [info] = page().info
    assert "python -m inspector scan PLACE..." in info.value
    assert 'pip install "harmony-inspector[scan]"' in info.value


def test_page_begins_with_the_summary_of_the_scan(archive: Path) -> None:
    app = page()
    assert (
        heading(app)
        == "# 12 of 17 captures have errors (71%); the rate is highest with version 0.13.0 (7 of 8)."
    )
    groups, kinds, causes, rows = tables(app).values()
    assert [group["version"] for group in groups] == ["0.13.0", "0.14.1", "0.32.0"]
    assert [group["error"] for group in groups] == [7, 2, 3]
    assert "dropped" in {kind["kind"] for kind in kinds}
    assert "Text of an engine step that spans two messages is filed under one channel" in {
        cause["known issue"] for cause in causes
    }
    assert [row["verdict"] for row in rows].count("✕ error") == 12
    assert len(app.get("plotly_chart")) == 1


def test_the_address_has_filter_group_and_order(archive: Path) -> None:
    app = page(filter="kind = 'dropped'", group="kind", sort="tokens", order="descending")
    assert heading(app).startswith("# 7 of 7 captures have errors (100%)")
    assert next(iter(tables(app).values()))[0]["kind"] == "dropped"
    tokens = [row["tokens"] for row in tables(app)[CAPTURES] if row["tokens"]]
    assert tokens == sorted(tokens, reverse=True)
    app.text_input(key="library_filter").set_value("version = '0.14.1'").run()
    assert heading(app).startswith("# 2 of 4 captures")
    assert str(app.query_params["filter"]).strip("[]") == "version = '0.14.1'"
    assert "kind" in app.query_params["group"]


def test_invalid_filter_suggests_a_column_value(archive: Path) -> None:
    [error] = page(filter="kind = 'droped'").error
    assert error.value.replace("\\", "") == (
        "The filter does not work: kind is never 'droped'; did you mean dropped?"
    )
    assert len(tables(page(scan="../../etc", group="nothing", sort="x"))) == 4


def test_an_address_names_no_folder(captures: Path, tmp_path: Path) -> None:
    scanned(tmp_path / "evals", FIXTURES / "chat-tool-call-leak-vllm-0.14.1.jsonl")
    assert page(scan=str(tmp_path / "evals")).info


def offering() -> None:
    """The picker alone, with a folder typed into it: AppTest cannot type what is no option."""
    import streamlit as st  # noqa: PLC0415 -- runs as a script of its own

    from pages.parts.library import choosing  # noqa: PLC0415
    from pages.ui import state  # noqa: PLC0415

    if folder := st.session_state.pop("typed", ""):
        st.session_state["library_scan"] = folder
        choosing._take_folder("library_scan", [])
    choosing.choose(state.current())


def test_a_folder_that_is_typed_is_offered_in_its_session_only(archive: Path, tmp_path: Path) -> None:
    scanned(tmp_path / "evals", FIXTURES / "chat-tool-call-leak-vllm-0.14.1.jsonl")
    mine, other = (AppTest.from_function(offering, default_timeout=180) for _ in range(2))
    mine.session_state["typed"] = str(tmp_path / "evals")
    assert mine.run().selectbox(key="library_scan").options == ["scan", "evals"]
    assert other.run().selectbox(key="library_scan").options == ["scan"]
    other.query_params["scan"] = "evals"
    assert other.run().selectbox(key="library_scan").value == "scan"


def test_the_example_is_one_click_away(
    captures: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "built-in").mkdir()
    shutil.copy(FIXTURES / "chat-tool-call-leak-vllm-0.14.1.jsonl", tmp_path / "built-in")
    monkeypatch.setattr("inspector.data.scan.offers.FIXTURES", tmp_path / "built-in")
    app = page()
    app.button[0].click().run(timeout=180)
    assert heading(app).startswith("# 1 of 1 capture has errors")
    assert (captures / "example" / "scan.json").exists()


def test_an_empty_result_says_what_to_do(archive: Path) -> None:
    app = page(filter="tokens > 100_000")
    assert heading(app) == "# No capture matches the filter."
    assert "The scan has 17 rows. Remove a condition of the filter, or clear it." in [
        element.value for element in app.caption
    ]
    app.button(key="library_clear").click().run()
    assert heading(app).startswith("# 12 of 17 captures have errors")


def test_an_empty_scan_says_what_to_do(captures: Path, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    scanned(captures / "scan", tmp_path / "in")
    app = page()
    assert heading(app) == "# The scan found no captures."
    assert any("python -m inspector scan PLACE..." in element.value for element in app.caption)


def test_unknown_token_count_is_empty(archive: Path, captures: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{")
    scanned(captures / "scan", archive, tmp_path / "bad.json")
    app = page(filter="verdict = 'unread'")
    assert {row["tokens"] for row in tables(app)[CAPTURES]} == {None}


def test_a_capture_in_an_archive_says_where_it_is(archive: Path) -> None:
    app = page(filter="name LIKE '%tool-call-leak-vllm-0.14.1%' AND NOT contains(name, 'preamble')")
    [row] = tables(app)[CAPTURES]
    assert "leaked 2 reasoning tokens" in row["what happened"]
    assert row["path"].endswith("all.zip · deep/chat-tool-call-leak-vllm-0.14.1.jsonl")
    assert "filed under one channel" in row["known issue"]


def test_a_file_that_could_not_be_read_is_a_row(captures: Path, tmp_path: Path) -> None:
    id_lists(tmp_path / "in", 1)
    (tmp_path / "in" / "<b>bad.json").write_text("{")
    scanned(captures / "scan", tmp_path / "in")
    app = page()
    assert heading(app) == "# None of 1 capture has errors. 1 file could not be read."
    assert [row["verdict"] for row in tables(app)[CAPTURES]].count("– unread") == 1
    assert "<b>" not in "".join(element.value for element in app.markdown)


def test_missing_extra_is_an_error(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    monkeypatch.setattr(choosing, "scan_stamp", lambda _: "another")
    [error] = page().error
    assert 'pip install "harmony-inspector[scan]"' in error.value.replace("\\", "")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_plot_has_a_bar_for_each_group_and_no_markup(theme: str) -> None:
    def group(value: str | None, **levels: int) -> LibraryGroup:
        counts = {"clean": 0, "warning": 0, "error": 0, "unknown": 0, "unread": 0, **levels}
        return LibraryGroup(value=value, counts=Counts(captures=sum(levels.values()), **counts))

    groups = [group("<b>x</b>", clean=2, error=1), group(None, warning=3)]
    figure = plots.verdicts("model", groups, theme)
    assert [trace.name for trace in figure.data] == ["error", "warning", "clean"]
    assert list(figure.data[0].x) == ["bx/b", "unknown"]
    assert list(figure.data[0].y) == [1 / 3, 0]
    assert list(figure.data[0].customdata) == ["1 of 3", "0 of 3"]
    path = "/models/a-very-long-path-of-a-checkpoint/step-{}/of-many"
    long = [
        group(value, clean=1) for value in (path.format(1), path.format(2), "x<y", "xy", "1+g1", "1g1", "")
    ]
    figure = plots.verdicts("model", long, theme)
    names = list(figure.data[0].y)
    assert list(figure.data[0].x) == [1] * len(long)
    assert names[2:] == ["xy", "xy (2)", "1+g1", "1g1", "?"]
    assert len(set(names)) == len(long)
    assert max(map(len, names)) < 40


def test_plot_says_how_many_groups_it_omits(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "groups, in the order of the table" not in " ".join(element.value for element in page().caption)
    monkeypatch.setattr(plots, "_VERTICAL", 2)
    assert "The first 2 of 3 groups, in the order of the table." in [
        element.value for element in page().caption
    ]


def test_a_known_issue_says_what_to_do(archive: Path) -> None:
    app = page()
    [advice] = [
        element.value.replace("\\", "")
        for element in app.markdown
        if element.value.startswith("**Text of an engine step")
    ]
    assert "Upgrade to vLLM 0.24.0 or newer" in advice
