"""A capture and its findings as files."""

import json
from typing import Final

from inspector.capture.capture import render
from inspector.inspection.inspection import Inspection
from inspector.views.rows import audit_dict, finding_row
from inspector.views.spreadsheets import csv_text

_HEAD: Final = ("kind", "severity", "explanation")
"""Columns of a table without findings."""


def capture_lines(inspection: Inspection) -> str:
    """The capture in its own format, whatever file it came from."""
    return "".join(f"{line}\n" for line in render(inspection.capture))


def findings_json(inspection: Inspection) -> str:
    """What `audit --json` prints for the capture."""
    return json.dumps(audit_dict(inspection), indent=2) + "\n"


def findings_csv(inspection: Inspection) -> str:
    """One row per finding."""
    rows = [finding_row(finding) for finding in inspection.findings]
    return csv_text(list(rows[0]) if rows else _HEAD, rows)
