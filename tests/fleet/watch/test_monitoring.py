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
    f"{metric.name}{ending}"
    for metric in Metrics().registry.collect()
    for ending in ("", "_total", "_created")
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
    completed = subprocess.run(
        [promtool, "check", "rules", rules], capture_output=True, text=True, check=False
    )
    return "" if completed.returncode == 0 else completed.stdout + completed.stderr


def test_prometheus_takes_the_rules() -> None:
    assert checked(FOLDER / "alerts.yml") == ""


def test_a_count_is_an_increase_in_the_last_ten_minutes_and_nothing_else(tmp_path: Path) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("needs promtool: apt-get install prometheus")
    # One sample a minute: the values of the counter, and the second at which it was created.
    counters = {
        "long ago": ("3x30", "0x30", None),
        "long ago, then a gap in the scrapes": ("3x12 _x13 3x5", "0x12 _x13 0x5", None),
        "another": ("0x25 1x5", "0x30", 1),
        "the first": ("_x27 2x3", "_x27 1660x3", 2),
        "the first after a restart": ("5x24 0x2 1x4", "0x24 1500x6", 1),
        "before and after a restart": ("5x21 6x2 0x2 1x4", "0x24 1500x6", 2),
    }
    series = [
        {
            "series": f'harmony_inspector_responses_{ending}{{outcome="damaged", upstream="{name}"}}',
            "values": values,
        }
        for name, (total, created, _) in counters.items()
        for ending, values in (("total", total), ("created", created))
    ]
    counted = {name: count for name, (_, _, count) in counters.items() if count}
    expression = "round(sum by (upstream) (harmony_inspector:responses:increase10m) > 0)"
    expected = [{"labels": f'{{upstream="{name}"}}', "value": count} for name, count in counted.items()]
    tests = {
        "rule_files": [str(FOLDER / "alerts.yml")],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": series,
                "promql_expr_test": [{"expr": expression, "eval_time": "30m", "exp_samples": expected}],
            }
        ],
    }
    path = tmp_path / "tests.yml"
    path.write_text(yaml.safe_dump(tests), "utf-8")
    completed = subprocess.run([promtool, "test", "rules", path], capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stdout + completed.stderr


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
