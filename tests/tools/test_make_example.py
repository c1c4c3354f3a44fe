"""The rows of the Library's example are what a scan of these captures gives."""

from typing import Any

import pytest

from inspector.data.scan.columns import CAPTURES, FINDINGS, Table
from inspector.data.scan.offers import EXAMPLE
from inspector.data.scan.rows import rows_of_batch
from inspector.data.scan.tables import arrow_table
from tests.support.archives import rows_in
from tools.make_example import ROOT, items


@pytest.mark.parametrize(
    "step", [151, pytest.param(1, marks=pytest.mark.sweep)], ids=["some of them", "all of them"]
)
def test_the_rows_are_those_of_the_captures(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    wanted = items()
    shipped = {row["id"]: row for row in rows_in(EXAMPLE)}
    assert len(wanted) == len(shipped)
    rows = rows_of_batch(wanted[::step])
    captures = arrow_table(CAPTURES, rows.captures).to_pylist()
    advice = "run python -m tools.make_example"
    assert captures == [shipped[row["id"]] for row in captures], advice
    keys = {row["id"] for row in captures}
    findings = [row for row in rows_in(EXAMPLE, Table.FINDINGS) if row["capture"] in keys]
    assert sorted(arrow_table(FINDINGS, rows.findings).to_pylist(), key=_place) == findings, advice


def _place(row: dict[str, Any]) -> tuple[str, int]:
    return row["capture"], row["place"]
