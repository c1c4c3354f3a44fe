"""The Compare page where it asks two servers, without a browser but with real servers."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.applications import Starlette
from streamlit.testing.v1 import AppTest

import inspector
from inspector.files.store import builtin as builtin_captures
from inspector.net.client.address import Server
from inspector.net.client.request import LiveRequest
from inspector.net.playback import playback_routes
from inspector.net.playback.selection import fits
from inspector.net.runs.registry import FOLDER_VARIABLE, Registry
from inspector.net.runs.registry import registry as live_registry
from tests.support.listening import free_port, listening
from tests.support.pages import banner, drawn
from tests.support.strips import unpacked

PAGE = str(Path(__file__).parents[2] / "pages" / "compare.py")
LEFT, RIGHT = "chat-tool-call-dropped-vllm-0.13.0", "chat-tool-call-leak-vllm-0.14.1"
WHOLE = "chat-whole-vllm-0.14.1"


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    """The registry of the process, with a folder of its own."""
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    live_registry.cache_clear()
    yield live_registry()
    live_registry.cache_clear()


@pytest.fixture(scope="module")
def playback() -> Iterator[str]:
    """Address of a server that plays the built-in captures."""
    captures = {row.name: inspector.load(row.path) for row in builtin_captures()}
    with listening(Starlette(routes=playback_routes(lambda: captures))) as address:
        yield f"{address}/playback/v1"


def unescaped(markdown: str) -> str:
    """What a reader sees of a text that stands in Markdown as it is."""
    return markdown.replace("\\", "").replace("`", "")


def page_after(
    registry: Registry,
    left: tuple[str, str],
    right: tuple[str, str],
    *,
    runs: int = 1,
    right_headers: str = "",
) -> AppTest:
    """The page after a trial: its form filled, `Ask both` pressed, the runs waited for."""
    app = AppTest.from_file(PAGE, default_timeout=120)
    app.query_params["trial"] = "none"
    app.session_state["ask_right_headers"] = right_headers
    for side, (address, model) in (("left", left), ("right", right)):
        app.session_state[f"ask_{side}_address"] = address
        app.session_state[f"ask_{side}_model_{address}_chat"] = model
    app.run()
    app.number_input(key="ask_runs").set_value(runs)
    app.run()
    app.button(key="ask_start").click().run()
    assert not app.exception
    assert all(registry.wait(run, 120) for run in registry.runs())
    app.run()
    assert not app.exception
    return app


def test_a_link_to_runs_that_are_gone_says_so_and_offers_the_form(registry: Registry) -> None:
    app = AppTest.from_file(PAGE, default_timeout=120)
    app.query_params["trial"] = "<b>gone</b>"
    app.run()
    assert not app.exception
    assert "no longer in memory" in app.warning[0].value
    assert "Ask both" in app.info[0].value


def test_both_answers_are_compared_and_the_address_names_the_runs(registry: Registry, playback: str) -> None:
    app = page_after(registry, (playback, LEFT), (playback, RIGHT))
    assert banner(app)["sentence"].startswith("The tokens are the same; the left server lost 2 tokens")
    _, _, payload = drawn(app, "strip").bytes.partition(b"\n")
    assert unpacked(payload)["count"] == 32
    right, left = (run.id for run in registry.runs())
    assert app.query_params == {"trial": left, "left": f"{left}.jsonl", "right": f"{right}.jsonl"}
    runs = registry.trial(left)
    assert runs is not None
    [left_request, right_request] = [run.header.request for run in runs.runs]
    assert {**left_request, "model": ""} == {**right_request, "model": ""}
    assert (left_request["temperature"], left_request["seed"]) == (0.0, 0)


def test_the_runs_are_among_the_captures(registry: Registry, playback: str) -> None:
    app = page_after(registry, (playback, LEFT), (playback, RIGHT))
    names = [f"{run.id}.jsonl" for run in registry.runs()]
    app.segmented_control(key="compare_from").set_value("Two captures").run()
    assert not app.exception
    picker = app.selectbox(key="compare_right")
    assert [option.startswith("run of ") for option in picker.options[:3]] == [True, True, False]
    assert {app.selectbox(key=f"compare_{side}").value for side in ("left", "right")} == set(names)
    assert banner(app)["sentence"].startswith("The tokens are the same; the left server lost 2 tokens")
    replay = AppTest.from_file(Path(PAGE).with_name("replay.py"), default_timeout=120)
    replay.query_params["capture"] = names[0]
    replay.run()
    assert not replay.exception
    assert drawn(replay, "strip").bytes


def test_several_runs_give_rates_the_test_and_a_row_a_run(registry: Registry, playback: str) -> None:
    app = page_after(registry, (playback, WHOLE), (playback, RIGHT), runs=4)
    assert banner(app)["sentence"] == (
        "Left: 0 of 4 runs (0%) with errors, right: 4 of 4 runs (100%). The difference is "
        "statistically significant (Fisher's exact test, two-sided, p = 0.029)."
    )
    rows = app.dataframe[0].value
    assert list(rows["side"]) == ["left"] * 4 + ["right"] * 4
    assert list(rows["errors"] > 0) == [False] * 4 + [True] * 4
    assert (
        len(
            [
                component
                for component in app.get("bidi_component")
                if component.proto.component_name == "inspector_strip"
            ]
        )
        == 1
    )


def test_runs_that_were_stopped_by_hand_count_in_no_rate(registry: Registry, playback: str) -> None:
    request = LiveRequest(model=LEFT, prompt="Hello")
    stalled = Server(base_url=playback, headers={"X-Playback-Faults": "stall=4:300"})
    trial = registry.start_trial((stalled, request), (Server(base_url=playback), request), runs=2)
    assert all(registry.wait(run, 120) for run in trial.right)
    trial.stop()
    assert all(registry.wait(run, 120) for run in trial.left)
    app = AppTest.from_file(PAGE, default_timeout=120)
    app.query_params["trial"] = trial.id
    for side in ("left", "right"):
        app.session_state[f"ask_{side}_address"] = playback
    app.run()
    assert not app.exception
    assert [unescaped(error.value) for error in app.error] == ["Left, 2 of 2 runs: stopped by you."]
    banners = [
        json.loads(component.proto.json)[0]["sentence"]
        for component in app.get("bidi_component")
        if component.proto.component_name == "inspector_banner"
    ]
    assert banners[0] == (
        "Left: 0 of 0 runs with errors, right: 2 of 2 runs (100%). No test is possible, because one "
        "side has no runs with evidence."
    )
    assert banners[1].startswith("Your client got a broken tool call")
    assert list(app.dataframe[0].value["side"]) == ["right", "right"]


def test_the_side_that_answered_is_shown_when_the_other_did_not(registry: Registry, playback: str) -> None:
    app = page_after(
        registry, (playback, LEFT), (playback, RIGHT), right_headers="X-Playback-Faults: http=500"
    )
    [sentence] = [unescaped(error.value) for error in app.error]
    assert sentence.startswith("Right: http://127.0.0.1:")
    assert "500" in sentence
    assert banner(app)["sentence"].startswith("Your client got a broken tool call")


def test_a_server_that_is_not_there_is_told_before_anybody_asks(registry: Registry, playback: str) -> None:
    app = AppTest.from_file(PAGE, default_timeout=120)
    app.query_params["trial"] = "none"
    app.session_state["ask_left_address"] = playback
    app.session_state["ask_right_address"] = f"http://127.0.0.1:{free_port()}"
    app.run()
    assert not app.exception
    [error] = app.error
    assert error.value.startswith("Connection refused at")
    assert app.button(key="ask_start").disabled


def test_chosen_captures_are_two_groups_of_runs() -> None:
    app = AppTest.from_file(PAGE, default_timeout=120)
    app.session_state["compare_section"] = "More"
    app.run()
    assert "Select the runs of each side" in app.info[1].value
    app.multiselect(key="compare_repeats_left").set_value([LEFT, RIGHT])
    app.multiselect(key="compare_repeats_right").set_value([WHOLE])
    app.run()
    assert not app.exception
    banners = [
        json.loads(component.proto.json)[0]["sentence"]
        for component in app.get("bidi_component")
        if component.proto.component_name == "inspector_banner"
    ]
    assert banners[1] == (
        "Left: 2 of 2 runs (100%) with errors, right: 0 of 1 runs (0%). The difference is not "
        "statistically significant (Fisher's exact test, two-sided, p = 0.33)."
    )
    assert list(app.dataframe[0].value["result"]) == ["error", "error", "clean"]


def test_each_side_lists_the_models_of_the_chosen_endpoint(registry: Registry, playback: str) -> None:
    app = AppTest.from_file(PAGE, default_timeout=120)
    app.query_params["trial"] = "none"
    for side in ("left", "right"):
        app.session_state[f"ask_{side}_address"] = playback
    app.run()
    builtin = [(row.name, inspector.load(row.path)) for row in builtin_captures()]
    fitting = {
        endpoint: [
            name for name, capture in builtin if fits(capture, inspector.Endpoint(endpoint), streamed=True)
        ]
        for endpoint in ("chat", "responses", "completions")
    }
    names = {name for name, _ in builtin}
    for endpoint, names_of_it in fitting.items():
        app.segmented_control(key="ask_endpoint").set_value(endpoint).run()
        assert not app.exception
        for side in ("left", "right"):
            options = app.selectbox(key=f"ask_{side}_model_{playback}_{endpoint}").options
            assert [option for option in options if option in names] == names_of_it
