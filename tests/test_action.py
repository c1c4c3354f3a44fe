"""The GitHub Action's script, run as the action runs it, and the names that action.yml hands to it."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from math import inf
from pathlib import Path

import pytest
import yaml
from starlette.applications import Starlette

from inspector.net.playback import PlaybackSettings, playback_routes
from tests.support.builtin import CAPTURES, TOOL, WHOLE
from tests.support.command import ROOT
from tests.support.listening import listening

ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
SCRIPT = ROOT / "action" / "run"


@pytest.fixture
def playback() -> Iterator[str]:
    """A server that plays the built-in captures."""
    routes = playback_routes(lambda: CAPTURES, prefix="", settings=PlaybackSettings(speed=inf))
    with listening(Starlette(routes=routes)) as address:
        yield address


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A PATH on which the program is installed."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "harmony-inspector"
    program.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m inspector "$@"\n')
    program.chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def ran(path: str, cwd: Path, **inputs: str) -> "subprocess.CompletedProcess[str]":
    env = {**os.environ, "PATH": path, **{f"INPUT_{name}": value for name, value in inputs.items()}}
    return subprocess.run(
        [SCRIPT], cwd=cwd, env=env, capture_output=True, text=True, timeout=120, check=False
    )


def results(file: Path) -> list[dict[str, object]]:
    [run] = json.loads(file.read_text("utf-8"))["runs"]
    found: list[dict[str, object]] = run["results"]
    return found


def test_captures_are_audited(path: str, tmp_path: Path) -> None:
    patterns = f"{ROOT}/fixtures/{TOOL}.json* {ROOT}/fixtures/{WHOLE}.jsonl\nnothing-*"
    done = ran(path, tmp_path, CAPTURES=patterns, SARIF="out.sarif")
    assert done.returncode == 1, done.stderr
    assert "leaked 2 reasoning tokens" in done.stdout
    assert {one["ruleId"] for one in results(tmp_path / "out.sarif")} == {
        "dropped",
        "invalid_tool_arguments",
        "misrouted",
    }
    assert ran(path, tmp_path, CAPTURES=patterns, FAIL_ON="never").returncode == 0


def test_a_server_is_probed(path: str, playback: str, tmp_path: Path) -> None:
    asked = {"BASE_URL": f"{playback}/v1", "MODEL": TOOL, "PROMPT": "$(touch made) `touch made`"}
    done = ran(path, tmp_path, **asked, REPEAT="2", CONCURRENCY="2", SARIF="out.sarif")
    assert done.returncode == 1, done.stderr
    assert "4 of 4" in done.stdout
    assert results(tmp_path / "out.sarif")
    assert not (tmp_path / "made").exists()


def test_without_something_to_do_it_says_what_to_set(path: str, tmp_path: Path) -> None:
    for inputs, words in (({}, "Set captures"), ({"CAPTURES": "nothing-*"}, "No file matches")):
        done = ran(path, tmp_path, **inputs)
        assert done.returncode == 2
        assert words in done.stderr


def test_each_input_reaches_the_script() -> None:
    [step] = [one for one in ACTION["runs"]["steps"] if "env" in one]
    handed = set(step["env"])
    assert handed == set(re.findall(r"INPUT_[A-Z_]+", SCRIPT.read_text("utf-8")))
    for name, value in step["env"].items():
        asked = name.removeprefix("INPUT_").lower().replace("_", "-")
        assert value == f"${{{{ inputs.{asked} }}}}"
        assert asked in ACTION["inputs"]


def test_no_step_puts_an_input_into_a_script() -> None:
    assert not [step for step in ACTION["runs"]["steps"] if "${{" in step.get("run", "")]
