"""The Matrix page on the shipped results."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from inspector import Endpoint, dashboard
from inspector.lab.results import all_runs
from pages.parts.matrix import body as matrix
from pages.parts.matrix import choosing
from pages.ui.captures import title

PAGE = str(Path(__file__).parents[2] / "pages" / "matrix.py")


@pytest.fixture(autouse=True)
def only_shipped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Results of the machine's own lab stay out."""
    monkeypatch.setenv("HARMONY_INSPECTOR_LAB", str(tmp_path))


def page(**query: str) -> AppTest:
    app = AppTest.from_file(PAGE, default_timeout=60)
    for name, value in query.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    return app


def test_the_page_opens_on_chat_with_a_verdict_and_a_legend() -> None:
    app = page()
    # Of releases that deliver as much as the best one, the newest is named.
    assert "vLLM 0.33.0 has the best result: " in app.markdown[0].value
    assert "It silently loses text of" in app.markdown[0].value
    assert "✕ silent loss" in app.caption[0].value
    table = app.dataframe[0].value
    assert {"0.12.0", "0.13.0", "0.14.1", "0.18.0", "0.23.0", "0.27.1", "0.31.0", "0.32.0"} <= set(
        table.columns
    )
    assert table.loc["assistantary", "0.13.0"] == "▲ error reported"
    assert table.loc["assistantary", "0.32.0"] == "✕ silent loss"
    assert table.loc["tool_call", "0.14.1"] == "✕ silent loss"
    assert table.loc["tool_call", "0.32.0"] == "● complete"


def test_the_address_bar_chooses_endpoint_and_interval() -> None:
    table = page(endpoint="responses", interval="3").dataframe[0].value
    assert table.loc["plain", "0.13.0"] == "✕ silent loss"
    assert table.loc["plain", "0.14.1"] == "● complete"


def test_nonsense_in_the_address_bar_is_ignored() -> None:
    app = page(endpoint="<script>", interval="x", front_end="y", **{"from": "9", "to": "z"})
    assert app.query_params["endpoint"] == "chat"
    assert app.query_params["front_end"] == "python"
    assert "from" not in app.query_params


def test_front_ends_are_shown_alone_or_beside_each_other() -> None:
    rust = page(front_end="rust", interval="3")
    assert next(iter(rust.dataframe[0].value.columns)) == "0.33.0 Rust"
    assert rust.dataframe[0].value.loc["return_after_end", "0.33.0 Rust"] == "▲ error reported"
    both = page(front_end="both", interval="3").dataframe[0].value
    assert {"0.33.0", "0.33.0 Rust"} <= set(both.columns)
    assert both.loc["text_after_end", "0.33.0"] == "✕ silent loss"


def test_a_range_of_releases_and_ragged_steps_are_chosen_in_the_address_bar() -> None:
    app = page(interval="ragged", **{"from": "0.32.0", "to": "0.33.0"})
    assert list(app.dataframe[0].value.columns) == ["0.33.0", "0.32.0"]
    assert app.query_params["from"] == "0.32.0"
    assert "to" not in app.query_params


def test_responses_that_were_not_streamed_are_called_so() -> None:
    app = page(interval="unstreamed")
    assert "well-formed responses completely" in app.markdown[0].value
    assert "malformed responses" in app.markdown[0].value
    before, after = (box for box in app.selectbox if box.label in {"From", "To"})
    before.set_value("0.23.0")
    after.set_value("0.24.0").run()
    words = [text.value for text in app.text] + [expander.label for expander in app.expander]
    words += [element.value for element in (*app.markdown, *app.caption, *app.header)]
    assert any("silent losses became complete" in word for word in words)
    assert not [word for word in words if "stream" in word]
    raw = page(interval="unstreamed", endpoint="completions")
    assert raw.markdown[0].value.endswith(" responses completely.")


def test_what_changed_between_two_releases_is_a_sentence_with_its_scripts() -> None:
    app = page(interval="3")
    before, after = (box for box in app.selectbox if box.label in {"From", "To"})
    before.set_value("0.31.0")
    after.set_value("0.32.0").run()
    assert not app.exception
    [sentence] = [text.value for text in app.text if text.value.startswith("0.31.0 to 0.32.0: ")]
    assert sentence == (
        "0.31.0 to 0.32.0: 20 reported errors became silent losses; 8 reported errors became complete."
    )
    assert any("20 reported errors" in expander.label for expander in app.expander)
    assert any("text_after_end" in text.value for text in app.text)


def test_every_cell_of_plain_completions_is_complete() -> None:
    app = page(endpoint="completions")
    assert "delivers all" in app.markdown[0].value
    assert set(app.dataframe[0].value.to_numpy().ravel()) == {"● complete"}


def test_words_and_differences_narrow_the_table() -> None:
    app = page()
    everything = len(app.dataframe[0].value)
    app.text_input[0].input("emoji").run()
    assert 0 < len(app.dataframe[0].value) < everything
    assert "emoji" in app.dataframe[0].value.index
    app.text_input[0].input("no such words").run()
    assert "No script matches this filter" in app.info[0].value
    app.text_input[0].input("").run()
    app.toggle[0].set_value(True).run()
    assert 0 < len(app.dataframe[0].value) < everything


