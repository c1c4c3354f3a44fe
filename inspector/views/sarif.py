"""Findings as SARIF 2.1.0, which code scanning reads: a rule for each kind, a result for each finding."""

import json
from collections.abc import Callable, Sequence
from typing import Any, Final
from urllib.parse import quote

from inspector.analysis.audit import Severity, explain
from inspector.analysis.audit.kinds import KINDS, Kind
from inspector.inspection.inspection import Inspection

RESULTS_AT_MOST: Final = 5000
"""The limit of code scanning for one run."""

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning"}


def sarif(tool: str, results: Sequence[dict[str, Any]], rule_words: Callable[[str], str]) -> str:
    """A document of one run; `rule_words` describes a rule."""
    results = results[:RESULTS_AT_MOST]
    rules = [
        {"id": rule, "shortDescription": {"text": rule_words(rule)}}
        for rule in sorted({row["ruleId"] for row in results})
    ]
    run = {
        "tool": {"driver": {"name": tool, "rules": rules}},
        "results": list(results),
        "columnKind": "unicodeCodePoints",
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def sarif_result(
    rule: str, level: str, words: str, place: str, *, line: int | None = None, **properties: object
) -> dict[str, Any]:
    """One result; `place` is a file, relative to the repository for code scanning."""
    physical: dict[str, Any] = {"artifactLocation": {"uri": quote(place, safe="/:#")}}
    if line is not None:
        physical["region"] = {"startLine": line}
    return {
        "ruleId": rule,
        "level": level,
        "message": {"text": words},
        "locations": [{"physicalLocation": physical}],
        "properties": properties,
    }


def kind_words(rule: str) -> str:
    """The description of a kind of finding; empty for another rule."""
    return KINDS[Kind(rule)].when if rule in {kind.value for kind in Kind} else ""


def audit_sarif(inspections: Sequence[Inspection]) -> str:
    """The findings of several captures."""
    results = [
        sarif_result(
            str(finding.kind),
            _LEVELS[finding.severity],
            explain(finding),
            inspection.name,
            code=str(finding.code),
            cause=None if cause is None else cause.id,
            first_step=None if cause is None else cause.first_step,
            token_start=finding.token_start,
            token_end=finding.token_end,
        )
        for inspection in inspections
        for finding, cause in zip(inspection.findings, inspection.causes, strict=True)
    ]
    return sarif("Harmony Inspector", results, kind_words)
