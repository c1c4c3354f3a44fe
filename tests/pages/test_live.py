"""The Live page without a browser: what stands there for servers that are there, are not, or are none."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from inspector import dashboard
from inspector.capture import End
from inspector.cli import main
from inspector.lab.process import free_port
from inspector.store import builtin, load
from tests.support.raw_server import Answer, page, raw_server

ROOT = Path(__file__).parents[2]
MODELS = '{"object": "list", "data": [{"id": "openai/gpt-oss-20b"}]}'


@pytest.fixture(autouse=True)
def anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A registry and a tap of this test's own environment."""
    monkeypatch.setenv("HARMONY_INSPECTOR_CAPTURES", str(tmp_path / "captures"))
    for kept in (dashboard.registry, dashboard.configured_upstreams):
        kept.cache_clear()
    yield
    for kept in (dashboard.registry, dashboard.configured_upstreams):
        kept.cache_clear()


def shown(address: str) -> AppTest:
    app = AppTest.from_file(ROOT / "pages" / "live.py", default_timeout=60)
    app.session_state["live_address"] = address
    app.run()
    assert not app.exception
    return app


def test_a_server_s_models_are_listed_and_start_is_ready() -> None:
    with raw_server({"/v1/models": lambda _: [page(200, MODELS, "application/json")]}) as server:
        app = shown(server.v1)
    assert app.button(key="live_start").disabled is False
    [models] = [one for one in app.selectbox if one.label == "Model"]
    assert models.options == ["openai/gpt-oss-20b"]


@pytest.mark.parametrize(
    ("address", "words"),
    [
        (f"http://127.0.0.1:{free_port()}", "connection refused at"),
        ("no address", "invalid server address"),
        ("http://me:pw@host", "an address with a password in it"),
    ],
)
def test_what_is_wrong_with_an_address_is_said_in_one_sentence(address: str, words: str) -> None:
    app = shown(address)
    [said] = app.error
    assert words in said.value.replace("\\", "")
    assert "pw@" not in said.value.replace("\\", "")
    assert app.button(key="live_start").disabled
    assert not app.info, "nothing is promised of a server that cannot be asked"


def test_without_upstreams_one_line_says_how_other_clients_can_be_watched() -> None:
    app = shown("no address")
    [told] = [one.value for one in app.caption if "HARMONY_INSPECTOR_UPSTREAMS" in one.value]
    assert 'HARMONY_INSPECTOR_UPSTREAMS="name=http://localhost:8000"' in told
    assert not app.code


def test_the_addresses_for_other_clients_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARMONY_INSPECTOR_UPSTREAMS", "old=http://a:8000 new+ids=http://b:8000/v1")
    app = shown("no address")
    assert [one.value.split("/", 3)[3] for one in app.code] == ["tap/old/v1", "tap/new/v1"]
    told = [one.value for one in app.caption]
    assert "to `http://a:8000/v1`" in told
    assert any(one.startswith("to `http://b:8000/v1`") and "token IDs are requested" in one for one in told)
    assert not any("HARMONY_INSPECTOR_UPSTREAMS" in one for one in told)


def test_a_run_of_another_client_is_listed_with_its_verdict_and_cannot_be_stopped_here() -> None:
    [capture] = load(builtin()[0].path)
    registry = dashboard.registry()
    run = registry.get(registry.opened(capture.header))
    assert run is not None
    for event in capture.events:
        registry.event(run.id, event)
    app = shown("no address")
    assert any("streaming" in one.value for one in app.markdown)
    app.button(key=f"live_watch_{run.id}").click().run()
    assert not [one for one in app.button if one.label == "Stop"]
    registry.ended(run.id, End(at_s=1.0, cut=False))
    app = shown("no address")
    run.audit()
    app.run()
    assert run.look is not None
    listed = [one.value.replace("\\", "") for one in app.markdown]
    assert [one for one in listed if run.look.seen.verdict.sentence in one]


def test_what_a_server_says_becomes_no_link() -> None:
    page_of_theirs = '{"error": {"message": "go to http://evil.example/x, or www.evil.example."}}'
    with raw_server({"/v1/models": lambda _: [page(401, page_of_theirs, "application/json")]}) as server:
        [said] = shown(server.v1).error
    assert "`http://evil.example/x`" in said.value
    assert "`www.evil.example`" in said.value


def test_the_check_shows_the_rows_that_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    answers: dict[str, Answer] = {
        "/v1/models": lambda _: [page(200, MODELS, "application/json")],
        "/version": lambda _: [page(200, '{"version": "0.13.0"}', "application/json")],
    }
    with raw_server(answers) as server:
        app = shown(server.v1)
        app.button(key="live_check").click().run()
        main(["doctor", "--base-url", server.v1, "--model", "openai/gpt-oss-20b", "--all"])
    _, sentence, *rows = capsys.readouterr().out.splitlines()
    told = [one.value.replace("\\", "").replace("`", "") for one in app.markdown]
    assert f"**{sentence}**" in told
    mine = [line.partition("] ")[2].replace("**", "") for line in told if line.startswith(":")]
    theirs = (
        "\n".join(rows)
        .replace(" --all lists them.", "")
        .replace("\n           change: ", "  \nChange: ")
        .split("\n  ")
    )
    shown_there = [line.strip().split(maxsplit=1) for line in theirs]
    assert sorted(mine) == sorted(f"{state.lower()} {words}" for state, words in shown_there)
    assert "note known faults: vLLM 0.13.0 has" in "\n".join(mine)
