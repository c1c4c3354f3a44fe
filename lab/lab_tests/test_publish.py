"""The matrix as static pages: stable addresses, nothing unescaped, a feed, JSON."""

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

from harmony_lab.publish import publish
from inspector.capture.capture import Endpoint
from inspector.capture.errors import LabError
from inspector.matrix.results import MatrixRun, Score, ScriptOutcome
from inspector.matrix.scripts import named
from tests.support.results import made_run

SCRIPTS = named(["plain", "emoji"])
ATOM = "{http://www.w3.org/2005/Atom}"


def run(version: str, step: int, plain: ScriptOutcome, *, package: str = "vllm-frontend") -> MatrixRun:
    differences = ("content: <script>alert(1)</script>",) if plain is ScriptOutcome.SILENT else ()
    scores = {
        (Endpoint.CHAT, "plain"): Score(outcome=plain, differences=differences, kinds=()),
        (Endpoint.CHAT, "emoji"): Score(outcome=ScriptOutcome.COMPLETE, differences=(), kinds=()),
    }
    return replace(made_run(version, step), package=package, scores=scores)


RUNS = [
    run("0.31.0", 1, ScriptOutcome.REPORTED),
    run("0.31.0", 3, ScriptOutcome.COMPLETE),
    run("0.32.0", 1, ScriptOutcome.SILENT),
    run("0.32.0", 3, ScriptOutcome.COMPLETE),
    run("0.32.0", 3, ScriptOutcome.COMPLETE, package="vllm-rs"),
]


def test_publish_cell_addresses(tmp_path: Path) -> None:
    files = publish(RUNS, SCRIPTS, tmp_path / "pages")
    assert sorted(path.name for path in files) == [
        "changes.xml",
        "index.html",
        "matrix.json",
        "python-0.31.0.html",
        "python-0.32.0.html",
        "rust-0.32.0.html",
        "servers.html",
    ]
    for matrix_run in RUNS:
        page = tmp_path / "pages" / f"{matrix_run.front_end}-{matrix_run.version}.html"
        for endpoint, script in matrix_run.scores:
            assert page.read_text("utf-8").count(f'id="{endpoint.value}-{matrix_run.step}-{script}"') == 1


def test_publish_escapes_server_text(tmp_path: Path) -> None:
    publish(RUNS, SCRIPTS, tmp_path)
    text = (tmp_path / "python-0.32.0.html").read_text("utf-8")
    assert "content: &lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert not any("<script" in path.read_text("utf-8") for path in tmp_path.glob("*ml"))


def test_publish_feed_entries(tmp_path: Path) -> None:
    publish(RUNS, SCRIPTS, tmp_path)
    feed = ET.fromstring((tmp_path / "changes.xml").read_text("utf-8"))  # noqa: S314 -- our own file
    [entry] = feed.findall(f"{ATOM}entry")
    assert entry.findtext(f"{ATOM}id") == "urn:harmony-inspector:matrix:python:0.32.0"
    assert entry.findtext(f"{ATOM}content") == (
        "<ul><li>Python, chat, 1 per step: 0.31.0 to 0.32.0: 1 reported error became a silent loss.</li></ul>"
    )


def test_publish_json(tmp_path: Path) -> None:
    publish(RUNS, SCRIPTS, tmp_path)
    published = json.loads((tmp_path / "matrix.json").read_text("utf-8"))
    [row] = [
        candidate
        for candidate in published["runs"]
        if (candidate["version"], candidate["steps"]) == ("0.32.0", "1")
    ]
    assert row["page"] == "python-0.32.0.html"
    assert row["scores"]["chat"] == {
        "emoji": "whole",
        "plain": ["silent", "content: <script>alert(1)</script>"],
    }


def test_publish_to_an_impossible_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(LabError, match="the pages cannot be written"):
        publish(RUNS, SCRIPTS, tmp_path / "file")


def test_publish_of_other_servers(tmp_path: Path) -> None:
    sglang = run("0.5.23", 3, ScriptOutcome.SILENT, package="sglang-rust")
    older = run("0.5.19", 3, ScriptOutcome.COMPLETE, package="sglang-rust")
    publish([*RUNS, sglang, older], SCRIPTS, tmp_path)
    side_by_side = (tmp_path / "servers.html").read_text("utf-8")
    assert 'href="sglang-rust-0.5.23.html#chat-3-plain">✕ silent loss' in side_by_side
    assert 'href="python-0.32.0.html#chat-3-plain">● complete' in side_by_side
    assert "0.5.19" not in side_by_side
    page = (tmp_path / "sglang-rust-0.5.23.html").read_text("utf-8")
    assert "vLLM" not in page
    assert "command line refuses this name" in page
