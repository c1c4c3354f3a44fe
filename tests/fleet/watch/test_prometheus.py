"""Debian's Prometheus reads the metrics of a real tap, and its alert names the lossy server only."""

import json
import re
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

import httpx
import pytest

from tests.support.builtin import TOOL, WHOLE
from tests.support.command import ROOT

RULES = ROOT / "monitoring" / "alerts.yml"
TRIES = 120
EACH_S = 0.25


@contextmanager
def process(*command: str | Path, log: Path) -> Iterator["subprocess.Popen[bytes]"]:
    with log.open("wb") as out:
        process = subprocess.Popen([*map(str, command)], cwd=ROOT, stdout=out, stderr=subprocess.STDOUT)
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


def test_an_alert_fires_for_the_lossy_server_and_not_for_the_good_one(playback: str, tmp_path: Path) -> None:
    prometheus = shutil.which("prometheus")
    assert prometheus, (
        "no prometheus on this machine; install it, as .ci/run does: apt-get install prometheus"
    )
    log, captures = tmp_path / "tap.log", tmp_path / "captures"
    tap = (sys.executable, "-m", "inspector", "tap", "--port", "0", "--metrics", "0", "--keep", "failing")
    ups = ("--upstream", f"good={playback}", "--upstream", f"lossy={playback}", "--captures", captures)
    with process(*tap, *ups, log=log) as tapping:
        match = tried(tapping, lambda: re.search(r"metrics: http://(\S+)/metrics", log.read_text()), log)
        address = re.search(r"(http://\S+)/good/v1", log.read_text())
        assert address is not None
        for name, model in (("good", WHOLE), ("lossy", TOOL)):
            url = f"{address[1]}/{name}/v1/chat/completions"
            body = {"model": model, "stream": True, "return_token_ids": True, "messages": []}
            assert httpx.post(url, json=body).status_code == 200
        (tmp_path / "prometheus.yml").write_text(
            f"global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: [{RULES}]\n"
            f"scrape_configs: [{{job_name: tap, static_configs: [{{targets: ['{match[1]}']}}]}}]\n"
        )
        with process(
            prometheus,
            f"--config.file={tmp_path}/prometheus.yml",
            f"--storage.tsdb.path={tmp_path}/data",
            "--web.listen-address=127.0.0.1:0",
            "--enable-feature=exemplar-storage",
            log=tmp_path / "prometheus.log",
        ) as scraping:
            log_file = tmp_path / "prometheus.log"
            port = tried(
                scraping,
                lambda: re.search(r"address=127\.0\.0\.1:([1-9]\d*)", log_file.read_text()),
                log_file,
            )
            api = f"http://127.0.0.1:{port[1]}/api/v1"
            alerts = tried(
                scraping,
                lambda: [
                    alert for alert in get(f"{api}/alerts")["data"]["alerts"] if alert["state"] == "firing"
                ],
                log_file,
            )
            streams = get(
                f"{api}/query?query=sum%20by%20(upstream,verdict)%20(harmony_inspector_streams_total)"
            )
    assert {(alert["labels"]["alertname"], alert["labels"]["upstream"]) for alert in alerts} == {
        ("HarmonyResponsesDamaged", "lossy")
    }
    assert {
        (sample["metric"]["upstream"], sample["metric"]["verdict"]) for sample in streams["data"]["result"]
    } == {
        ("good", "clean"),
        ("lossy", "error"),
    }
    assert len(list(captures.glob("*.jsonl"))) == 1, "only that of the lossy server is kept"
