"""`python -m inspector report`."""

from pathlib import Path

import pytest

from inspector.cli import main
from inspector.files.store import save
from inspector.inspection.inspection import inspect
from inspector.views.report import html_report
from tests.support.streams import LEAK, chat


@pytest.fixture(scope="module")
def leak(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "leak.jsonl"
    save(chat(LEAK), path)
    return path


def test_the_command_writes_both_forms(leak: Path, tmp_path: Path) -> None:
    html, text = tmp_path / "r.html", tmp_path / "r.md"
    assert main(["report", str(leak), "--html", str(html), "--markdown", str(text)]) == 0
    assert html.read_text("utf-8") == html_report(inspect(chat(LEAK), name=str(leak)))
    assert text.read_text("utf-8").startswith("**What happened:** Your client got reasoning in the answer.")


def test_the_command_prints_to_standard_output(leak: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(leak), "--markdown", "-"]) == 0
    assert capsys.readouterr().out.startswith("**What happened:**")


@pytest.mark.parametrize(
    ("options", "words"),
    [([], "no output selected"), (["--html", "missing/folder/out.html"], "cannot be written")],
)
def test_the_command_says_what_it_needs(
    leak: Path, options: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(leak), *options]) == 2
    assert words in capsys.readouterr().err
