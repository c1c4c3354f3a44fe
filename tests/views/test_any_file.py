"""Nothing in a capture file raises, wherever it is shown, and `audit --json` always keeps to its schema."""

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

import jsonschema
import pytest
from hypothesis import given

from inspector.capture.errors import InspectorError
from inspector.files.store import loads_all
from inspector.fleet.watch.spans import span_of
from inspector.inspection.inspection import Inspection, inspect
from inspector.views.encoding import json_bytes
from inspector.views.report import html_report, markdown_report
from inspector.views.rows import audit_dict
from inspector.views.strip import strip
from tests.support.mutated import kinds_of_places, mutated_files, with_value
from tools.make_schema import schema

CAPTURE: Final = {"$defs": schema()["$defs"], "$ref": "#/$defs/capture"}
SCHEMA: Final = jsonschema.Draft202012Validator(CAPTURE)
VALUES: Final[tuple[Any, ...]] = (
    None,
    True,
    -1,
    2**70,
    0.5,
    "x",
    [],
    {},
    [-1],
    [{}],
    {"name": [], "type": {}},
)


def inspected(content: bytes) -> Iterator[Inspection]:
    with suppress(InspectorError):  # what is no capture is refused in one sentence
        for capture in loads_all(content, "capture"):
            inspection = inspect(capture, name="capture")
            row = json.loads(json.dumps(audit_dict(inspection)))
            assert [f"{error.json_path}: {error.message:.99}" for error in SCHEMA.iter_errors(row)] == []
            yield inspection


@pytest.mark.sweep
@pytest.mark.parametrize("value", VALUES, ids=json.dumps)
def test_any_value_under_any_key_is_audited(value: Any) -> None:
    for lines, place in kinds_of_places():
        list(inspected(with_value(lines, place, value)))


@given(mutated_files())
def test_values_at_several_places_are_shown_by_every_view(content: bytes) -> None:
    for inspection in inspected(content):
        assert inspection.verdict.sentence.endswith(".")
        markdown_report(inspection)
        html_report(inspection)
        json_bytes(strip(inspection, key="capture"))
        span_of(inspection)
