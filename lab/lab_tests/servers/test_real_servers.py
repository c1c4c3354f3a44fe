"""SGLang's Rust server and Dynamo's front end, started: their cells, their steps, their sockets."""

import os
import re
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import httpx
import pytest

from harmony_lab.paths import LabPaths
from harmony_lab.process import ServerProcess
from harmony_lab.recording import Target, record
from harmony_lab.score import score
from harmony_lab.server import ServerOptions
from harmony_lab.servers.dynamo import DYNAMO
from harmony_lab.servers.server import LabServer
from harmony_lab.servers.sglang import SGLANG_RUST
from harmony_lab.session import LabSession
from inspector.analysis.reading import Evidence, read
from inspector.capture.capture import Capture, Endpoint
from inspector.files.store import FIXTURES
from inspector.matrix.results import OTHER_SERVERS, default_root, load_runs
from inspector.matrix.scripts import named
from inspector.protocol.wire.endpoints import spec_of
from tests.support.upstreams import tapped

pytestmark = pytest.mark.vllm

SCRIPTS = [
    "plain",
    "emoji",
    "marker_lookalikes",
    "tool_call",
    "two_calls_by_end",
    "assistantary",
    "cut_in_answer",
]

ONE_TIME = re.compile(rb'"(id|created)":("[^"]*"|\d+)')

LISTENING = "0A"
LOOPBACK = {"0100007F", "00000000000000000000000001000000"}


@pytest.fixture(scope="module", params=[SGLANG_RUST, DYNAMO], ids=lambda server: server.name)
def running(request: pytest.FixtureRequest) -> Iterator[tuple[LabServer, ServerProcess]]:
    server: LabServer = request.param
    paths = LabPaths(default_root())
    assert paths.environment(server.name, server.newest).exists(), (
        f"run python -m inspector lab install --server {server.name} {server.newest}"
    )
    lab = LabSession(paths=paths, package=server.name)
    with ExitStack() as stack:
        yield server, lab.serving(stack, lab.prepare(server.newest), ServerOptions())


@pytest.mark.parametrize("step", ["1", "ragged"])
def test_outcomes_and_steps_are_those_of_the_shipped_matrix(
    running: tuple[LabServer, ServerProcess], step: str
) -> None:
    server, process = running
    runs = load_runs(FIXTURES / "matrix" / OTHER_SERVERS)
    name = f"{server.name}-{server.newest}-si{step}"
    [shipped] = [run for run in runs if run.name == name]
    captures: dict[Target, Capture] = {}
    record(
        process.base_url,
        [Target(Endpoint.CHAT, script) for script in named(SCRIPTS)],
        stream_interval=0,
        keep=captures.__setitem__,
        lab={"server": server.name},
        version=server.newest,
        body=partial(server.body, steps=step),
    )
    for target, capture in captures.items():
        assert server.fault(process, capture, step) is None, target
        key = target.endpoint, target.script.name
        assert score(target.script, capture).outcome is shipped.scores[key].outcome, target
    assert len(captures) == len(SCRIPTS)


@pytest.mark.parametrize("script", ["plain", "marker_lookalikes", "two_calls_by_end"])
@pytest.mark.parametrize("streamed", [True, False])
def test_the_tap_changes_no_byte_of_what_the_client_gets(
    running: tuple[LabServer, ServerProcess], script: str, streamed: bool
) -> None:
    server, process = running
    body = server.body(Endpoint.CHAT, named([script])[0], steps="3")
    body = {key: value for key, value in body.items() if key not in {"nvext", "logprobs"}}
    body["stream"] = streamed
    if not streamed:
        body.pop("stream_options", None)
    path = spec_of(Endpoint.CHAT).full_path

    def answer(address: str) -> bytes:
        response = httpx.post(f"{address}{path}", json=body, timeout=180)
        assert response.status_code == 200, response.text
        return ONE_TIME.sub(rb'"\1":0', response.content)

    with tapped(process.base_url, add_token_ids=True) as (address, captures):
        direct, through_tap = answer(process.base_url), answer(address)
        capture = captures.capture()
    assert through_tap == direct
    evidence = read(capture).choice.evidence
    assert (evidence is Evidence.TOKEN_IDS) is (server is DYNAMO)


def test_a_stream_with_other_steps_is_not_scored(running: tuple[LabServer, ServerProcess]) -> None:
    server, process = running
    captures: dict[Target, Capture] = {}
    record(
        process.base_url,
        [Target(Endpoint.CHAT, named(["plain"])[0])],
        stream_interval=3,
        keep=captures.__setitem__,
        version=server.newest,
        body=partial(server.body, steps="3"),
    )
    [capture] = captures.values()
    assert server.fault(process, capture, "1") is not None


def test_it_listens_only_on_the_loopback_address(running: tuple[LabServer, ServerProcess]) -> None:
    _, process = running
    inodes = {inode for pid in _children(os.getpid()) for inode in _sockets(pid)}
    listening = {
        fields[1]
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{table}").read_text(encoding="ascii").splitlines()[1:]
        if (fields := line.split())[3] == LISTENING and fields[9] in inodes
    }
    assert f"0100007F:{process.port:04X}" in listening
    assert {place.partition(":")[0] for place in listening} <= LOOPBACK


def _children(pid: int) -> Iterator[int]:
    for child in Path(f"/proc/{pid}/task").glob("*/children"):
        for word in child.read_text(encoding="ascii").split():
            yield int(word)
            yield from _children(int(word))


def _sockets(pid: int) -> Iterator[str]:
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = str(link.readlink())
        except FileNotFoundError:
            continue
        if target.startswith("socket:["):
            yield target.removeprefix("socket:[").removesuffix("]")