def test_headline_of_a_filtered_table_is_about_its_scripts() -> None:
    heads = [page(filter=words).markdown[0].value for words in ("python", "assistantary", "nothing has this")]
    assert heads[0].startswith("# Of the scripts shown, vLLM 0.33.0 delivers all 2 streams completely.")
    assert heads[1].startswith("# Of the scripts shown, ")
    assert heads[2].startswith("# vLLM 0.33.0 has the best result")


def test_a_class_of_script_is_chosen_and_kept_in_the_address_bar() -> None:
    app = page(**{"class": "headers"})
    [picker] = [box for box in app.selectbox if box.label == "Class of script"]
    assert picker.value == dashboard.ScriptClass.HEADERS
    scripts = set(app.dataframe[0].value.index)
    assert "assistantary" in scripts
    assert not {"plain", "two_calls", "return_after_end"} & scripts
    picker.set_value("calls").run()
    assert app.query_params["class"] == "calls"
    assert "two_calls" in app.dataframe[0].value.index
    picker.set_value("all").run()
    assert "class" not in app.query_params
    assert {"plain", "assistantary"} <= set(app.dataframe[0].value.index)
    assert page(**{"class": "nonsense"}).dataframe[0].value.index.tolist()


def test_every_class_of_script_has_a_name_and_a_script() -> None:
    assert set(choosing.CLASSES) == {script.example_of for script in dashboard.lab_scripts()}


def test_a_cell_names_its_script_and_release_and_the_name_column_none() -> None:
    columns = {run.version: run for run in all_runs() if run.stream_interval == 3}
    table = matrix.frame(columns, dashboard.lab_scripts(), Endpoint.CHAT)
    assert matrix.picked(table, 0, "0.32.0") == ("plain", "0.32.0")
    assert matrix.picked(table, 0, "script") is None


def details() -> None:
    import os  # noqa: PLC0415 -- the function's source becomes an app of its own

    import inspector  # noqa: PLC0415
    from inspector import dashboard  # noqa: PLC0415
    from inspector.lab.results import all_runs  # noqa: PLC0415
    from pages.parts.matrix import body as matrix  # noqa: PLC0415

    version, name = os.environ["CELL"].split()
    run = next(run for run in all_runs() if run.version == version and run.stream_interval == 3)
    script = next(script for script in dashboard.lab_scripts() if script.name == name)
    matrix.details(run, inspector.Endpoint.CHAT, script, [])


def test_details_of_a_cell_have_differences_and_capture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CELL", "0.14.1 tool_call")
    app = AppTest.from_function(details, default_timeout=60).run()
    assert not app.exception
    assert app.header[0].value == "tool_call on vLLM 0.14.1"
    assert any("tool calls: get_weather(" in code.value for code in app.code)
    assert app.button[0].label == "Open in Replay"


def comparing() -> None:
    import inspector  # noqa: PLC0415 -- the function's source becomes an app of its own
    from inspector import dashboard  # noqa: PLC0415
    from inspector.lab.results import all_runs  # noqa: PLC0415
    from pages.parts.matrix import body as matrix  # noqa: PLC0415

    columns = {run.version: run for run in all_runs() if run.stream_interval == 3}
    script = next(script for script in dashboard.lab_scripts() if script.name == "tool_call")
    matrix.comparing("0.14.1", columns, inspector.Endpoint.CHAT, script)


def test_a_cell_is_compared_with_another_release_of_its_row() -> None:
    app = AppTest.from_function(comparing, default_timeout=60).run()
    assert not app.exception
    [box] = app.selectbox
    assert not [option for option in box.options if option.startswith("vLLM 0.14.1")]
    assert "vLLM 0.32.0: ● complete" in box.options
    with pytest.MonkeyPatch.context() as patch:
        opened: list[dict[str, str]] = []
        patch.setattr("streamlit.switch_page", lambda _, query_params: opened.append(query_params))
        box.set_value("0.32.0").run()
    assert not app.exception
    [sides] = opened
    names = [sides["left"], sides["right"]]
    assert all(name.endswith("/chat-tool_call") for name in names)
    assert "0.14.1" in names[0]
    assert "0.32.0" in names[1]
    session = app.session_state["inspector"]
    assert [title(session, name) for name in names] == [f"{name} · matrix" for name in names]


def test_shipped_results_have_their_captures() -> None:
    runs = all_runs()
    assert {(run.version, run.stream_interval) for run in runs} >= {
        (version, interval)
        for version in ("0.13.0", "0.14.1", "0.18.0", "0.23.0", "0.32.0")
        for interval in (1, 3)
    }
    for run in runs:
        assert run.packages["torch"]
        endpoint, script = next(iter(run.scores))
        assert dashboard.matrix_capture(run, endpoint, script) is not None


def test_the_filter_is_kept_in_the_address_bar() -> None:
    app = page(filter="emoji", differing="yes")
    assert (app.text_input[0].value, app.toggle[0].value) == ("emoji", True)
    app.toggle[0].set_value(False).run()
    app.text_input[0].input("tool").run()
    assert not app.exception
    assert app.query_params["filter"] in ("tool", ["tool"])
    assert "differing" not in app.query_params
