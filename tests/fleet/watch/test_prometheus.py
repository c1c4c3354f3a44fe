"""Debian's Prometheus reads a real tap and a canary: alerts name the right server, never the healthy one."""

import json
import re
import resource
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest

from tests.support.builtin import COMPLETE_CHAT, TOOL
from tests.support.command import ROOT
from tests.support.listening import free_port

RULES = ROOT / "monitoring" / "alerts.yml"
BOARD = ROOT / "monitoring" / "grafana.json"
TRIES = 120
EACH_S = 0.25


@contextmanager
def process(
    *command: str | Path, log: Path, before: Callable[[], None] | None = None
) -> Iterator["subprocess.Popen[bytes]"]:
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*map(str, command)],
            cwd=ROOT,
            stdout=out,
            stderr=subprocess.STDOUT,
            preexec_fn=before,  # noqa: PLW1509
        )
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def tried(process: "subprocess.Popen[bytes]", look: Callable[[], Any], log: Path) -> Any:
    """What `look` finds once it finds something, while the process lives."""
    for _ in range(TRIES):
        try:
            if result := look():
                return result
        except (OSError, urllib.error.URLError, httpx.HTTPError):
            pass
        try:
            process.wait(EACH_S)
        except subprocess.TimeoutExpired:
            continue
        break
    pytest.fail(f"{look.__name__} found nothing:\n{log.read_text(errors='replace')}")


def get(address: str) -> Any:
    with urllib.request.urlopen(address, timeout=5) as answer:  # noqa: S310 -- our own servers
        return json.load(answer)


def ask(address: str, query: str = "", *, read: int | None = None, **body: Any) -> int:
    """The status of a streamed response; the client leaves after `read` chunks."""
    payload = {"stream": True, "return_token_ids": True, "messages": [], **body}
    url = f"{address}/v1/chat/completions{query}"
    with httpx.stream("POST", url, json=payload) as answer:
        for number, _ in enumerate(answer.iter_raw(), 1):
            if number == read:
                break
        return answer.status_code


def full_disk() -> None:
    """From now on this process writes no file; its log may have some bytes."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))


def queried(api: str, query: str) -> list[Any]:
    samples: list[Any] = get(f"{api}/query?{urlencode({'query': query})}")["data"]["result"]
    return samples


@contextmanager
def prometheus_reading(targets: dict[str, str], folder: Path) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The API of a Prometheus with our rules, whose alerts wait for nothing, and `tried` with its process."""
    program = shutil.which("prometheus")
    assert program, "no prometheus on this machine; install it, as .ci/run does: apt-get install prometheus"
    rules, log = folder / "alerts.yml", folder / "prometheus.log"
    rules.write_text(re.sub(r"for: \d+m", "for: 0s", RULES.read_text()))
    jobs = ",".join(
        f"{{job_name: {job}, static_configs: [{{targets: ['{at}']}}]}}" for job, at in targets.items()
    )
    (folder / "prometheus.yml").write_text(
        "global: {scrape_interval: 1s, evaluation_interval: 1s}\n"
        f"rule_files: [{rules}]\nscrape_configs: [{jobs}]\n"
    )
    with process(
        program,
        f"--config.file={folder}/prometheus.yml",
        f"--storage.tsdb.path={folder}/data",
        "--web.listen-address=127.0.0.1:0",
        "--enable-feature=exemplar-storage",
        log=log,
    ) as scraping:
        port = tried(scraping, lambda: re.search(r"address=127\.0\.0\.1:([1-9]\d*)", log.read_text()), log)
        yield f"http://127.0.0.1:{port[1]}/api/v1", lambda look: tried(scraping, look, log)


