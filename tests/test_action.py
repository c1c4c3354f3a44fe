"""Each `run` step of action.yml with its inputs, in bash as GitHub runs it; GitHub itself is not reached."""

import json
import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from starlette.applications import Starlette

from inspector.net.playback import PlaybackSettings, playback_routes
from tests.support.answers import CHAT, counted
from tests.support.builtin import CAPTURES, COMPLETE_CHAT, TOOL
from tests.support.command import ROOT
from tests.support.listening import listening
from tests.support.raw_server import raw_server

ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
EXPRESSION = re.compile(r"\$\{\{ *([^}]+?) *\}\}")


@dataclass(frozen=True, kw_only=True)
class Ran:
    """A step that ran, and what it wrote for GitHub."""

    code: int
    log: str
    outputs: dict[str, str]
    summary: str


@dataclass(frozen=True, kw_only=True)
class Runner:
    """A machine of GitHub: a folder for the action, and one for the job."""

    runner_temp: Path
    workspace: Path

    def step(self, name: str, **inputs: str) -> Ran:
        """Run a step; an input of `api_key` is `api-key`, what is not given has its default."""
        given = {key.replace("_", "-"): value for key, value in inputs.items()}
        values = {
            f"inputs.{key}": given.pop(key, row.get("default", "")) for key, row in ACTION["inputs"].items()
        }
        assert given == {}
        values["steps.python.outputs.python-path"] = sys.executable
        [step] = [step for step in STEPS if step.get("id") == name]
        files = {key: self.runner_temp / key for key in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
        for file in files.values():
            file.write_text("")
        env = {
            **os.environ,
            **{key: str(file) for key, file in files.items()},
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_WORKSPACE": str(self.workspace),
            "RUNNER_TEMP": str(self.runner_temp),
            # What the program needs comes from the environment of the tests, nothing is downloaded.
            "PIP_NO_INDEX": "1",
            **{
                key: EXPRESSION.sub(lambda match: values[match[1]], text) for key, text in step["env"].items()
            },
        }
        completed = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.workspace,
            env=env,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        written = files["GITHUB_OUTPUT"].read_text("utf-8")
        return Ran(
            code=completed.returncode,
            log=completed.stdout + completed.stderr,
            outputs=outputs(written),
            summary=files["GITHUB_STEP_SUMMARY"].read_text("utf-8"),
        )


def outputs(written: str) -> dict[str, str]:
    """Outputs as GitHub reads them: `name=value`, or `name<<END`, lines, `END`."""
    lines, values = iter(written.splitlines()), {}
    for line in lines:
        if (named := re.fullmatch(r"([a-z-]+)<<(\S+)", line)) is not None:
            values[named[1]] = "\n".join(iter(lambda: next(lines), named[2]))
        else:
            name, _, values_of = line.partition("=")
            values[name] = values_of
    return values


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """RUNNER_TEMP after the step that installs the program."""
    runner_temp = tmp_path_factory.mktemp("runner")
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = runner_temp / "harmony-inspector" / "lib" / version / "site-packages"
    packages.mkdir(parents=True)
    (packages / "needed.pth").write_text(sysconfig.get_path("purelib"))
    completed = Runner(runner_temp=runner_temp, workspace=tmp_path_factory.mktemp("empty")).step("install")
    if "No matching distribution" in completed.log:
        pytest.skip("this environment has other versions than requirements.lock")
    assert completed.code == 0, completed.log
    return runner_temp


@pytest.fixture
def runner(installed: Path, tmp_path: Path) -> Runner:
    return Runner(runner_temp=installed, workspace=tmp_path)


@pytest.fixture
def playback() -> Iterator[str]:
    """A server that plays the built-in captures."""
    routes = playback_routes(lambda: CAPTURES, prefix="", settings=PlaybackSettings(speed=inf))
    with listening(Starlette(routes=routes)) as address:
        yield f"{address}/v1"


def results(runner: Runner, file: str) -> list[dict[str, Any]]:
    [run] = json.loads((runner.workspace / file).read_text("utf-8"))["runs"]
    rows: list[dict[str, Any]] = run["results"]
    return rows


def test_only_what_the_lock_names_is_installed() -> None:
    [step] = [step for step in STEPS if step.get("id") == "install"]
    installs = [line for line in step["run"].splitlines() if "pip install" in line]
    assert installs
    assert all("--require-hashes -r" in line and "requirements.lock" in line for line in installs)


@pytest.mark.slow
def test_a_package_of_the_workspace_is_not_run(runner: Runner) -> None:
    (runner.workspace / "inspector").mkdir()
    (runner.workspace / "inspector" / "__init__.py").write_text("raise SystemExit('of the workspace')")
    completed = runner.step("inspect", captures=f"{ROOT}/fixtures/{COMPLETE_CHAT}.jsonl")
    assert completed.code == 0, completed.log


def test_captures_are_audited(runner: Runner) -> None:
    patterns = f"{ROOT}/fixtures/{TOOL}.json* {ROOT}/fixtures/{COMPLETE_CHAT}.jsonl\nnothing-*"
    completed = runner.step("inspect", captures=patterns)
    assert completed.code == 1, completed.log
    assert "leaked 2 reasoning tokens" in completed.log
    assert [result["ruleId"] for result in results(runner, completed.outputs["sarif"])] == ["misrouted"]
    cases = ElementTree.parse(runner.workspace / completed.outputs["junit"]).iter("testcase")  # noqa: S314 -- our own
    assert [len(case) for case in cases] == [1, 0]
    assert completed.outputs["exit-code"] == "1"
    assert "leaked 2 reasoning tokens" in completed.outputs["summary"]
    assert "leaked 2 reasoning tokens" in completed.summary
    assert all(line.startswith("    ") for line in completed.summary.splitlines()[2:] if line)
    assert runner.step("inspect", captures=patterns, fail_on="never").code == 0


def test_a_server_is_probed_with_its_key_and_prompts(runner: Runner) -> None:
    (runner.workspace / "prompts.txt").write_text("$(touch made) `touch made`\nTwo\n")
    answers, _ = counted(3)
    with raw_server(answers) as server:
        completed = runner.step(
            "inspect",
            base_url=server.v1,
            api_key="sk-of-a-secret",
            headers="X-Team: a b\nX-Other: $(touch made)",
            prompts="prompts.txt",
            budget="3requests\n1h",
            model="m",
            out="kept",
        )
        heads = [asked.headers for asked in server.asked if asked.path == CHAT]
    assert completed.code == 0, completed.log
    assert len(heads) == 3
    assert {head["authorization"] for head in heads} == {"Bearer sk-of-a-secret"}
    assert {(head["x-team"], head["x-other"]) for head in heads} == {("a b", "$(touch made)")}
    assert not (runner.workspace / "made").exists()
    assert (runner.workspace / completed.outputs["folder"] / "rows.jsonl").exists()
    files = [path for path in runner.workspace.rglob("*") if path.is_file()]
    assert not [path for path in files if b"sk-of-a-secret" in path.read_bytes()]


@pytest.mark.slow
def test_a_server_is_compared_with_a_baseline(runner: Runner, playback: str) -> None:
    asked = {"base_url": playback, "baseline_url": playback, "repeat": "3", "endpoint": "chat"}
    worse = runner.step("inspect", model=f"{COMPLETE_CHAT} {TOOL}", out="worse", **asked)
    assert worse.code == 1, worse.log
    rows = results(runner, worse.outputs["sarif"])
    assert sum(result["occurrenceCount"] for result in rows) == 15
    for result in rows:
        place = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert (runner.workspace / place).exists()
    assert runner.step("inspect", model=TOOL, out="same", **asked).code == 0


def test_where_nothing_was_done_nothing_is_uploaded(runner: Runner) -> None:
    (runner.workspace / "harmony-inspector.sarif").write_text("of an earlier step")
    cases: tuple[tuple[dict[str, str], str], ...] = (
        ({}, "Set captures"),
        ({"captures": "nothing-*"}, "No file matches"),
        ({"base_url": "http://127.0.0.1:1/v1"}, "127.0.0.1:1"),
    )
    for inputs, words in cases:
        completed = runner.step("inspect", **inputs)
        assert completed.code == 2
        assert words in completed.log
        assert "sarif" not in completed.outputs
    [upload] = [step for step in STEPS if "upload-sarif" in step.get("uses", "")]
    assert "steps.inspect.outputs.sarif != ''" in upload["if"]


def test_inputs_and_outputs_are_those_that_the_steps_know() -> None:
    text = (ROOT / "action.yml").read_text("utf-8")
    asked = set(re.findall(r"inputs\.([a-z-]+)", text))
    assert asked == set(ACTION["inputs"])
    [step] = [step for step in STEPS if step.get("id") == "inspect"]
    script = (ROOT / "action" / "run").read_text("utf-8")
    assert {name for name in step["env"] if name.startswith("INPUT_")} == set(
        re.findall(r"INPUT_[A-Z_]+", script)
    )
    for name, row in ACTION["outputs"].items():
        assert row["value"] == f"${{{{ steps.inspect.outputs.{name} }}}}"
        assert re.search(rf"\b{name}\b", script)


def test_no_step_puts_an_input_into_a_script_and_actions_are_pinned() -> None:
    assert not [step for step in STEPS if "${{" in step.get("run", "")]
    for name in re.findall(r"uses: (\S+.*)", (ROOT / "action.yml").read_text("utf-8")):
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", name), name
