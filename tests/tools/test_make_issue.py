"""Every finding is a whole issue whose commands and links are real; two are written by hand."""

import json
import re
import shlex
from collections.abc import Mapping
from pathlib import Path

import pytest

from harmony_lab.commands import COMMAND
from harmony_lab.publish import publish
from inspector.commands.options import Command
from inspector.matrix.results import every_run
from inspector.matrix.scripts import load
from tools.build_hook import urls
from tools.make_issue import FINDINGS, PARTS, issue, places, shown_cell

REPORTS = sorted(path for path in FINDINGS.glob("*.md") if path.name != "README.md")
ADDRESS = "https://github.com/some-body/fork"
PAGES = urls(ADDRESS)["Documentation"]


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """The pages of the matrix by their names."""
    folder = tmp_path_factory.mktemp("pages")
    publish(every_run(), load(), folder)
    return {path.name: path.read_text("utf-8") for path in folder.glob("*.html")}


def test_each_has_a_place_and_those_of_llama_cpp_are_written_by_hand() -> None:
    assert sorted(places()) == [path.name for path in REPORTS]
    by_hand = {name for name, place in places().items() if place == "by hand: ggml-org/llama.cpp"}
    assert by_hand == {path.name for path in REPORTS if path.name.startswith("llama")}


@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.stem)
def test_it_is_complete(path: Path, published: Mapping[str, str]) -> None:
    report = path.read_text("utf-8")
    title, _, text = issue(report, ADDRESS).partition("\n")
    assert report.startswith(f"# {title}\n")
    assert 20 < len(title) < 120
    cell = shown_cell(report)
    failures = {"silent loss", "error reported", "not read", "turned into an error"}
    assert cell.outcome in (failures & outcomes(report) or {"complete"})
    places_of_parts = [text.index(f"**{part}") for part in PARTS]
    assert places_of_parts == sorted(places_of_parts), "the parts have an order"
    for page, anchor in re.findall(rf"\({PAGES}matrix/([\w.-]+)#([\w-]+)\)", text):
        assert f'id="{anchor}"' in published[page]
    assert len(re.findall(rf"\({PAGES}matrix/", text)) >= 4
    [block] = re.findall(r"```sh\n(git clone .*?)```", text, re.DOTALL)
    commands = [shlex.split(line, comments=False) for line in block.splitlines()]
    for words in commands:
        if words[:4] == ["python", "-m", "inspector", "lab"]:
            command = COMMAND.load(words[4])
            assert isinstance(command, Command)
            command.parsed(words[4], [word for word in words[5:] if word != "&"])
    request = json.loads(commands[-1][-1])
    assert "[[script " in json.dumps(request)
    assert "<details><summary>What the server sent" in text
    assert text.rstrip().endswith("wrote this text.")
    assert len(text) < 30_000, "GitHub takes 65,536 characters"


def outcomes(report: str) -> set[str]:
    return set(re.findall(r"^\| `[^|]+`.* \| ([a-z ]+) \|$", report, re.MULTILINE))


def test_without_an_address_nothing_is_linked_to_one() -> None:
    text = issue(REPORTS[0].read_text("utf-8"))
    assert "github.io" not in text
    assert "git clone" not in text
