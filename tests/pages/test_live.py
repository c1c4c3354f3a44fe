"""The Live page without a browser: what stands there for servers that are there, are not, or are none."""

import json
import ssl
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import pytest
from streamlit.testing.v1 import AppTest

from inspector import Endpoint, Level
from inspector.capture.capture import End
from inspector.cli import main
from inspector.files.store import builtin, load
from inspector.net.client.failures import connection_failure, refusal
from inspector.net.client.outcome import OutcomeKind, RequestOutcome
from inspector.net.runs.registry import registry as live_registry
from inspector.net.tap import configured_upstreams
from pages.parts.live.request_form import matching
from pages.ui.servers import server_of
from tests.support.listening import free_port
from tests.support.pages import banner, drawn
from tests.support.raw_server import Answer, RawRequest, page, raw_server, sse, stream

ROOT = Path(__file__).parents[2]
MODELS = '{"object": "list", "data": [{"id": "openai/gpt-oss-20b"}]}'


@pytest.fixture(autouse=True)
def anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A registry and a tap of this test's own environment."""
    monkeypatch.setenv("HARMONY_INSPECTOR_CAPTURES", str(tmp_path / "captures"))
    for kept in (live_registry, configured_upstreams):
        kept.cache_clear()
    yield
    for kept in (live_registry, configured_upstreams):
        kept.cache_clear()


def one(value: str | list[str]) -> str:
    """A query parameter, which AppTest gives as a list or not."""
    return value if isinstance(value, str) else value[0]


def shown(address: str) -> AppTest:
    app = AppTest.from_file(ROOT / "pages" / "live.py", default_timeout=180)
    app.session_state["live_address"] = address
    app.run()
    assert not app.exception
    return app


def test_a_server_s_models_are_listed_and_start_is_ready() -> None:
    with raw_server({"/v1/models": lambda _: [page(200, MODELS, "application/json")]}) as server:
        app = shown(server.v1)
    assert app.button(key="live_start").disabled is False
    [models] = [selectbox for selectbox in app.selectbox if selectbox.label == "Model"]
    assert models.options == ["openai/gpt-oss-20b"]


@pytest.mark.parametrize(
    ("address", "words"),
    [
        (f"http://127.0.0.1:{free_port()}", "Connection refused at"),
        ("no address", "Invalid server address"),
        ("http://me:pw@host", "an address with a password in it"),
    ],
    ids=["nobody listens", "no address", "password"],  # a free port is another one in each process
)
def test_what_is_wrong_with_an_address_is_said_in_one_sentence(address: str, words: str) -> None:
    app = shown(address)
    [error] = app.error
    assert words in error.value.replace("\\", "")
    assert "pw@" not in error.value.replace("\\", "")
    assert app.button(key="live_start").disabled
    assert not app.info, "nothing is promised of a server that cannot be asked"


def test_a_rejected_key_points_to_the_field_of_the_page() -> None:
    with raw_server(
        {"/v1/models": lambda _: [page(401, '{"error": "Unauthorized"}', "application/json")]}
    ) as server:
        app = shown(server.v1)
    [error] = app.error
    words = error.value.replace("\\", "")
    assert "rejected the API key (HTTP 401: Unauthorized)" in words
    assert "in the field “API key”" in words
    assert "--" not in words
    assert [text_input.label for text_input in app.text_input if "API key" in text_input.label]
    assert [box.label for box in app.expander if box.proto.expanded] == [
        "Messages, tools, sampling, connection"
    ], "the field is in sight"


def test_a_run_whose_key_is_rejected_opens_the_form_with_the_field() -> None:
    answers: dict[str, Answer] = {
        "/v1/models": lambda _: [page(200, MODELS, "application/json")],
        "/v1/chat/completions": lambda _: [page(401, '{"error": "Unauthorized"}', "application/json")],
    }
    with raw_server(answers) as server:
        app = shown(server.v1)
        app.button(key="live_start").click().run()
        [run] = live_registry().runs()
        assert run.ended.wait(120)
        app.run()
    assert not app.exception
    assert len([box for box in app.expander if box.proto.expanded]) == 2


def test_no_advice_on_a_page_names_an_option_of_the_command_line() -> None:
    server = server_of("http://host:8000", {}, {})
    failures = [
        connection_failure(httpx.ReadTimeout("slow"), server),
        connection_failure(ssl.SSLCertVerificationError("CERTIFICATE_VERIFY_FAILED"), server),
        refusal(403, "{}", server, path="/models"),
    ]
    assert [failure.sentence for failure in failures if " --" in failure.sentence] == []


