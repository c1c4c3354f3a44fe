"""The picture of a stream: every token has one fate, and a lane has exactly the text that was delivered."""

from pathlib import Path

import pytest

import inspector
from inspector.files.store import FIXTURES
from inspector.matrix.results import MatrixRun, captures_of, every_run
from tests.support.pictures import check
from tests.support.tiers import part

RUNS = [
    pytest.param(run, id=f"{run.package}-{run.version}-si{run.stream_interval}{run.steps}", marks=marks)
    for number, run in enumerate(every_run())
    for marks in ((pytest.mark.sweep,) if number % 9 else (),)
]


@pytest.mark.parametrize("run", RUNS)
def test_every_capture_of_the_matrix(run: MatrixRun) -> None:
    for endpoint, script, capture in part(captures_of(run)):
        check(inspector.inspect(capture, name=f"{endpoint}-{script}"))


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.jsonl*")), ids=lambda path: path.name)
def test_every_built_in_capture(path: Path) -> None:
    check(inspector.inspect(inspector.load(path), name="capture"))
