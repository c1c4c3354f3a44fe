"""The witness inside a real vLLM: what it counts, beside the cells of the built-in matrix."""

import importlib.util
import logging
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from harmony_lab.recording import Target, record
from harmony_lab.standin.install import NEWEST_FRONT_END
from harmony_lab.standin.serving import StandinServer
from harmony_lab.standin.steps import RAGGED
from inspector.capture.capture import Capture, Endpoint
from inspector.matrix.requests import SERVED_NAME
from inspector.matrix.results import UNSTREAMED
from inspector.matrix.scripts import load, named
from lab_tests.support.scripts import SLICE
from lab_tests.support.witness import WITNESS, compared, counted, installed_into, serve, verdicts

CELLS = [
    *SLICE,
    "call_empty",
    "prompt_tail",
    "missing_end",
    "constrain_function",
    "cut_in_header",
    "dot_between",
]


def test_without_vllm_it_says_so_in_one_line_and_does_nothing(caplog: pytest.LogCaptureFixture) -> None:
    spec = importlib.util.spec_from_file_location("harmony_witness", WITNESS / "harmony_witness.py")
    assert spec is not None
    assert spec.loader is not None
    witness = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(witness)
    with caplog.at_level(logging.WARNING):
        witness.install()
    (line,) = caplog.messages
    assert line.startswith(
        "harmony witness: does nothing, as it does not recognise this vLLM (ModuleNotFoundError"
    )


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandinServer]:
    with ExitStack() as stack:
        yield serve(stack, NEWEST_FRONT_END, installed_into(tmp_path_factory.mktemp("plugin") / "witness"))


@pytest.mark.vllm
@pytest.mark.parametrize("step", ["1", RAGGED, UNSTREAMED])
def test_damaged_responses_are_the_silent_cells(server: StandinServer, step: str) -> None:
    agrees(server, NEWEST_FRONT_END, step, CELLS)


@pytest.mark.vllm
def test_the_log_has_the_request_id_that_the_client_chose(server: StandinServer) -> None:
    body = {"model": SERVED_NAME, "messages": [{"role": "user", "content": "[[script missing_start]]"}]}
    for stream in (True, False):
        answer = httpx.post(
            f"{server.base_url}/v1/chat/completions",
            json={**body, "stream": stream},
            headers={"X-Request-Id": f"mine-{stream}"},
            timeout=180,
        )
        assert answer.status_code == 200
        verdict, errors = verdicts(server)[f"chatcmpl-mine-{stream}"]
        assert (verdict, errors > 0) == ("lost", True)


@pytest.mark.vllm
def test_the_alert_asks_for_a_metric_that_the_server_has(server: StandinServer) -> None:
    names = set(re.findall(r"\bharmony_witness_\w+", (WITNESS.parent / "alerts.yml").read_text("utf-8")))
    assert names
    assert names <= {name for name, _, _ in counted(server)}


@pytest.mark.vllm_releases
@pytest.mark.parametrize("version", ["0.31.0", "0.32.0", NEWEST_FRONT_END])
def test_every_cell_of_three_releases(version: str, tmp_path: Path) -> None:
    with ExitStack() as stack:
        server = serve(stack, version, installed_into(tmp_path / "witness"))
        for step in ("1", "3", RAGGED, UNSTREAMED):
            agrees(server, version, step, [script.name for script in load()])
        swallowed = sum(count for (name, _, stage), count in counted(server).items() if stage == "token")
        assert (swallowed > 0) == (version != "0.31.0")  # which raises


@pytest.mark.vllm_releases
def test_a_release_with_another_parser_serves_as_without_it(tmp_path: Path) -> None:
    with ExitStack() as stack:
        server = serve(stack, "0.23.0", installed_into(tmp_path / "witness"))
        captures: dict[Target, Capture] = {}
        record(
            server.base_url,
            [Target(Endpoint.CHAT, named(["plain"])[0])],
            stream_interval=0,
            keep=captures.__setitem__,
        )
        assert [capture.header.status for capture in captures.values()] == [200]
        assert not counted(server)
        assert server.log.read_text("utf-8", errors="replace").count("harmony witness: does nothing") == 1


def agrees(server: StandinServer, version: str, step: str, names: list[str]) -> None:
    cells, damaged = compared(server, version, step, named(names))
    assert len(cells) > len(names)
    different = {
        (target.endpoint, target.script.name): cell
        for target, cell in cells.items()
        if (cell.replayed == "silent") != bool(cell.verdict) or cell.replayed != cell.shipped
    }
    # Silent, as `finish_reason` hides the cut; its text is complete.
    cut = different.pop((Endpoint.CHAT, "cut_in_arguments"), None)
    assert (cut is not None) == (
        version != NEWEST_FRONT_END and step == UNSTREAMED and "cut_in_arguments" in names
    )
    assert different == {}
    assert damaged == sum(bool(cell.verdict) for cell in cells.values()) > 0