def test_without_upstreams_one_line_says_how_other_clients_can_be_watched() -> None:
    app = shown("no address")
    [hint] = [caption.value for caption in app.caption if "HARMONY_INSPECTOR_UPSTREAMS" in caption.value]
    assert 'HARMONY_INSPECTOR_UPSTREAMS="name=http://localhost:8000"' in hint
    assert not app.code


def test_the_addresses_for_other_clients_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARMONY_INSPECTOR_UPSTREAMS", "old=http://a:8000 new+ids=http://b:8000/v1")
    app = shown("no address")
    assert [code.value.split("/", 3)[3] for code in app.code] == ["tap/old/v1", "tap/new/v1"]
    captions = [caption.value for caption in app.caption]
    assert "to `http://a:8000/v1`" in captions
    assert any(
        line.startswith("to `http://b:8000/v1`") and "token IDs are requested" in line for line in captions
    )
    assert not any("HARMONY_INSPECTOR_UPSTREAMS" in line for line in captions)


def test_a_run_of_another_client_is_listed_with_its_verdict_and_cannot_be_stopped_here() -> None:
    capture = load(builtin()[0].path)
    registry = live_registry()
    run = registry.get(registry.opened(capture.header))
    assert run is not None
    for event in capture.events:
        registry.event(run.id, event)
    app = shown("no address")
    assert any("streaming" in paragraph.value for paragraph in app.markdown)
    app.button(key=f"live_watch_{run.id}").click().run()
    assert not [button for button in app.button if button.label == "Stop"]
    registry.ended(run.id, End(at_s=1.0, cut=False))
    app = shown("no address")
    run.audit()
    app.run()
    assert run.look is not None
    listed = [paragraph.value.replace("\\", "") for paragraph in app.markdown]
    assert [line for line in listed if run.look.examined.verdict.sentence in line]


def test_recent_runs_are_filtered_ordered_and_removed() -> None:
    registry = live_registry()
    made = []
    for words in ("chat-whole-vllm", "tool-call-leak", "whole-one", "tool-call-dropped"):
        capture = load(next(row.path for row in builtin() if words in row.name))
        run = registry.get(registry.opened(capture.header))
        assert run is not None
        for event in capture.events:
            registry.event(run.id, event)
        registry.ended(run.id, End(at_s=1.0, cut=False))
        run.audit()
        made.append(run.id)
    app = shown("no address")

    def listed() -> list[str]:
        keys = [str(button.key) for button in app.button]
        return [key.removeprefix("live_watch_") for key in keys if key.startswith("live_watch_")]

    assert listed() == made[::-1]
    [order] = [group for group in app.button_group if group.key == "live_runs_order"]
    order.set_value("Errors first").run()
    assert listed() == [made[3], made[1], made[2], made[0]]
    app.text_input(key="live_runs_filter").set_value("error CHAT").run()
    assert listed() == [made[3], made[1]]
    app.text_input(key="live_runs_filter").set_value("").run()
    app.button(key=f"live_forget_{made[3]}").click().run()
    assert not app.exception
    assert made[3] not in [run.id for run in registry.runs()]
    assert listed() == made[2::-1], "three runs need no filter"


def test_what_a_server_says_becomes_no_link() -> None:
    page_of_theirs = '{"error": {"message": "go to http://evil.example/x, or www.evil.example."}}'
    with raw_server({"/v1/models": lambda _: [page(401, page_of_theirs, "application/json")]}) as server:
        [error] = shown(server.v1).error
    assert "`http://evil.example/x`" in error.value
    assert "`www.evil.example`" in error.value


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
    paragraphs = [paragraph.value.replace("\\", "").replace("`", "") for paragraph in app.markdown]
    assert f"**{sentence}**" in paragraphs
    page_lines = [line.partition("] ")[2].replace("**", "") for line in paragraphs if line.startswith(":")]
    command_lines = (
        "\n".join(rows)
        .replace(" --all lists them.", "")
        .replace("\n           change: ", "  \nChange: ")
        .split("\n  ")
    )
    shown_there = [line.strip().split(maxsplit=1) for line in command_lines]
    assert sorted(page_lines) == sorted(f"{state.lower()} {words}" for state, words in shown_there)
    assert "note known faults: vLLM 0.13.0 has" in "\n".join(page_lines)


