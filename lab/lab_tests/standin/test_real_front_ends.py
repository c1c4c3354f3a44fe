"""The newest official release's front ends, Python and Rust, on the stand-in engine.

Deselected unless asked for with `-m vllm`; needs
`python -m inspector lab install --front-end 0.33.0 --rust 0.33.0`.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import anthropic
import httpx
import pytest
from anthropic.types import ThinkingBlock, ToolUseBlock

from harmony_lab.clients import CLIENTS
from harmony_lab.derender import derender, scale_out
from harmony_lab.install import installed
from harmony_lab.paths import LabPaths
from harmony_lab.process import free_port
from harmony_lab.recording import Target, ask, record
from harmony_lab.score import score
from harmony_lab.server import ServerOptions
from harmony_lab.session import LabSession
from harmony_lab.standin.checking import chunking_fault
from harmony_lab.standin.install import FRONT_END, NEWEST_FRONT_END, RUST, engine_path
from harmony_lab.standin.serving import IMPORT_PATH, StandinServer
from harmony_lab.standin.steps import RAGGED
from inspector.analysis.audit.verdict import Level
from inspector.analysis.reading import read
from inspector.capture.capture import Capture, Endpoint
from inspector.capture.errors import LabError
from inspector.files.store import FIXTURES, load, save
from inspector.fleet.doctor import CheckState, check_server
from inspector.inspection.inspection import inspect
from inspector.matrix import requests as bodies
from inspector.matrix.checkup import release_rows
from inspector.matrix.requests import SERVED_NAME
from inspector.matrix.results import UNSTREAMED, ScriptOutcome, default_root, every_run, load_runs
from inspector.matrix.scripts import ENDPOINTS, Script, named
from inspector.net.client.address import Server
from inspector.net.client.request import LiveRequest
from inspector.net.runs.registry import Registry
from inspector.protocol.engines.vllm_rust import VLLM_RUST
from lab_tests.support.clients import assert_clients_read_as_before
from lab_tests.support.scripts import SLICE
from tests.support.random_scripts import arguments, parsed, plain, random_script
from tests.support.upstreams import tapped

pytestmark = pytest.mark.vllm

STREAMED = [name for name in SLICE if not name.startswith("turn_")]


@pytest.fixture(scope="module", params=[FRONT_END, RUST])
def server(request: pytest.FixtureRequest) -> Iterator[StandinServer]:
    paths = LabPaths(default_root())
    environment = installed(paths, request.param, NEWEST_FRONT_END)
    assert environment is not None, (
        f"{request.param} {NEWEST_FRONT_END} is not installed: run python -m inspector lab install "
        f"--front-end {NEWEST_FRONT_END} --rust {NEWEST_FRONT_END}"
    )
    lab = LabSession(paths=paths, package=request.param)
    with ExitStack() as stack:
        options = ServerOptions(schedule=RAGGED, flags=scale_out(NEWEST_FRONT_END))
        running = lab.serving(stack, environment, options)
        assert isinstance(running, StandinServer)
        yield running


def is_rust(server: StandinServer) -> bool:
    return any(part.endswith("/vllm-rs") for part in server.command)


@pytest.mark.parametrize("step", ["1", RAGGED])
def test_outcomes_and_schedules_are_those_of_the_built_in_matrix(server: StandinServer, step: str) -> None:
    server.engine.set_steps(step)
    package = RUST if is_rust(server) else FRONT_END
    shipped = next(
        run
        for run in load_runs(FIXTURES / "matrix" / "stand-in")
        if (run.package, run.version, run.step) == (package, NEWEST_FRONT_END, step)
    )
    lacks = VLLM_RUST.lacks.keys() if is_rust(server) else set[Endpoint]()
    targets = [
        Target(endpoint, script)
        for script in named(STREAMED)
        for endpoint in ENDPOINTS
        if endpoint in script.endpoints and endpoint not in lacks
    ]
    captures: dict[Target, Capture] = {}
    record(server.base_url, targets, stream_interval=0, keep=captures.__setitem__)
    assert len(captures) == len(targets) >= 2 * len(STREAMED)
    for target, capture in captures.items():
        assert chunking_fault(server.engine, capture, step) is None, target
        expected = shipped.scores[target.endpoint, target.script.name]
        assert score(target.script, capture).outcome is expected.outcome, target


def test_clients_read_fresh_responses_as_in_the_built_in_matrix(server: StandinServer) -> None:
    server.engine.set_steps("3")
    package = RUST if is_rust(server) else FRONT_END
    run = next(run for run in every_run() if run.name == f"{package}-{NEWEST_FRONT_END}-si3")
    lacks = VLLM_RUST.lacks.keys() if is_rust(server) else set[Endpoint]()
    read = {endpoint for client in CLIENTS for endpoint in client.endpoints}
    endpoints = [endpoint for endpoint in ENDPOINTS if endpoint in read - lacks]
    targets = [
        Target(endpoint, script)
        for script in named(STREAMED)
        for endpoint in endpoints
        if endpoint in script.endpoints
    ]
    captures: dict[Target, Capture] = {}
    record(server.base_url, targets, stream_interval=3, keep=captures.__setitem__)
    assert_clients_read_as_before(run, captures)


def test_audit_of_random_scripts(
    server: StandinServer,
) -> None:
    false_alarms, clean_losses, without_cause = [], [], []
    for seed in range(150):
        random = Random(seed)  # noqa: S311
        ids = random_script(random)
        schedule = random.choice(["1", "2", "3", f"ragged:{seed}"])
        marker = f"[[steps {schedule}]] [[tokens {' '.join(map(str, ids))}]]"
        script = Script(
            name=f"random_{seed}",
            sentence="",
            turns=(tuple(ids),),
            well_formed=True,
            request={"ignore_eos": True, "max_tokens": len(ids)},
            tools=("get_time", "run"),
            stream=random.random() < 0.85,
        )
        capture = ask(
            server.base_url,
            Target(Endpoint.CHAT, script),
            version=NEWEST_FRONT_END,
            stream_interval=0,
            marker=marker,
            owner="vllm-frontend-rs" if is_rust(server) else "vllm",
        )
        inspection = inspect(capture)
        expected, delivered = parsed(ids), inspection.reading.choice.delivered()
        calls = [(call.name, arguments(call.arguments)) for call in delivered.tool_calls]
        texts = (plain(delivered.reasoning), plain(delivered.content))
        wrong = not all(map(is_subsequence, (expected.reasoning, expected.content), texts))
        wrong = wrong or (not expected.rejected and not set(expected.calls) <= set(calls))
        level, errors = inspection.verdict.level, inspection.reading.stream.errors
        same = (expected.reasoning, expected.content, expected.calls) == (*texts, calls)
        if level is Level.CLEAN and wrong:
            clean_losses.append(seed)
        if level is Level.ERROR and same and not expected.rejected and not errors:
            false_alarms.append(seed)
        if expected.rejected and level is not Level.UNKNOWN and inspection.cause is None:
            without_cause.append(seed)
    assert (false_alarms, clean_losses, without_cause) == ([], [], [])


def is_subsequence(text: str, longer: str) -> bool:
    rest = iter(longer)
    return all(character in rest for character in text)


def test_rust_front_end_endpoints_and_owner(server: StandinServer) -> None:
    owner = httpx.get(f"{server.base_url}/v1/models").json()["data"][0]["owned_by"]
    status = httpx.post(f"{server.base_url}/v1/responses", json={}).status_code
    assert (owner, status == 404) == (("vllm-frontend-rs", True) if is_rust(server) else ("vllm", False))
    assert httpx.get(f"{server.base_url}/version").json()["version"] == NEWEST_FRONT_END


@pytest.mark.parametrize("name", ["tool_call", "return_after_end", "missing_start"])
def test_derender_reproduces_the_served_response(server: StandinServer, name: str) -> None:
    server.engine.set_steps(RAGGED)
    target = Target(Endpoint.CHAT, named([name])[0])
    capture = ask(server.base_url, target, version=NEWEST_FRONT_END, stream_interval=0)
    if is_rust(server):
        with pytest.raises(LabError, match="cannot parse the tokens: HTTP 501"):
            derender(capture, Server(base_url=server.base_url))
        return
    derendered = derender(capture, Server(base_url=server.base_url))
    assert derendered.rendered == derendered.prompt_ids
    assert derendered.streamed is not None
    assert derendered.whole is not None
    texts = [inspection.reading.choice.delivered() for inspection in (derendered.served, derendered.streamed)]
    assert texts[0] == texts[1]
    assert derendered.streamed.verdict.level is derendered.served.verdict.level
    assert derendered.rejections == {}


def streamed(server: StandinServer, words: str, **also: Any) -> list[dict[str, Any]]:
    """The chunks of a chat stream; an error event is one of them."""
    body = {
        "model": SERVED_NAME,
        "messages": [{"role": "user", "content": words}],
        "stream": True,
        "return_token_ids": True,
        **also,
    }
    lines = httpx.post(f"{server.base_url}/v1/chat/completions", json=body, timeout=120).text.splitlines()
    chunks = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
    return [json.loads(chunk) for chunk in chunks if chunk != "[DONE]"]


def ids(chunks: list[dict[str, Any]], choice: int = 0) -> list[list[int]]:
    choices = [
        chunk_choice
        for chunk in chunks
        for chunk_choice in chunk.get("choices", [])
        if chunk_choice["index"] == choice
    ]
    return [chunk_choice["token_ids"] for chunk_choice in choices if chunk_choice.get("token_ids")]


def finish(chunks: list[dict[str, Any]]) -> list[str]:
    return [
        chunk_choice["finish_reason"]
        for chunk in chunks
        for chunk_choice in chunk.get("choices", [])
        if chunk_choice.get("finish_reason")
    ]


def test_schedule_in_the_prompt(server: StandinServer) -> None:
    chunks = streamed(server, "[[steps burst:5]] [[script plain]]")
    assert [len(step) for step in ids(chunks)][:8] == [1, 1, 1, 5, 1, 1, 1, 5]


def test_length_event(server: StandinServer) -> None:
    chunks = streamed(server, "[[steps 1+length@6]] [[script plain]]")
    assert len(ids(chunks)) == 6
    assert finish(chunks) == ["length"]


def test_abort_and_stall_events(server: StandinServer) -> None:
    chunks = streamed(server, "[[steps 1+stall:300@3+abort@6]] [[script plain]]")
    assert len(ids(chunks)) == 6
    assert finish(chunks) == ["abort"]


def test_error_event(server: StandinServer) -> None:
    chunks = streamed(server, "[[steps 1+error@6]] [[script plain]]")
    assert any("error" in chunk for chunk in chunks)


def test_each_choice_follows_the_script(server: StandinServer) -> None:
    if is_rust(server):
        body = {"model": SERVED_NAME, "messages": [{"role": "user", "content": "Hello"}], "n": 3}
        refused = httpx.post(f"{server.base_url}/v1/chat/completions", json=body)
        assert (refused.status_code, "n=1" in refused.text) == (400, True), refused.text
        return
    chunks = streamed(server, "[[steps 3]] [[script final_only]]", n=3, temperature=1.0)
    script = list(named(["final_only"])[0].sampled)
    for choice in range(3):
        assert [token for step in ids(chunks, choice) for token in step] == script


def test_chunking_fault_of_merged_steps(server: StandinServer) -> None:
    target = Target(Endpoint.CHAT, named(["plain"])[0])
    server.engine.set_steps("3")
    capture = ask(server.base_url, target, version=NEWEST_FRONT_END, stream_interval=3)
    assert chunking_fault(server.engine, capture, "3") is None
    assert chunking_fault(server.engine, capture, "1") == "the engine followed the schedule 3, not 1"
    events = [event for event in capture.events if '"token_ids":[' in event.data]
    chunk, later = json.loads(events[0].data), json.loads(events[1].data)
    chunk["choices"][0]["token_ids"] += later["choices"][0]["token_ids"]
    merged = replace(capture, events=[events[0]._replace(data=json.dumps(chunk)), *events[2:]])
    fault = chunking_fault(server.engine, merged, "3")
    assert fault is not None
    assert "are not those of one step" in fault


def test_live_run_and_tap_keep_every_token(server: StandinServer, tmp_path: Path) -> None:
    sampled = named(["tool_call"])[0].sampled
    registry = Registry(tmp_path / "captures")
    live_request = LiveRequest(
        model=SERVED_NAME,
        endpoint=Endpoint.CHAT,
        prompt="[[steps ragged:3]] [[script tool_call]]",
        tools=bodies.request_body(Endpoint.CHAT, named(["tool_call"])[0])["tools"],
    )
    run = registry.start(Server(base_url=server.base_url), live_request)
    assert registry.wait(run, 60)
    assert tuple(run.reading().choice.tokens.ids) == sampled
    body = bodies.request_body(Endpoint.CHAT, named(["tool_call"])[0])
    body.pop("return_token_ids")
    with tapped(server.base_url, add_token_ids=True) as (address, captures):
        answer = httpx.post(f"{address}/v1/chat/completions", json=body, timeout=120)
        assert '"token_ids":[' not in answer.text
        capture = captures.capture()
    assert tuple(read(capture).choice.tokens.ids) == sampled
    assert inspect(capture).findings == []


@pytest.mark.parametrize("server", [FRONT_END], indirect=True)
def test_an_agents_session_on_messages_goes_through_the_tap(server: StandinServer, tmp_path: Path) -> None:
    """The SDK's streaming client with tools; the tap keeps the stream, and Live follows the same one."""
    server.engine.set_steps(RAGGED)
    [script] = named(["tool_call"])
    asked = bodies.request_body(Endpoint.MESSAGES, script)
    del asked["stream"], asked["temperature"]  # the SDK sets the one, and has no other
    with tapped(server.base_url, add_token_ids=True) as (address, captures):
        with (
            anthropic.Anthropic(base_url=address, api_key="sk-secret", max_retries=0) as sdk,
            sdk.messages.stream(**asked) as stream,
        ):
            kinds = {event.type for event in stream}
            message = stream.get_final_message()
        capture = captures.capture()
    assert {"thinking", "input_json", "message_stop"} <= kinds
    [thinking, call] = message.content
    assert isinstance(call, ToolUseBlock)
    [expected] = script.expect.tool_calls
    assert (call.name, call.input) == (expected.name, json.loads(expected.arguments))
    assert message.stop_reason == "tool_use"
    delivered = inspect(capture).reading.choice.delivered()
    assert isinstance(thinking, ThinkingBlock)
    assert (delivered.reasoning, delivered.tool_calls[0].arguments) == (thinking.thinking, expected.arguments)
    assert (capture.header.endpoint, inspect(capture).findings) == (Endpoint.MESSAGES, [])
    assert score(script, capture).outcome is ScriptOutcome.COMPLETE
    path = tmp_path / "messages.jsonl"
    save(capture, path)
    assert "sk-secret" not in path.read_text("utf-8")
    assert inspect(load(path)).reading.choice.delivered() == delivered
    registry = Registry(tmp_path / "captures")
    tools = bodies.request_body(Endpoint.CHAT, script)["tools"]
    live = LiveRequest(
        model=SERVED_NAME, endpoint=Endpoint.MESSAGES, prompt=f"[[script {script.name}]]", tools=tools
    )
    run = registry.start(Server(base_url=server.base_url), live)
    assert registry.wait(run, 60)
    assert run.reading().choice.delivered() == delivered


