"""The matrix as static pages: stable addresses, nothing unescaped, a feed, JSON."""

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

from inspector.capture.capture import Endpoint
from inspector.capture.errors import LabError
from inspector.lab.publish import address_of, publish
from inspector.lab.results import Run
from inspector.lab.score import Outcome, Score
from inspector.lab.scripts import named
from tests.support.results import made_run

SCRIPTS = named(["plain", "emoji"])
ATOM = "{http://www.w3.org/2005/Atom}"


def run(version: str, step: int, plain: Outcome, *, package: str = "vllm-frontend") -> Run:
    differences = ("content: <script>alert(1)</script>",) if plain is Outcome.SILENT else ()
    scores = {
        (Endpoint.CHAT, "plain"): Score(outcome=plain, differences=differences, kinds=()),
        (Endpoint.CHAT, "emoji"): Score(outcome=Outcome.WHOLE, differences=(), kinds=()),
    }
    return replace(made_run(version, step), package=package, scores=scores)


RUNS = [
    run("0.31.0", 1, Outcome.TOLD),
    run("0.31.0", 3, Outcome.WHOLE),
    run("0.32.0", 1, Outcome.SILENT),
    run("0.32.0", 3, Outcome.WHOLE),
    run("0.32.0", 3, Outcome.WHOLE, package="vllm-rs"),
]


def test_every_cell_has_the_address_that_its_names_give(tmp_path: Path) -> None:
    files = publish(RUNS, SCRIPTS, tmp_path / "pages")
    assert sorted(path.name for path in files) == [
        "changes.xml",
        "index.html",
        "matrix.json",
        "python-0.31.0.html",
        "python-0.32.0.html",
        "rust-0.32.0.html",
    ]
    assert address_of(RUNS[2], Endpoint.CHAT, "plain") == "python-0.32.0.html#chat-1-plain"
    for one in RUNS:
        for endpoint, script in one.scores:
            page, _, place = address_of(one, endpoint, script).partition("#")
            assert (tmp_path / "pages" / page).read_text("utf-8").count(f'id="{place}"') == 1


def test_what_a_server_said_is_text_on_the_page(tmp_path: Path) -> None:
    publish(RUNS, SCRIPTS, tmp_path)
    text = (tmp_path / "python-0.32.0.html").read_text("utf-8")
    assert "content: &lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert not any("<script" in path.read_text("utf-8") for path in tmp_path.glob("*ml"))


def test_the_feed_has_an_entry_for_each_release_that_changed_something(tmp_path: Path) -> None:
    publish(RUNS, SCRIPTS, tmp_path)
    feed = ET.fromstring((tmp_path / "changes.xml").read_text("utf-8"))  # noqa: S314 -- our own file
    [entry] = feed.findall(f"{ATOM}entry")
    assert entry.findtext(f"{ATOM}id") == "urn:harmony-inspector:matrix:python:0.32.0"
    assert entry.findtext(f"{ATOM}content") == (
        "<ul><li>Python, chat, 1 per step: 0.31.0 to 0.32.0: 1 reported error became a silent loss.</li></ul>"
    )


def test_the_json_has_every_outcome_and_what_differed(tmp_path: Path) -> None:
    publish(RUNS, SCRIPTS, tmp_path)
    told = json.loads((tmp_path / "matrix.json").read_text("utf-8"))
    [found] = [one for one in told["runs"] if (one["version"], one["steps"]) == ("0.32.0", "1")]
    assert found["page"] == "python-0.32.0.html"
    assert found["scores"]["chat"] == {
        "emoji": "whole",
        "plain": ["silent", "content: <script>alert(1)</script>"],
    }


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(LabError, match="the pages cannot be written"):
        publish(RUNS, SCRIPTS, tmp_path / "file")