@pytest.mark.slow
def test_each_alert_fires_for_its_reason_and_none_for_a_healthy_server(playback: str, tmp_path: Path) -> None:
    log, captures = tmp_path / "tap.log", tmp_path / "captures"
    names = ("good", "lossy", "failing")
    ups = [part for name in names for part in ("--upstream", f"{name}={playback}")]
    python = (sys.executable, "-B", "-m", "inspector")
    tap = (*python, "tap", "--port", "0", "--metrics", "0", "--keep", "failing")
    canary_words = (*python, "canary", "--base-url", f"http://127.0.0.1:{free_port()}/v1")
    east = (*canary_words, "--model", "m", "--name", "east", "--metrics", "0", "--out", tmp_path / "east")
    east_log, full_log = tmp_path / "east.log", tmp_path / "full.log"
    full = ("--upstream", f"full={playback}", "--out", tmp_path / "full")

    def metrics_at(log: Path) -> Any:
        return re.search(r"metrics: http://(\S+)/metrics", log.read_text())

    with (
        process(*tap, *ups, "--out", captures, log=log) as tapping,
        process(*east, log=east_log) as canary,
        process(*tap, *full, log=full_log, before=full_disk) as filled,
    ):
        targets = {
            "tap": tried(tapping, lambda: metrics_at(log), log)[1],
            "canary": tried(canary, lambda: metrics_at(east_log), east_log)[1],
            "full": tried(filled, lambda: metrics_at(full_log), full_log)[1],
        }
        [on_full_disk] = re.findall(r"(http://\S+)/v1 ->", full_log.read_text())
        taps = re.findall(r"(http://\S+)/v1 ->", log.read_text())
        healthy, lossy, failing = taps
        assert ask(healthy, model=COMPLETE_CHAT) == 200
        assert ask(healthy, "?tokens_per_s=20", model=COMPLETE_CHAT, read=3) == 200
        assert ask(healthy, model="a-model-that-does-not-exist") == 404
        assert ask(healthy, "?faults=http%3D400", model=COMPLETE_CHAT) == 400
        assert ask(lossy, model=COMPLETE_CHAT) == 200
        assert ask(failing, "?faults=http%3D503", model=COMPLETE_CHAT) == 503
        with prometheus_reading(targets, tmp_path) as (api, soon):

            def outcomes(*expected: tuple[str, str]) -> bool:
                samples = queried(api, "sum by (upstream, outcome) (harmony_inspector_responses_total) > 0")
                present = {(row["metric"]["upstream"], row["metric"]["outcome"]) for row in samples}
                return set(expected) <= present

            def firing() -> set[tuple[str, str | None]]:
                alerts = get(f"{api}/alerts")["data"]["alerts"]
                labels = [alert["labels"] for alert in alerts if alert["state"] == "firing"]
                return {(row["alertname"], row.get("upstream", row.get("job"))) for row in labels}

            ends = ("complete", "aborted", "rejected")
            soon(lambda: outcomes(*(("good", outcome) for outcome in ends), ("lossy", "complete")))
            # The first damage of a label set that Prometheus has read already.
            assert ask(lossy, model=TOOL) == 200
            assert ask(on_full_disk, model=TOOL) == 200
            other_alerts = {("HarmonyResponsesFailed", "failing"), ("HarmonyCanaryUnanswered", "east")}
            other_alerts |= {("HarmonyResponsesNotRecorded", "full"), ("HarmonyResponsesDamaged", "full")}
            expected = {("HarmonyResponsesDamaged", "lossy"), *other_alerts}
            soon(lambda: firing() >= expected)
            assert firing() == expected
            board = json.loads(BOARD.read_text())["panels"]
            for panel, number in zip(board[:4], (2, 1, 8, 0), strict=True):
                query = re.sub(r"\$\w+", ".*", panel["targets"][0]["expr"])
                [sample] = queried(api, query)
                assert round(float(sample["value"][1])) == number, panel["title"]
            canary.send_signal(signal.SIGTERM)
            soon(lambda: ("HarmonyInspectorDown", "canary") in firing())
            assert {name for name, _ in firing()} <= {name for name, _ in expected} | {"HarmonyInspectorDown"}
    damaged_or_failed = list(captures.glob("*.jsonl"))
    assert len(damaged_or_failed) == 4, "those of errors are kept: 404, 400, 503 and the damaged one"
    assert re.search(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ ", east_log.read_text(), re.MULTILINE)