@pytest.mark.parametrize("server", [RUST], indirect=True)
def test_messages_of_the_rust_front_end_is_one_sentence(server: StandinServer, tmp_path: Path) -> None:
    registry = Registry(tmp_path / "captures")
    live = LiveRequest(model=SERVED_NAME, endpoint=Endpoint.MESSAGES, prompt="[[script plain]]")
    run = registry.start(Server(base_url=server.base_url), live)
    assert registry.wait(run, 60)
    assert run.outcome.failure.endswith("does not serve /messages (HTTP 501)")


def test_doctor_reports_front_end_and_matrix(server: StandinServer) -> None:
    checkup = check_server(Server(base_url=server.base_url))
    assert (checkup.engine.name, checkup.version) == (
        "vllm-rust" if is_rust(server) else "vllm",
        NEWEST_FRONT_END,
    )
    messages = next(check for check in checkup.checks if check.name == "messages")
    assert messages.state is (CheckState.UNKNOWN if is_rust(server) else CheckState.OK)
    rows = release_rows(checkup.version, checkup.engine)
    assert {row["front_end"] for row in rows} == {"rust" if is_rust(server) else "python"}
    assert {row["steps"] for row in rows} == {"1", "3", RAGGED, UNSTREAMED}


def test_die_event_ends_stream_and_health(
    server: StandinServer,
) -> None:
    # The last test of its server.
    with suppress(httpx.RemoteProtocolError):  # the connection may be cut
        assert finish(streamed(server, "[[steps 1+die@6]] [[script plain]]")) == []
    assert server.engine.ended(timeout_s=30) == "the engine died, as the schedule asked"
    with pytest.raises(LabError, match="the engine has ended: the engine died, as the schedule asked"):
        server.engine.set_steps("3")


def test_missing_handshake_names_the_release(tmp_path: Path) -> None:
    paths = LabPaths(default_root())
    environment = installed(paths, RUST, NEWEST_FRONT_END)
    assert environment is not None
    scripts = tmp_path / "scripts.json"
    scripts.write_text("{}", encoding="utf-8")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "harmony_lab.standin", "--release", "0.99.0"),
            *("--port", str(free_port()), "--layouts", str(environment.path / "engine_layouts.py")),
            *("--scripts", str(scripts), "--log", str(tmp_path / "steps.jsonl"), "--hello-s", "1"),
        ],
        env={**os.environ, "PYTHONPATH": f"{IMPORT_PATH}{os.pathsep}{engine_path(paths)}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    assert done.returncode == 1
    assert "the API server of vLLM 0.99.0 did not answer HELLO within" in done.stderr
    assert "a neighbouring release tells the two apart" in done.stderr
