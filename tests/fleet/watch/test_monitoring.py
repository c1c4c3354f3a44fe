"""The Grafana dashboard and the alert rules: queries that Prometheus reads, of metrics that exist."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from inspector.fleet.watch import Metrics

FOLDER = Path(__file__).parents[3] / "monitoring"
NAMES = {
    name for metric in Metrics().registry.collect() for name in (metric.name, f"{metric.name}_total")
} | {f"{metric.name}_bucket" for metric in Metrics().registry.collect() if metric.type == "histogram"}


def queries() -> list[str]:
    board = json.loads((FOLDER / "grafana.json").read_text("utf-8"))
    expressions = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    return [
        text.replace("$__rate_interval", "5m").replace("$upstream", ".*").replace("$model", ".*")
        for text in expressions
    ]


def checked(rules: Path) -> str:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("needs promtool: apt-get install prometheus")
    done = subprocess.run([promtool, "check", "rules", rules], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def test_prometheus_takes_the_rules() -> None:
    assert checked(FOLDER / "alerts.yml") == ""


def test_prometheus_takes_the_queries_of_the_dashboard(tmp_path: Path) -> None:
    rules = [{"record": f"panel:{number}", "expr": text} for number, text in enumerate(queries())]
    assert len(rules) > 8
    path = tmp_path / "rules.yml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}), "utf-8")
    assert checked(path) == ""


def test_all_metrics_exist() -> None:
    alerts = (FOLDER / "alerts.yml").read_text("utf-8")
    metric_names = {
        name for text in [*queries(), alerts] for name in re.findall(r"\bharmony_inspector_\w+", text)
    }
    assert metric_names <= NAMES
