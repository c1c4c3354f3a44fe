"""Live against a real vLLM: every sampled token is kept, shown and held against the ground truth.

Deselected unless asked for with `-m vllm` (docs/lab.md). The engine may hand over several steps at once,
so nothing here depends on where one event ends and the next begins.
"""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette

from harmony_lab.install import NEWEST
from harmony_lab.process import ServerProcess
from harmony_lab.score import score
from inspector.analysis.reading import Evidence, read
from inspector.capture.capture import Capture, Endpoint
from inspector.cli import main
from inspector.files.store import load
from inspector.matrix import requests as bodies
from inspector.matrix import scripts
from inspector.matrix.requests import SERVED_NAME
from inspector.matrix.results import ScriptOutcome
from inspector.matrix.scripts import named
from inspector.net.client.address import Server
from inspector.net.client.request import LiveRequest
from inspector.net.client.server_info import list_models
from inspector.net.runs.feed import runs_routes
from inspector.net.runs.registry import Registry
from inspector.net.runs.run import LiveRun
from inspector.protocol.wire.endpoints import spec_of
from tests.support.listening import listening

pytestmark = pytest.mark.vllm

SCRIPTS = ["plain", "emoji", "tool_call", "cut_in_answer"]
LONG = "very_long"
WITHIN_S = 60.0


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry(tmp_path / "captures")


def request(script: str, endpoint: Endpoint = Endpoint.CHAT) -> LiveRequest:
    [lab_script] = named([script])
    return LiveRequest(
        model=SERVED_NAME,
        endpoint=endpoint,
        prompt=f"[[script {script}]]",
        tools=bodies.request_body(Endpoint.CHAT, lab_script).get("tools", ()),
        max_tokens=lab_script.request.get("max_tokens"),
    )


def captured(run: LiveRun) -> Capture:
    """What its file holds."""
    assert run.path is not None
    return load(run.path)


def ids(capture: Capture) -> tuple[int, ...]:
    return tuple(read(capture).choice.tokens.ids)


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("endpoint", list(scripts.ENDPOINTS))
def test_record_keeps_every_token_of_the_script(
    vllm_server: ServerProcess,
    endpoint: Endpoint,
    script: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    [lab_script], live_request = named([script]), request(script, endpoint)
    tools, out = tmp_path / "tools.json", tmp_path / "out.jsonl"
    tools.write_text(json.dumps(list(live_request.tools)))
    command = [
        "record",
        "--base-url",
        vllm_server.base_url,
        "--model",
        SERVED_NAME,
        "--endpoint",
        endpoint.value,
    ]
    command += ["--prompt", live_request.prompt, "--out", str(out)]
    command += ["--tools", str(tools)] if live_request.tools else []
    command += ["--max-tokens", str(live_request.max_tokens)] if live_request.max_tokens else []
    assert main(command) == 0
    printed = capsys.readouterr().out
    capture = load(out)
    assert score(lab_script, capture).outcome is ScriptOutcome.COMPLETE
    assert capture.header.server_version is not None
    assert NEWEST in capture.header.server_version
    if endpoint is Endpoint.RESPONSES:
        assert read(capture).choice.evidence is Evidence.FINAL_OBJECT_AND_COUNT
    elif spec_of(endpoint).carries_ids:
        assert ids(capture) == lab_script.sampled
        assert f"{len(lab_script.sampled)} tokens" in printed


@pytest.mark.parametrize("endpoint", [Endpoint.CHAT, Endpoint.RESPONSES])
@pytest.mark.parametrize("script", ["plain", "tool_call"])
def test_the_ground_truth_of_the_same_prompt_has_the_same_tokens(
    vllm_server: ServerProcess, registry: Registry, endpoint: Endpoint, script: str
) -> None:
    run, truth = registry.start_both(Server(base_url=vllm_server.base_url), request(script, endpoint))
    for live_run in (run, truth):
        assert registry.wait(live_run, WITHIN_S)
        assert live_run.outcome.failure == ""
    [lab_script] = named([script])
    assert ids(captured(truth)) == lab_script.sampled
    if endpoint is Endpoint.CHAT:
        assert ids(captured(run)) == ids(captured(truth))
    assert read(captured(run), truth=lab_script.sampled).choice.transcript.messages


def test_stop_in_mid_stream_keeps_what_came_and_the_server_goes_on(
    vllm_server: ServerProcess, registry: Registry
) -> None:
    position = Server(base_url=vllm_server.base_url)
    run = registry.start(position, request(LONG))
    while run.pace().tokens < 20 and not run.ended.wait(0.01):
        pass
    run.stop()
    assert registry.wait(run, 120)
    sampled, capture = named([LONG])[0].sampled, captured(run)
    assert capture.end is not None
    assert capture.end.cut
    assert 20 <= len(ids(capture)) < len(sampled)
    assert ids(capture) == sampled[: len(ids(capture))] == tuple(run.reading().choice.tokens.ids)
    after = registry.start(position, request("plain"))
    assert registry.wait(after, WITHIN_S)
    assert ids(captured(after)) == named(["plain"])[0].sampled


def fed(address: str, run: LiveRun, start: int = 0, *, at_most: int | None = None) -> tuple[list[int], bool]:
    """Token ids of the feed from a place on, until its end or so many tokens, and whether it ended."""
    token_ids: list[int] = []
    name = ""
    url = f"{address}/inspector/runs/{run.id}/feed"
    with httpx.stream("GET", url, params={"from": start}, timeout=WITHIN_S) as answer:
        for line in answer.iter_lines():
            key, _, value = line.partition(": ")
            if key == "event":
                name = value
            elif key == "data" and name == "end":
                return token_ids, True
            elif key == "data":
                columns: dict[str, Any] = json.loads(value)
                assert columns["from"] == start + len(token_ids)
                token_ids += columns["ids"]
                if at_most is not None and len(token_ids) >= at_most:
                    break
    return token_ids, False


def test_the_feed_brings_all_tokens_to_two_readers_one_of_which_comes_back(
    vllm_server: ServerProcess, registry: Registry
) -> None:
    sampled = named(["long_answer"])[0].sampled
    with listening(Starlette(routes=runs_routes(registry))) as address:
        run = registry.start(Server(base_url=vllm_server.base_url), request("long_answer"))
        first, ended = fed(address, run, at_most=30)
        assert not ended
        rest, ended = fed(address, run, len(first))
        assert ended
        reread, ended = fed(address, run)
        assert ended
    assert tuple(first + rest) == tuple(reread) == sampled


def test_eight_runs_at_once_keep_all_their_tokens(vllm_server: ServerProcess, registry: Registry) -> None:
    names = ["plain", "emoji", "tool_call", "preamble_final"] * 2
    runs = [registry.start(Server(base_url=vllm_server.base_url), request(name)) for name in names]
    assert all(registry.wait(run, WITHIN_S) for run in runs)
    assert [ids(captured(run)) for run in runs] == [named([name])[0].sampled for name in names]


def test_the_models_are_listed(vllm_server: ServerProcess) -> None:
    assert list_models(Server(base_url=vllm_server.base_url)) == [SERVED_NAME]
