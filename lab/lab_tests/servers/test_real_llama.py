"""llama-server on scripted tokens, against the shipped cells.

Deselected unless asked for with `-m vllm`; needs `python -m inspector lab install --server llama-server`.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import httpx
import pytest

from harmony_lab.install import installed
from harmony_lab.paths import LabPaths
from harmony_lab.recording import Target, record
from harmony_lab.score import score
from harmony_lab.server import ServerOptions
from harmony_lab.servers.llama import LLAMA_SERVER, NAME, LlamaServer
from harmony_lab.session import LabSession
from inspector.capture.capture import Capture, Endpoint
from inspector.files.store import FIXTURES
from inspector.matrix.requests import SERVED_NAME
from inspector.matrix.results import OTHER_SERVERS, UNSTREAMED, default_root, load_runs
from inspector.matrix.scripts import Script, named
from inspector.protocol.harmony import vocab
from lab_tests.support.scripts import SLICE

pytestmark = pytest.mark.vllm

START_S = 10
SCRIPTS = ("json_answer", "two_finals", "call_then_final", "call_words")


@pytest.fixture(scope="module")
def server() -> Iterator[LlamaServer]:
    paths = LabPaths(default_root())
    environment = installed(paths, NAME, LLAMA_SERVER.newest)
    assert environment is not None, "run python -m inspector lab install --server llama-server"
    with ExitStack() as stack:
        started = time.monotonic()
        lab = LabSession(paths=paths, package=NAME)
        running = lab.serving(stack, environment, ServerOptions())
        assert time.monotonic() - started < START_S
        assert isinstance(running, LlamaServer)
        yield running


def slice_of() -> list[Script]:
    scripts = named([*SLICE, *SCRIPTS])
    return [script for script in scripts if LLAMA_SERVER.runs(Endpoint.CHAT, script) and script.stream]


@pytest.mark.parametrize("step", LLAMA_SERVER.conditions)
def test_slice_is_as_in_the_matrix(server: LlamaServer, step: str) -> None:
    recorded = next(
        run
        for run in load_runs(FIXTURES / "matrix" / OTHER_SERVERS)
        if run.package == NAME and run.step == step
    )
    targets = [Target(Endpoint.CHAT, replace(script, stream=step != UNSTREAMED)) for script in slice_of()]
    differing = []

    def keep(target: Target, capture: Capture) -> None:
        measured = score(target.script, LLAMA_SERVER.amend(server, capture))
        before = recorded.scores[target.endpoint, target.script.name]
        if measured != before:
            differing.append((target.script.name, measured, before))

    record(
        server.base_url,
        targets,
        stream_interval=1,
        keep=keep,
        jobs=1,
        lab={"server": NAME},
        version=LLAMA_SERVER.newest,
        body=LLAMA_SERVER.body,
    )
    assert len(targets) > 10
    assert differing == []


def chat(server: LlamaServer, text: str, **options: Any) -> httpx.Response:
    body = {"model": SERVED_NAME, "messages": [{"role": "user", "content": text}], **options}
    return httpx.post(f"{server.base_url}/v1/chat/completions", json=body, timeout=180)


def test_request_names_its_own_tokens(server: LlamaServer) -> None:
    ids = vocab.encode("<|channel|>final<|message|>Any text 🦩.<|return|>")
    answer = chat(server, f"[[tokens {' '.join(map(str, ids))}]]").json()
    assert answer["choices"][0]["message"]["content"] == "Any text 🦩."
    assert server.sampled() == tuple(ids)


def test_refused_request_has_no_sampled_tokens(server: LlamaServer) -> None:
    chat(server, "[[script plain]]")
    assert server.sampled()
    assert chat(server, "", messages="none").status_code >= 400
    assert server.sampled() == ()


def test_client_that_goes_away_takes_no_token_of_the_next_request(server: LlamaServer) -> None:
    body = {"messages": [{"role": "user", "content": "[[script tool_call]]"}], "stream": True}
    with httpx.stream("POST", f"{server.base_url}/v1/chat/completions", json=body, timeout=180) as response:
        next(response.iter_lines())
    server.sampled()
    answer = chat(server, "[[script plain]]").json()
    assert answer["choices"][0]["message"]["content"] == "Hello there! 👋🏽 How can I help?"


def test_server_listens_on_loopback_only(server: LlamaServer) -> None:
    with open("/proc/net/tcp", encoding="ascii") as table, open("/proc/net/tcp6", encoding="ascii") as table6:
        rows = [line.split() for line in (*list(table)[1:], *list(table6)[1:])]
    listening = {local for _, local, _, state, *_ in rows if state == "0A"}
    assert {local for local in listening if local.endswith(f":{server.port:04X}")} == {
        f"0100007F:{server.port:04X}"
    }
