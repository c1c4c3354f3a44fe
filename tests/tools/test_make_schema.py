"""docs/audit.schema.json describes all that `audit --json` prints, for every fixture and finding code."""

import copy
import json
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, get_args

import jsonschema
import pytest

from inspector.analysis.audit import Code, Facts, Kind
from inspector.analysis.audit.finding import FACT_KEYS
from inspector.analysis.audit.verdict import Level
from inspector.capture.capture import Capture
from inspector.cli import main
from inspector.files.store import builtin, load, load_all
from inspector.inspection.inspection import Inspection, inspect
from inspector.matrix.results import all_runs, capture_of
from inspector.views.rows import audit_dict
from tests.support.command import ROOT
from tools.make_schema import schema, text

FILE = ROOT / "docs" / "audit.schema.json"


def strict(node: Any) -> Any:
    """The schema with its objects closed, so that a key without a description is noticed."""
    if isinstance(node, dict):
        closed = {name: strict(value) for name, value in node.items()}
        if "properties" in node:
            closed.setdefault("additionalProperties", False)
        return closed
    return [strict(item) for item in node] if isinstance(node, list) else node


STRICT = jsonschema.Draft202012Validator(strict(schema()))


def row(inspection: Inspection) -> dict[str, Any]:
    printed = json.dumps(audit_dict(inspection))
    printed_row: dict[str, Any] = json.loads(printed)
    return printed_row


def test_the_file_is_what_the_code_says() -> None:
    assert FILE.read_text(encoding="utf-8") == text(), "python -m tools.make_schema > docs/audit.schema.json"
    jsonschema.Draft202012Validator.check_schema(schema())


def test_the_schema_names_every_kind_code_level_and_fact() -> None:
    known = schema()["$defs"]
    finding = known["finding"]["properties"]
    assert finding["kind"]["enum"] == [kind.value for kind in Kind]
    assert finding["code"]["enum"] == [code.value for code in Code]
    assert known["capture"]["properties"]["verdict"]["properties"]["level"]["enum"] == [
        level.value for level in Level
    ]
    facts = {fact.name for cls in get_args(Facts) for fact in fields(cls)} - {"code"}
    assert list(known["facts"]["properties"]) == list(FACT_KEYS)
    assert set(FACT_KEYS) == facts | {"by_final", "reconstructed"}


@pytest.mark.parametrize("name", [fixture.name for fixture in builtin()])
def test_every_fixture(name: str) -> None:
    path = next(fixture.path for fixture in builtin() if fixture.name == name)
    for capture in load_all(path):
        STRICT.validate(row(inspect(capture, name=name)))


def matrix() -> Iterator[Capture]:
    for run in all_runs():
        for endpoint, name in run.scores:
            if (capture := capture_of(run, endpoint, name)) is not None:
                yield capture


@pytest.mark.sweep
def test_one_finding_of_each_code_that_occurs_in_the_matrix() -> None:
    seen_codes: set[Code] = set()
    for capture in matrix():
        inspection = inspect(capture, truth=capture.header.script)
        if codes := {finding.code for finding in inspection.findings} - seen_codes:
            STRICT.validate(row(inspection))
            seen_codes |= codes
    assert len(seen_codes) > 15, seen_codes


def test_the_command_prints_an_object_for_one_file_and_an_array_for_several(
    capsys: pytest.CaptureFixture[str],
) -> None:
    paths = [str(fixture.path) for fixture in builtin()[:2]]
    for files in (paths[:1], paths):
        main(["audit", "--json", *files])
        STRICT.validate(json.loads(capsys.readouterr().out))


def test_a_renamed_key_is_noticed() -> None:
    valid_row = row(inspect(load(builtin()[0].path)))
    STRICT.validate(valid_row)
    for key in valid_row:
        renamed = {
            ("renamed" if name == key else name): value for name, value in copy.deepcopy(valid_row).items()
        }
        assert not STRICT.is_valid(renamed), key