def test_the_models_are_those_that_the_endpoint_serves() -> None:
    cards = [
        {"id": "for-chat", "endpoints": ["/v1/chat/completions"]},
        {"id": "for-responses", "endpoints": ["/v1/responses"]},
        {"id": "for-all"},
    ]
    listed = json.dumps({"object": "list", "data": cards})
    with raw_server({"/v1/models": lambda _: [page(200, listed, "application/json")]}) as server:
        app = shown(server.v1)
        [models] = [selectbox for selectbox in app.selectbox if selectbox.label == "Model"]
        assert (models.options, models.value) == (["for-chat", "for-all"], "for-chat")
        app.segmented_control(key="live_endpoint").set_value(Endpoint.RESPONSES).run()
        assert not app.exception
        [models] = [selectbox for selectbox in app.selectbox if selectbox.label == "Model"]
        assert (models.options, models.value) == (["for-responses", "for-all"], "for-responses")
        models.set_value("for-all").run()
        app.segmented_control(key="live_endpoint").set_value(Endpoint.CHAT).run()
        [models] = [selectbox for selectbox in app.selectbox if selectbox.label == "Model"]
        assert models.value == "for-all", "a model that the new endpoint serves too stays"


@pytest.mark.parametrize(
    ("typed", "chosen"),
    [("PREAMBLE", "chat-preamble"), ("chat", "chat"), ("-B chat", "chat-b"), ("mine/tuned", "mine/tuned")],
)
def test_typed_words_choose_the_model_that_contains_them(typed: str, chosen: str) -> None:
    assert matching(typed, ["chat-preamble", "chat-b", "chat"]) == chosen


def test_the_form_survives_a_reload_but_keys_do_not() -> None:
    with raw_server({"/v1/models": lambda _: [page(200, MODELS, "application/json")]}) as server:
        app = shown(server.v1)
        app.text_input(key="live_prompt").set_value("Count to three.")
        app.number_input(key="live_max_tokens").set_value(64)
        app.text_input(key="live_key").set_value("sk-secret")
        app.toggle(key="live_ids").set_value(False)
        app.run()
        name = one(app.query_params["form"])
        again = AppTest.from_file(ROOT / "pages" / "live.py", default_timeout=180)
        again.query_params["form"] = name
        again.run()
    assert not again.exception
    assert again.text_input(key="live_address").value == server.v1
    assert again.text_input(key="live_prompt").value == "Count to three."
    assert again.number_input(key="live_max_tokens").value == 64
    assert again.toggle(key="live_ids").value is False
    assert again.text_input(key="live_key").value == ""


def test_a_form_that_nobody_changed_is_not_named_in_the_url() -> None:
    app = AppTest.from_file(ROOT / "pages" / "live.py", default_timeout=180).run()
    assert not app.exception
    assert drawn(app, "ghost"), "the page opens as what it will look like"
    assert not app.warning
    assert "form" not in app.query_params


