"""Gateways: the shipped results, the command, and real gateways that make the same of the same responses."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

from harmony_lab.gateways import GATEWAYS, Gateway, serving
from harmony_lab.hop import Upstream, pass_on
from harmony_lab.paths import LabPaths
from inspector.capture.capture import Capture, Endpoint
from inspector.inspection.compare import JoinedBy, compare, join
from inspector.inspection.inspection import inspect
from inspector.matrix.receivers import load_gateways
from inspector.matrix.requests import SERVED_NAME
from inspector.matrix.results import (
    STAND_IN,
    MatrixRun,
    Receiver,
    capture_of,
    default_root,
    every_run,
    named_capture,
)
from inspector.matrix.scripts import load
from tests.support.command import inspector
from tests.support.upstreams import tapped

SCRIPTS = {script.name: script for script in load()}
SMALL = [gateway for gateway in GATEWAYS if gateway.name != "LiteLLM"]
"""LiteLLM's proxy takes 743 MB of packages."""
LITELLM = [gateway for gateway in GATEWAYS if gateway not in SMALL]
NEWEST = "vllm-frontend-0.33.0-si1"


def run_named(name: str) -> MatrixRun:
    [run] = [run for run in every_run() if run.name == name]
    return run


def test_each_gateway_has_results_of_the_newest_release() -> None:
    gateways = load_gateways()
    assert set(gateways.by_name) == {gateway.label for gateway in GATEWAYS}
    run = run_named(NEWEST)
    for gateway in GATEWAYS:
        view = gateways.view(gateway.label, run)
        assert {endpoint for endpoint, _ in view.scores} == set(gateway.asks.values())
        assert view.receiver is Receiver.GATEWAY


def test_compare_says_of_a_stored_response_what_the_matrix_says() -> None:
    gateways = load_gateways()
    changed = 0
    for run in (run for run in every_run() if run.engine == STAND_IN):
        for endpoint, script in run.scores:
            for received in gateways.of_capture(f"{run.name}/{endpoint.value}-{script}", [run]):
                if received.sent_on and (endpoint, script) not in run.kept_in:
                    sent = named_capture(received.sent_on)
                    before = capture_of(run, endpoint, script)
                    assert sent is not None
                    assert before is not None
                    comparison = compare(inspect(before), inspect(sent))
                    assert comparison.joined_by is JoinedBy.LAB
                    assert comparison.passing is not None
                    row = f"{comparison.passing.outcome}: {comparison.passing.words}"
                    assert row == gateways.by_name[received.name].rows[run.name, endpoint, script]
                    changed += 1
    assert changed > 20


def test_command_prints_counts_and_rows() -> None:
    printed = inspector("lab", "hop", "--gateway", "agentic-api", "--run", NEWEST).stdout.decode()
    assert "agentic-api 0.9.0 (store)" in printed
    assert "half_character_at_end: completed message part contradicts" in printed.replace(
        "invalid request: ", ""
    )
    rows = json.loads(inspector("lab", "hop", "--gateway", "vllm-router", "--run", NEWEST, "--json").stdout)
    assert {row["outcome"] for row in rows} == {"whole"}
    assert {row["gateway"] for row in rows} == {"vllm-router 0.1.17"}


def test_command_names_the_gateways_that_there_are() -> None:
    failed = inspector("lab", "hop", "--gateway", "nginx")
    assert failed.returncode == 2
    assert b"the gateways are agentic-api 0.9.0 (store)" in failed.stderr


def assert_repeats(gateway: Gateway) -> None:
    stored = load_gateways().by_name[gateway.label].rows
    rows = {
        key: sent.row
        for key, sent in pass_on(LabPaths(default_root()), gateway, [run_named(NEWEST)], scripts=SCRIPTS)
    }
    assert rows
    assert {key: row for key, row in rows.items() if stored[key] != row} == {}


@pytest.mark.vllm
@pytest.mark.parametrize("gateway", SMALL, ids=lambda gateway: gateway.label)
def test_a_gateway_makes_the_same_of_the_same_responses(gateway: Gateway) -> None:
    assert_repeats(gateway)


@pytest.mark.vllm_releases
@pytest.mark.parametrize("gateway", LITELLM, ids=lambda gateway: gateway.label)
def test_litellm_makes_the_same_of_the_same_responses(gateway: Gateway) -> None:
    assert_repeats(gateway)


@contextmanager
def between_taps(gateway: Gateway, script: str) -> Iterator[tuple[Capture, Capture]]:
    """What a tap behind the gateway and one before it record of one response."""
    upstream = Upstream()
    upstream.capture = capture_of(run_named(NEWEST), Endpoint.RESPONSES, script)
    assert upstream.capture is not None
    paths = LabPaths(default_root())
    with (
        upstream.listening() as server,
        tapped(server) as (behind, server_side),
        serving(paths, gateway, behind, SERVED_NAME) as address,
        tapped(address) as (before, client_side),
    ):
        body = {**upstream.capture.header.request, **gateway.body}
        httpx.post(f"{before}/v1/responses", json=body, headers=dict(gateway.headers), timeout=60)
        yield server_side.capture(), client_side.capture()


@pytest.mark.vllm
@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("plain", "agentic-api passed the response on with the same texts."),
        (
            "half_character_at_end",
            "The gateway turned the response into an error: invalid request: completed message part "
            "contradicts output text.",
        ),
    ],
)
def test_taps_on_both_sides_say_at_which_hop_text_was_lost(script: str, sentence: str) -> None:
    gateway = next(gateway for gateway in GATEWAYS if gateway.label == "agentic-api 0.9.0 (store)")
    with between_taps(gateway, script) as (server_side, client_side):
        [pair] = join([server_side], [client_side])
        comparison = compare(inspect(server_side), inspect(client_side), joined_by=pair.by)
        assert comparison.sentence.startswith(sentence)
