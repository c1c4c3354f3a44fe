"""Rows of an inspection as data frames."""

import pytest

import inspector
from tests.support.builtin import CAPTURES


@pytest.mark.parametrize("name", CAPTURES)
def test_frames_have_a_row_for_each_token_finding_and_event(name: str) -> None:
    inspection = inspector.inspect(CAPTURES[name])
    tokens = inspector.to_pandas(inspection)
    assert len(tokens) == inspection.reading.token_count
    assert len(inspector.to_pandas(inspection, "findings")) == len(inspection.findings)
    assert list(inspector.to_pandas(inspection, "events").get("data", [])) == [
        event.data for event in CAPTURES[name].events
    ]


@pytest.mark.parametrize("name", CAPTURES)
def test_what_a_notebook_prints_is_one_short_line(name: str) -> None:
    inspection = inspector.inspect(CAPTURES[name])
    for value in (inspection, inspection.reading, inspection.capture):
        assert "\n" not in repr(value)
        assert len(repr(value)) < 250


def test_an_unknown_table_is_one_sentence() -> None:
    inspection = inspector.inspect(next(iter(CAPTURES.values())))
    with pytest.raises(inspector.InspectorError, match="the tables are tokens, findings, events"):
        inspector.to_pandas(inspection, "choices")  # type: ignore[arg-type]
