"""Recordings become metrics: what was found, where, with which known issue, and the name of the capture."""

from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client.exposition import choose_encoder

from inspector.analysis.audit.outcome import ResponseOutcome
from inspector.analysis.audit.verdict import Level
from inspector.files.store import save
from inspector.fleet.watch import Keep, Metrics, Retention, Watch, summarise
from inspector.fleet.watch.metrics import NAMES_AT_MOST
from inspector.inspection.inspection import inspect
from tests.support.builtin import CAPTURES, COMPLETE_CHAT
from tests.support.counting_metrics import CountingMetrics, value

LEAK = "chat-tool-call-leak-vllm-0.14.1"
DROPPED = "chat-tool-call-dropped-vllm-0.13.0"
LABELS = {"endpoint": "chat", "front_end": "vllm", "upstream": "up"}


def recorded(folder: Path, name: str, number: int) -> Path:
    path = folder / f"20261122-120000-chat-{number:06x}.jsonl"
    save(CAPTURES[name], path)
    return path


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> tuple[CountingMetrics, dict[str, Path]]:
    """Two recordings of a fault, a healthy one, and one that was removed before its audit."""
    folder, metrics = tmp_path_factory.mktemp("captures"), CountingMetrics()
    paths = {
        name: recorded(folder, name, number) for number, name in enumerate((LEAK, DROPPED, COMPLETE_CHAT))
    }
    watch = Watch(metrics, Retention(folder, Keep.FAILING))
    for path in paths.values():
        watch.ended("up", path)
    watch.ended("up", folder / "20261122-120000-chat-ffffff.jsonl")
    watch.passed("up")
    metrics.wait(5)
    watch.close()
    return metrics, paths


def test_streams_are_counted_by_verdict(watched: tuple[CountingMetrics, dict[str, Path]]) -> None:
    metrics, _ = watched
    assert value(metrics, "streams_total", verdict="error", **LABELS) == 2
    assert value(metrics, "streams_total", verdict="clean", **LABELS) == 1
    assert value(metrics, "tokens_total") == sum(
        len(inspect(CAPTURES[name]).reading.choice.tokens) for name in (LEAK, DROPPED, COMPLETE_CHAT)
    )
    assert value(metrics, "audit_lag_seconds_count") == 3
    assert value(metrics, "audits_waiting") == 0


def test_every_verdict_and_outcome_has_a_series_from_the_first_response_on(
    watched: tuple[CountingMetrics, dict[str, Path]],
) -> None:
    metrics, _ = watched
    for name, label, members in (("streams", "verdict", Level), ("responses", "outcome", ResponseOutcome)):
        by_set: dict[tuple[str, ...], set[str]] = {}
        for metric in metrics.registry.collect():
            for sample in metric.samples:
                if sample.name == f"harmony_inspector_{name}_total":
                    other_labels = tuple(value for key, value in sample.labels.items() if key != label)
                    by_set.setdefault(other_labels, set()).add(sample.labels[label])
        assert len(by_set) == 2
        assert all(values == set(members) for values in by_set.values())


def test_tokens_of_responses_are_counted_where_they_are_reconstructed() -> None:
    inspection = inspect(CAPTURES["responses-whole-vllm-0.14.1"])
    reconstruction = inspection.reading.choice.reconstruction
    assert reconstruction is not None
    summary = summarise(inspection)
    assert summary.tokens == len(reconstruction.ids) > 0
    assert summary.span.attributes["harmony_inspector.tokens"] == summary.tokens


def test_findings_are_counted_as_the_audit_has_them(watched: tuple[CountingMetrics, dict[str, Path]]) -> None:
    metrics, _ = watched
    for name, version in ((LEAK, "0.14.1"), (DROPPED, "0.13.0")):
        findings = summarise(inspect(CAPTURES[name])).findings
        assert findings
        for finding in set(findings):
            labels = {
                "kind": finding.kind,
                "severity": finding.severity,
                "cause": finding.cause,
                "channel": finding.channel,
            }
            counted = value(metrics, "findings_total", server_version=version, **labels)
            assert counted == findings.count(finding), finding


def test_failing_recordings_stay_and_are_named(watched: tuple[CountingMetrics, dict[str, Path]]) -> None:
    metrics, paths = watched
    assert {name for name, path in paths.items() if path.exists()} == {LEAK, DROPPED}
    named = {
        sample.exemplar.labels["capture"]
        for metric in metrics.registry.collect()
        for sample in metric.samples
        if sample.exemplar is not None
    }
    assert named == {paths[LEAK].name, paths[DROPPED].name}


def test_what_was_not_audited_is_counted_with_its_reason(
    watched: tuple[CountingMetrics, dict[str, Path]],
) -> None:
    metrics, _ = watched
    assert value(metrics, "unaudited_streams_total", upstream="up", reason="audit failed") == 1
    assert value(metrics, "unaudited_streams_total", upstream="up", reason="not sampled") == 1


def test_a_finding_has_the_channel_of_its_message() -> None:
    channels = {finding.channel for finding in summarise(inspect(CAPTURES[LEAK])).findings}
    assert "none" not in channels
    assert channels <= {"analysis", "commentary", "final"}


def test_a_client_cannot_make_a_series_per_request() -> None:
    metrics = Metrics()
    stream_summary = summarise(inspect(CAPTURES[COMPLETE_CHAT]))
    for number in range(NAMES_AT_MOST + 20):
        metrics.audited("up", replace(stream_summary, model=f"model-{number}"), lag_s=0.0, capture="")
    assert value(metrics, "streams_total", model="other") == 20
    assert value(metrics, "streams_total") == NAMES_AT_MOST + 20


def test_names_that_no_model_has_take_no_place() -> None:
    metrics = Metrics()
    stream_summary = summarise(inspect(CAPTURES[COMPLETE_CHAT]))
    for number in range(NAMES_AT_MOST + 20):
        metrics.audited(
            "up", replace(stream_summary, model=f"guess-{number}", served=False), lag_s=0.0, capture=""
        )
    metrics.audited("up", replace(stream_summary, model="real"), lag_s=0.0, capture="")
    metrics.audited("up", replace(stream_summary, model="real", served=False), lag_s=0.0, capture="")
    assert value(metrics, "streams_total", model="other") == NAMES_AT_MOST + 20
    assert value(metrics, "streams_total", model="real") == 2


def test_a_channel_that_a_model_invents_is_another_one() -> None:
    metrics = Metrics()
    stream_summary = summarise(inspect(CAPTURES[LEAK]))
    findings = tuple(replace(stream_summary.findings[0], channel=name) for name in ("invented", "analysis"))
    metrics.audited("up", replace(stream_summary, findings=findings), lag_s=0.0, capture="")
    assert value(metrics, "findings_total", channel="other") == 1
    assert value(metrics, "findings_total", channel="analysis") == 1


def test_no_name_keeps_the_metrics_from_being_read() -> None:
    metrics = Metrics()
    stream_summary = summarise(inspect(CAPTURES[LEAK]))
    for model in ("half a pair \ud800", 'a "name"\n', "m" * 1000):
        metrics.audited("up", replace(stream_summary, model=model), lag_s=0.0, capture="c" * 200)
    for accepted in ("text/plain", "application/openmetrics-text"):
        assert b"half a pair ?" in choose_encoder(accepted)[0](metrics.registry)
