"""A round of the canary: what it asks for, what it counts, what it leaves on disk."""

from pathlib import Path

import pytest

from inspector.capture.capture import Endpoint
from inspector.cli import main
from inspector.files.store import load
from inspector.fleet.watch import Keep, Retention, Watch
from inspector.fleet.watch.canary import Canary, usual_requests
from inspector.net.client.address import Server
from inspector.net.client.request import LiveRequest
from tests.support.builtin import COMPLETE_CHAT, TOOL
from tests.support.counting_metrics import CountingMetrics, value
from tests.support.listening import free_port


def test_a_round_is_recorded_audited_and_counted(playback: str, tmp_path: Path) -> None:
    metrics = CountingMetrics()
    watch = Watch(metrics, Retention(tmp_path, Keep.FAILING))
    requests = [LiveRequest(model=name, prompt="hi") for name in (COMPLETE_CHAT, TOOL)]
    Canary(Server(base_url=playback), requests, tmp_path, watch, metrics).once()
    metrics.wait(2)
    watch.close()
    assert value(metrics, "streams_total", upstream="canary", verdict="clean") == 1
    assert value(metrics, "streams_total", upstream="canary", verdict="error") == 1
    [path] = tmp_path.glob("*.jsonl")
    assert load(path).header.model == TOOL


def test_a_request_without_a_response_is_a_failure_and_leaves_no_file(playback: str, tmp_path: Path) -> None:
    metrics, lines = CountingMetrics(), list[str]()
    watch = Watch(metrics, Retention(tmp_path))
    closed_address = f"http://127.0.0.1:{free_port()}"
    for address in (closed_address, f"{playback}/nothing-here"):
        canary = Canary(
            Server(base_url=address),
            [LiveRequest(model="m", prompt="hi")],
            tmp_path,
            watch,
            metrics,
            say=lines.append,
        )
        canary.once()
    watch.close()
    assert value(metrics, "canary_failures_total", reason="not reached") == 1
    assert value(metrics, "canary_failures_total") == 2
    assert value(metrics, "streams_total") == 0
    assert list(tmp_path.glob("*.jsonl")) == []
    assert len(lines) == 2


def test_the_usual_requests_reason_call_a_tool_and_use_both_endpoints() -> None:
    requests = usual_requests("m")
    assert {request.endpoint for request in requests} == {Endpoint.CHAT, Endpoint.RESPONSES}
    assert sum(bool(request.tools) for request in requests) == 1
    assert all(request.temperature == 0 and request.max_tokens for request in requests)


def test_a_damaged_response_has_a_line_and_a_healthy_one_has_none(playback: str, tmp_path: Path) -> None:
    lines: list[str] = []
    for name in (COMPLETE_CHAT, TOOL):
        metrics = CountingMetrics()
        watch = Watch(metrics, Retention(tmp_path))
        request = LiveRequest(model=name, prompt="hi")
        canary = Canary(
            Server(base_url=playback), [request], tmp_path, watch, metrics, name=name, say=lines.append
        )
        canary.once()
        watch.close()
        assert canary.faulty is (name == TOOL)
        assert value(metrics, "responses_total", upstream=name) == 1
    [line] = lines
    assert line.startswith("damaged, chat: The server ")
    assert line.endswith(".jsonl)")


@pytest.mark.parametrize(("model", "code"), [(COMPLETE_CHAT, 0), (TOOL, 1)])
def test_one_round_says_by_its_exit_code_whether_all_went_well(
    playback: str, tmp_path: Path, model: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--base-url", playback, "--model", model, "--out", str(tmp_path)]
    assert main(["canary", *options, "--prompt", "hi", "--once"]) == code
    assert len(capsys.readouterr().err.splitlines()) == code