def test_a_linked_run_shows_the_request_that_it_was_made_with_and_can_be_asked_again() -> None:
    chunk = {"choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]}
    answers: dict[str, Answer] = {
        "/v1/models": lambda _: [page(200, MODELS, "application/json")],
        "/v1/chat/completions": lambda _: stream([sse(chunk), b"data: [DONE]\n\n"]),
    }
    with raw_server(answers) as server:
        app = shown(server.v1)
        app.text_input(key="live_prompt").set_value("First.").run()
        app.button(key="live_start").click().run()
        [first] = live_registry().runs()
        assert first.ended.wait(120)
        linked = AppTest.from_file(ROOT / "pages" / "live.py", default_timeout=180)
        linked.query_params["run"] = first.id
        linked.run()
        assert not linked.exception
        assert linked.text_input(key="live_prompt").value == "First."
        assert linked.text_input(key="live_address").value == server.v1
        linked.button(key="live_again").click().run()
        assert not linked.exception
        second = live_registry().runs()[0]
        assert second.id != first.id
        assert second.ended.wait(120)
        sent = server.bodies("/v1/chat/completions")
    assert sent[0] == sent[1]
    assert one(linked.query_params["run"]) == second.id


def test_a_run_that_the_user_stopped_is_no_failure() -> None:
    capture = load(next(row.path for row in builtin() if "whole" in row.name and "chat" in row.name))
    registry = live_registry()
    run = registry.get(registry.opened(capture.header))
    assert run is not None
    for event in capture.events[:6]:
        registry.event(run.id, event)
    assert run.silence_s() < 60
    run.closed(End(at_s=1.0, cut=True, detail="stopped by the client", stopped=True))
    run.finish(RequestOutcome(kind=OutcomeKind.STOPPED_BY_USER, failure="stopped by you"))
    with raw_server({"/v1/models": lambda _: [page(200, MODELS, "application/json")]}) as server:
        app = AppTest.from_file(ROOT / "pages" / "live.py", default_timeout=180)
        app.session_state["live_address"] = server.v1
        app.query_params["run"] = run.id
        app.run()
    assert not app.exception
    assert not app.error
    count = len(run.reading().choice.tokens)
    assert [info.value for info in app.info] == [f"Stopped by you after {count} tokens."]
    shown_banner = banner(app)
    assert shown_banner["level"] == "clean", shown_banner["sentence"]


def test_a_rejected_request_is_said_once() -> None:
    answers: dict[str, Answer] = {
        "/v1/models": lambda _: [page(200, MODELS, "application/json")],
        "/v1/chat/completions": lambda _: [
            page(
                400,
                '{"error": {"message": "max_tokens must be at least 1", "code": 400}}',
                "application/json",
            )
        ],
    }
    with raw_server(answers) as server:
        app = shown(server.v1)
        app.button(key="live_start").click().run()
        [run] = live_registry().runs()
        assert run.ended.wait(120)
        app.run()
    assert not app.exception
    assert banner(app)["sentence"] == "Your client got an error and no answer."
    assert "max_tokens must be at least 1" in banner(app)["why"]
    assert not app.error
    assert [words for words, *_ in banner(app)["fixes"]][-1] == "Diagnose"
    assert banner(app)["report"] == "", "a button makes the report"
    with pytest.raises(IndexError):
        drawn(app, "strip")


def test_the_fix_while_a_run_grows_is_the_fix_at_its_end() -> None:
    registry, changed = live_registry(), []
    for row in builtin():
        capture = load(row.path)
        run = registry.get(registry.opened(capture.header))
        assert run is not None
        for event in capture.events[:-2]:
            registry.event(run.id, event)
        if run.audit().examined.verdict.level is not Level.ERROR:
            registry.ended(run.id, End(at_s=9.0, cut=False))
            continue
        shown_so_far = _watched(run.id)
        for event in capture.events[-2:]:
            registry.event(run.id, event)
        registry.ended(run.id, capture.end or End(at_s=9.0, cut=False))
        run.audit()
        assert shown_so_far["sentence"].startswith("So far: ")
        early = shown_so_far["fixes"]
        if _watched(run.id)["fixes"][: len(early)] != early:  # a link to all causes may follow at the end
            changed.append(row.name)
    assert changed == ["chat-unknown-role-vllm-0.13.0"], "its last event is an error of another cause"


def _watched(run: str) -> dict[str, Any]:
    app = AppTest.from_file(ROOT / "pages" / "live.py", default_timeout=180)
    app.session_state["live_address"] = "no address"
    app.query_params["run"] = run
    app.run()
    assert not app.exception
    return banner(app)


def test_a_server_that_hangs_does_not_hold_up_the_page() -> None:
    release, answered = Event(), Event()

    def hang(_: RawRequest) -> list[bytes]:
        release.wait(60)
        answered.set()
        return [page(200, MODELS, "application/json")]

    with raw_server({"/v1/models": hang}) as server:
        app = shown(server.v1)
        assert not answered.is_set(), "the page is drawn before the server answers"
        assert any("Waiting for the model list of" in caption.value for caption in app.caption)
        assert not app.error
        release.set()
        for _ in range(50):
            app.run()
            [models] = [selectbox for selectbox in app.selectbox if selectbox.label == "Model"]
            if models.options:
                break
        assert models.options == ["openai/gpt-oss-20b"]


def test_a_link_to_a_run_that_is_gone_says_so() -> None:
    app = AppTest.from_file(ROOT / "pages" / "live.py", default_timeout=180)
    app.session_state["live_address"] = "no address"
    app.query_params["run"] = "20260101-000000-chat-abcdef"
    app.run()
    assert not app.exception
    assert "not found" in app.warning[0].value
