"""A capture and its findings as files."""

import csv
import io
import json

import pytest

import inspector
from inspector.views.exports import capture_lines, findings_csv, findings_json
from tests.support.streams import Step, chat

CLOSED: Step = ("<|return|>", {})


def inspected(text: str, delivered: str) -> inspector.Inspection:
    capture = chat([("<|channel|>final<|message|>", {}), (text, {"content": delivered}), CLOSED])
    return inspector.inspect(capture, name="one")


def test_findings_json_is_what_audit_prints() -> None:
    inspection = inspected("Hi", "")
    row = json.loads(findings_json(inspection))
    assert row["file"] == "one"
    assert [finding["kind"] for finding in row["findings"]] == ["dropped"]


@pytest.mark.parametrize("text", ["=cmd|' /C calc'!A0", "+1", "-1", "@x", "\tx"])
def test_findings_csv_escapes_formulas(text: str) -> None:
    rows = list(csv.DictReader(io.StringIO(findings_csv(inspected(text, "")))))
    assert [row["generated"] for row in rows if row["kind"] == "dropped"] == ["'" + text]


def test_findings_csv_without_findings_has_a_head() -> None:
    assert list(csv.reader(io.StringIO(findings_csv(inspected("Hi", "Hi"))))) == [
        ["kind", "severity", "explanation"]
    ]


def test_capture_lines_are_read_back_as_the_capture() -> None:
    inspection = inspected("Hi", "Hi")
    assert inspector.loads_all(capture_lines(inspection).encode(), "again") == [inspection.capture]
