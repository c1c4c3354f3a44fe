"""docs/findings: the reports agree with the matrix, and the list has every report."""

import re
from pathlib import Path

import pytest

from inspector.capture.capture import Endpoint
from inspector.files.store import FIXTURES
from inspector.matrix.receivers import load_receivers
from inspector.matrix.results import OTHER_SERVERS, STAND_IN, MatrixRun, load_runs
from inspector.matrix.scripts import load
from inspector.protocol.harmony.text import text_of

FOLDER = Path(__file__).parents[2] / "docs" / "findings"
REPORTS = sorted(path for path in FOLDER.glob("*.md") if path.name != "README.md")
CELL = re.compile(r"^\| `([^/`]+)/(\w+)-(\w+)` \| (.+) \|$", re.MULTILINE)


@pytest.fixture(scope="module")
def runs() -> dict[str, MatrixRun]:
    folders = (FIXTURES / "matrix" / name for name in (STAND_IN, OTHER_SERVERS))
    return {run.name: run for folder in folders for run in load_runs(folder)}


@pytest.mark.parametrize("report", REPORTS, ids=lambda path: path.stem)
def test_report_cells_are_those_of_the_matrix(report: Path, runs: dict[str, MatrixRun]) -> None:
    cells = CELL.findall(report.read_text("utf-8"))
    assert len(cells) >= 4
    wrong = []
    for run, endpoint, script, columns in cells:
        client, _, words = columns.rpartition(" | ")
        view = load_receivers().view(client, runs[run]) if client else runs[run]
        if view.words(view.scores[Endpoint(endpoint), script].outcome) != words:
            wrong.append((run, script, columns))
    assert wrong == []


@pytest.mark.parametrize("report", REPORTS, ids=lambda path: path.stem)
def test_report_tokens_are_those_of_named_scripts(report: Path) -> None:
    text = report.read_text("utf-8")
    blocks = [re.findall(r"\b\d{2,6}\b", block) for block in re.findall(r"```\n(.*?)```", text, re.DOTALL)]
    streams = [tuple(map(int, block)) for block in blocks if len(block) > 3]
    named = {script.sampled for script in load() if f"`{script.name}`" in text}
    assert streams
    assert [text_of(ids) for ids in streams if ids not in named] == []


def test_report_list_is_complete() -> None:
    listed = re.findall(r"\]\(([\w-]+\.md)\)", (FOLDER / "README.md").read_text("utf-8"))
    assert sorted(listed) == [path.name for path in REPORTS]
