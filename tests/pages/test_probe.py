"""The Probe page without a browser: the form, a probe of a real server, and its result."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.applications import Starlette
from streamlit.testing.v1 import AppTest

from inspector.fleet.probe import Result, summary
from inspector.fleet.probe_registry import probes
from inspector.net.playback import PlaybackSettings, playback_routes
from inspector.net.runs.registry import registry
from pages.parts.probe import plots
from pages.parts.probe.results import reason
from pages.ui.state import Session
from tests.support.answers import counted
from tests.support.builtin import CAPTURES, TOOL
from tests.support.listening import free_port, listening
from tests.support.pages import banner, tables
from tests.support.probes import row, rows
from tests.support.raw_server import page, raw_server

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def playback() -> Iterator[str]:
    fast = PlaybackSettings().changed({"speed": "inf"})
    with listening(Starlette(routes=playback_routes(lambda: CAPTURES, prefix="", settings=fast))) as address:
        yield f"{address}/v1"


@pytest.fixture(autouse=True)
def anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("HARMONY_INSPECTOR_CAPTURES", str(tmp_path / "captures"))
    for kept in (registry, probes):
        kept.cache_clear()
    yield
    for kept in (registry, probes):
        kept.cache_clear()


def shown(address: str, **values: object) -> AppTest:
    app = AppTest.from_file(ROOT / "pages" / "probe.py", default_timeout=180)
    app.session_state["probe_address"] = address
    for key, value in values.items():
        app.session_state[key] = value
    app.run()
    assert not app.exception
    return app


def ended(app: AppTest) -> AppTest:
    run = probes().runs()[0]
    assert run is not None
    assert run.wait(120)
    app.run()
    assert not app.exception
    return app


def test_a_probe_says_its_result_first_and_its_streams_open_in_replay(playback: str) -> None:
    app = shown(playback, **{f"probe_model_{playback}": TOOL, "probe_requests": 6})
    assert "**EXAMPLE**" in app.markdown[0].value
    assert "checked responses were silently damaged" in banner(app)["sentence"]
    assert [box.proto.expanded for box in app.expander] == [True, False], (
        "the form is open, and what is rare is not"
    )
    app.button(key="probe_start").click().run()
    ended(app)
    assert not any(box.proto.expanded for box in app.expander)
    heading = banner(app)
    assert heading["level"] == "error"
    assert (
        heading["sentence"]
        == "6 of 6 checked responses were silently damaged: 100% (95% interval 61% to 100%)."
    )
    cause = "Text of an engine step that spans two messages is filed under one channel"
    assert heading["blame"] == f"Cause of 6 of 6: {cause}."
    [groups] = (table.value for table in app.dataframe)
    assert groups.iloc[0].to_dict() | {"sent": 6} == {
        "requests": "all requests",
        "sent": 6,
        "ok": 0,
        "failed": 0,
        "silently damaged": 6,
        "unknown": 0,
        "damaged rate (95%)": "100% (61%-100%)",
        "failed rate (95%)": "0% (0%-39%)",
    }
    streams = tables(app)["Responses that were damaged, failed, or could not be checked"]
    assert [stream["result"] for stream in streams] == ["✕ silently damaged"] * 6
    fixes = dict(heading["fixes"])
    assert fixes["vLLM 0.24.0 or newer"] == "matrix?endpoint=chat&class=calls&release=0.24.0"
    assert any((url or "").startswith("https://github.com/vllm-project/vllm/") for url in fixes.values())
    [reason] = tables(app)["Why responses are not ok"]
    assert list(reason.values()) == [f"✕ {cause}", 6]
    assert app.query_params["probe"]
    files = [element.proto.label for element in app.get("download_button")]
    assert files == ["Result (JSON)", "Requests (CSV)", "Test report (JUnit)", "Code scanning (SARIF)"]


def test_earlier_probes_are_listed_and_opened_by_their_address(playback: str) -> None:
    app = shown(playback, **{f"probe_model_{playback}": TOOL, "probe_requests": 3})
    app.button(key="probe_start").click().run()
    ended(app)
    assert "Other probes" not in tables(app)
    first = probes().runs()[0]
    app.session_state["probe_load"] = "Sweep"
    app.session_state["probe_limit"] = 1
    app.session_state["probe_smallest"] = 20.0
    app.run()
    app.button(key="probe_start").click().run()
    ended(app)
    [other] = tables(app)["Other probes"]
    assert (other["requests"], other["damaged"], other["load"]) == (3, 3, "4 workers")
    link = AppTest.from_file(ROOT / "pages" / "probe.py", default_timeout=180)
    link.query_params["probe"] = first.id
    link.run()
    assert "3 of 3 checked responses" in banner(link)["sentence"]
    assert link.number_input(key="probe_requests").value == 3
    assert not link.warning


def test_a_page_opened_during_a_sweep_shows_what_runs() -> None:
    answers, count = counted(20)
    models = json.dumps({"object": "list", "data": [{"id": "m", "object": "model", "owned_by": "vllm"}]})
    answers["/v1/models"] = lambda _: [page(200, models, "application/json")]
    with raw_server(answers) as server:
        values = {"probe_limit": 16, "probe_smallest": 0.5, "probe_prompts": "One\nTwo"}
        app = shown(server.v1, **{f"probe_model_{server.v1}": "m"}, probe_load="Sweep", **values)
        app.button(key="probe_start").click().run()
        assert count.wait(120)
        again = AppTest.from_file(ROOT / "pages" / "probe.py", default_timeout=180)
        again.query_params["probe"] = probes().runs()[0].id
        again.run()
        assert not again.exception
        assert not again.warning
        assert again.text_input(key="probe_address").value == server.v1
        assert again.text_area(key="probe_prompts").value == "One\nTwo"
        assert again.segmented_control(key="probe_load").value == "Sweep"
        assert again.number_input(key="probe_limit").value == 16
        assert again.number_input(key="probe_smallest").value == 0.5
        again.button(key="probe_stop").click().run()
        ended(again)


def test_the_load_decides_which_numbers_are_asked_for(playback: str) -> None:
    app = shown(playback)
    assert {number_input.label for number_input in app.number_input} >= {
        "Workers",
        "Requests",
        "Minutes at most",
    }
    app.session_state["probe_load"] = "Sweep"
    app.run()
    assert "Up to, streams at once" in {number_input.label for number_input in app.number_input}
    app.session_state["probe_load"] = "Fixed rate"
    app.run()
    assert "Requests per second" in {number_input.label for number_input in app.number_input}
    assert not app.exception


def test_a_second_server_a_control_and_a_rate_reach_the_plan(playback: str) -> None:
    app = shown(
        playback,
        **{f"probe_model_{playback}": TOOL},
        probe_second=playback,
        probe_load="Fixed rate",
        probe_rate=200.0,
        probe_requests=8,
        probe_control=25,
    )
    app.button(key="probe_start").click().run()
    ended(app)
    run = probes().runs()[0]
    assert run is not None
    assert run.probe is not None
    assert [target.name for target in run.probe.targets] == ["A", "B"]
    assert sum(row.control for row in run.probe.rows) == 4
    assert {row.level for row in run.probe.rows} == {0}


def test_a_probe_that_was_stopped_goes_on_with_its_rows() -> None:
    answers, count = counted(20)
    models = json.dumps({"object": "list", "data": [{"id": "m", "object": "model", "owned_by": "vllm"}]})
    answers["/v1/models"] = lambda _: [page(200, models, "application/json")]
    with raw_server(answers) as server:
        app = shown(server.v1, **{f"probe_model_{server.v1}": "m"}, probe_requests=50_000)
        app.button(key="probe_start").click().run()
        assert count.wait(120)
        app.button(key="probe_stop").click().run()
        ended(app)
        first = probes().runs()[0]
        assert first is not None
        assert first.probe is not None
        assert first.resumable
        again, more = counted(20)
        server.answers.update(again)
        app.button(key="probe_continue").click().run()
        assert more.wait(120)
        second = probes().runs()[0]
        assert second is not None
        assert second is not first
        assert second.plan.folder == first.plan.folder
        app.button(key="probe_stop").click().run()
        ended(app)
        assert second.probe is not None
        kept = [row.number for row in first.probe.rows]
        assert [row.number for row in second.probe.rows[: len(kept)]] == kept
    assert not app.exception


def test_prompts_come_from_a_file(playback: str) -> None:
    app = shown(playback, **{f"probe_model_{playback}": TOOL, "probe_requests": 2})
    lines = b'{"messages": [{"role": "user", "content": "Hello"}]}\n"Weather?"\n'
    app.file_uploader(key="probe_file").upload("prompts.jsonl", lines, "application/jsonl").run()
    app.button(key="probe_start").click().run()
    ended(app)
    run = probes().runs()[0]
    assert run is not None
    assert [prompt.label for prompt in run.plan.prompts] == ["prompt 1", "Weather?"]
    app.file_uploader(key="probe_file").upload("prompts.jsonl", b"{", "application/jsonl").run()
    app.button(key="probe_start").click().run()
    assert app.error[0].value.replace("\\", "").startswith("prompts.jsonl: invalid JSON in line 1")


def test_what_goes_wrong_is_one_sentence() -> None:
    app = shown("no address")
    assert "Invalid server address" in app.error[0].value.replace("\\", "")
    assert app.button(key="probe_start").disabled
    app = shown(f"http://127.0.0.1:{free_port()}")
    assert "Connection refused" in app.error[0].value.replace("\\", "")
    assert app.button(key="probe_start").disabled


def test_a_server_that_has_gone_since_is_said(playback: str) -> None:
    app = shown(playback, **{f"probe_model_{playback}": TOOL}, probe_second=f"http://127.0.0.1:{free_port()}")
    app.button(key="probe_start").click().run()
    assert "connection refused" in ended(app).error[-1].value.replace("\\", "")


def test_a_probe_that_is_not_known_any_more_is_said() -> None:
    app = AppTest.from_file(ROOT / "pages" / "probe.py", default_timeout=180)
    app.session_state["probe_address"] = "no address"
    app.session_state["inspector"] = Session(probe="gone")
    app.run()
    assert "no longer in memory" in app.warning[0].value


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_plots_have_an_interval_for_each_load_and_no_markup_of_channels(theme: str) -> None:
    probe_rows = [*rows(ok=6, damaged=2), row(9, in_flight=1), row(10, first_s={"<b>x</b>": 0.5})]
    totals = summary(probe_rows)
    figure = plots.losses(totals.by_load, "streams at once", theme)
    assert figure is not None
    [series] = figure.data
    assert list(series.x) == ["1", "3-4"]
    assert all(low >= 0 for low in series.error_y.arrayminus)
    assert plots.losses(totals.by_load[:1], "streams at once", theme) is None
    times = plots.times(totals, theme)
    assert times is not None
    assert "first token, bxb" in {name for trace in times.data for name in trace.y}
    assert plots.times(summary([]), theme) is None


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_request_is_in_the_plot_over_time_once(theme: str) -> None:
    results = [list(Result)[number % 4] for number in range(101)]
    timed = [row(number, result, started_s=(number * 37 % 101) / 7) for number, result in enumerate(results)]
    for probe_rows in (timed, timed[:1], [replace(each, started_s=0.0) for each in timed]):
        figure = plots.over_time(probe_rows, theme)
        amounts = {bar.name: sum(bar.y) for bar in figure.data}
        expected = Counter(plots.RESULT_WORDS[each.result] for each in probe_rows)
        assert amounts == expected
    assert not plots.over_time([], theme).data


def test_damage_without_a_known_cause_is_one_reason_whatever_its_sentences() -> None:
    damaged = [
        row(number, Result.DAMAGED, sentence=f"The server lost {number} tokens.") for number in range(9)
    ]
    assert {reason(each) for each in damaged} == {"✕ no known cause: dropped"}
