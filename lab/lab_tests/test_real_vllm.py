"""The newest vLLM as a real server: a slice of the scripts on three endpoints, several at once.

Deselected unless asked for with `-m vllm`; needs `python -m inspector lab install` (docs/lab.md).
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import httpx
import pytest

from harmony_lab.install import CPU_PACKAGE, NEWEST, installed
from harmony_lab.paths import LabPaths
from harmony_lab.process import ServerProcess
from harmony_lab.recording import Target, record, server_version
from harmony_lab.score import score
from harmony_lab.server import ServerOptions
from harmony_lab.session import LabSession
from inspector.analysis.reading import read
from inspector.capture.capture import Capture, Endpoint
from inspector.matrix import scripts
from inspector.matrix.requests import SERVED_NAME
from inspector.matrix.results import ScriptOutcome, default_root, every_run
from inspector.matrix.scripts import named
from inspector.protocol.wire.endpoints import spec_of
from lab_tests.support.clients import assert_clients_read_as_before
from lab_tests.support.scripts import SLICE

pytestmark = pytest.mark.vllm

INTERVAL = 3
# The outcomes of vLLM 0.32.0, which drops tokens that its parser rejects without an error.
SILENT = {"text_after_end", "assistantary", "missing_start"}


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    paths = LabPaths(default_root())
    environment = installed(paths, CPU_PACKAGE, NEWEST)
    assert environment is not None, f"vLLM {NEWEST} is not installed: run python -m inspector lab install"
    with ExitStack() as stack:
        yield LabSession(paths=paths).serving(
            stack, environment, ServerOptions(stream_interval=INTERVAL, tools=True)
        )


@pytest.fixture(scope="module")
def captures(server: ServerProcess) -> dict[Target, Capture]:
    """All captures of the slice, eight requests at a time, so that different scripts share a batch."""
    targets = [
        Target(endpoint, script)
        for script in named(SLICE)
        for endpoint in scripts.ENDPOINTS
        if endpoint in script.endpoints
    ]
    recorded: dict[Target, Capture] = {}
    record(server.base_url, targets, stream_interval=INTERVAL, keep=recorded.__setitem__, jobs=8)
    return recorded


def chat(server: ServerProcess, text: str, **options: Any) -> dict[str, Any]:
    body = {"model": SERVED_NAME, "messages": [{"role": "user", "content": text}], **options}
    answer: dict[str, Any] = httpx.post(
        f"{server.base_url}/v1/chat/completions", json=body, timeout=600
    ).json()
    return answer


def test_server_version(server: ServerProcess) -> None:
    assert server_version(server.base_url) == NEWEST


def test_all_targets_are_recorded(captures: dict[Target, Capture]) -> None:
    assert {target.endpoint for target in captures} == set(scripts.ENDPOINTS)
    assert {target.script.name for target in captures} == set(SLICE)


@pytest.mark.parametrize("name", SLICE)
def test_sampled_tokens_are_those_of_the_script(captures: dict[Target, Capture], name: str) -> None:
    streams = [
        read(capture).choice.tokens.ids
        for target, capture in captures.items()
        if target.script.name == name and spec_of(target.endpoint).carries_ids
    ]
    [script] = named([name])
    assert bool(streams) is any(spec_of(endpoint).carries_ids for endpoint in script.endpoints)
    assert all(tuple(ids) == script.sampled for ids in streams)


@pytest.mark.parametrize("name", SLICE)
def test_outcomes_are_those_of_the_built_in_matrix(captures: dict[Target, Capture], name: str) -> None:
    outcomes = {
        target.endpoint: score(target.script, capture)
        for target, capture in captures.items()
        if target.script.name == name
    }
    for endpoint, scored in outcomes.items():
        lost = name in SILENT and endpoint is not Endpoint.COMPLETIONS
        assert scored.outcome is (ScriptOutcome.SILENT if lost else ScriptOutcome.COMPLETE), (
            endpoint,
            scored,
        )


def test_clients_read_fresh_responses_as_in_the_built_in_matrix(captures: dict[Target, Capture]) -> None:
    run = next(run for run in every_run() if run.name == f"{CPU_PACKAGE}-{NEWEST}-si{INTERVAL}")
    assert_clients_read_as_before(run, captures)


def test_prompt_without_script(server: ServerProcess) -> None:
    message = chat(server, "Hello?")["choices"][0]["message"]
    assert message["content"] == "Hello from the lab."
    assert message["reasoning"] == "No script was named."


def test_prompt_with_unknown_script(server: ServerProcess) -> None:
    message = chat(server, "[[script no_such_thing]]")["choices"][0]["message"]
    assert message["content"] == "The lab has no script called no_such_thing."


def test_prompt_with_token_ids(server: ServerProcess) -> None:
    message = chat(server, "[[tokens 200005 17196 200008 13225 200002]]")["choices"][0]["message"]
    assert message["content"] == "Hello"


def test_each_choice_follows_the_script(server: ServerProcess) -> None:
    answer = chat(server, "[[script final_only]]", n=3, temperature=1.0)
    assert [choice["message"]["content"] for choice in answer["choices"]] == [
        "Paris is the capital of France."
    ] * 3


def test_scripts_under_prefix_cache_and_full_batches(server: ServerProcess) -> None:
    # The same long prefix before different markers: all but the first are answered from the cache.
    prefix = "The same words again and again. " * 60
    names = ["final_only", "hostile_text", "json_answer", "right_to_left"] * 4
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda name: chat(server, f"{prefix}[[script {name}]]"), names))
    for name, answer in zip(names, answers, strict=True):
        [piece] = named([name])[0].expect.content
        assert answer["choices"][0]["message"]["content"] == piece.text
