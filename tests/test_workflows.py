"""The workflows: what they may do, and each of their scripts that needs no account, run in a fresh clone."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS = {
    path.stem: yaml.load(path.read_text("utf-8"), yaml.BaseLoader)  # noqa: S506 -- `on` stays a text
    for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))
}
MAY = {
    ("ci", "gate"): {"contents": "read"},
    ("ci", "pythons"): {"contents": "read"},
    ("pages", "build"): {"contents": "read"},
    ("pages", "deploy"): {"pages": "write", "id-token": "write"},
    ("pages", "report"): {},
    ("release", "build"): {"contents": "read"},
    ("release", "publish"): {"id-token": "write"},
}


def jobs() -> Iterator[tuple[tuple[str, str], dict[str, Any]]]:
    for name, workflow in WORKFLOWS.items():
        for job, words in workflow["jobs"].items():
            yield (name, job), words


def test_a_job_may_do_what_is_listed_and_who_may_write_runs_nothing_of_the_repository() -> None:
    assert {name: job.get("permissions", {}) for name, job in jobs()} == MAY
    for name, job in jobs():
        if "write" in MAY[name].values():
            assert not any("run" in step or "checkout" in step["uses"] for step in job["steps"]), name
        assert "timeout-minutes" in job
    for workflow in WORKFLOWS.values():
        assert workflow["permissions"] == {}
        assert set(workflow["on"]) <= {"push", "pull_request", "schedule", "workflow_dispatch"}
        assert "secrets." not in str(workflow)


def test_actions_are_pinned_by_commit_each_at_one() -> None:
    pinned: dict[str, set[str]] = {}
    for path in [
        ROOT / "action.yml",
        ROOT / "docs" / "ci.md",
        *(ROOT / ".github" / "workflows").glob("*.yml"),
    ]:
        for used in re.findall(r"uses: (.*)", path.read_text("utf-8")):
            if "# this repository" not in used:
                match = re.fullmatch(r"([\w./-]+)@([0-9a-f]{40} # v[\d.]+)", used)
                assert match, (path.name, used)
                pinned.setdefault(match[1], set()).add(match[2])
    assert {name: versions for name, versions in pinned.items() if len(versions) > 1} == {}


def test_values_reach_scripts_by_the_environment() -> None:
    scripts = [step["run"] for _, job in jobs() for step in job["steps"] if "run" in step]
    assert [script for script in scripts if "${{" in script] == []


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone of what is committed, with the tag of a release."""
    folder = tmp_path_factory.mktemp("clone") / "repository"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
    (folder / "publishing.toml").write_text('repository = "https://github.com/some-body/fork"\n')
    changes = (folder / "CHANGELOG.md").read_text("utf-8")
    (folder / "CHANGELOG.md").write_text(changes.replace("(unreleased)", "(2026-12-01)"), "utf-8")
    command = [sys.executable, "-m", "tools.make_addresses"]
    subprocess.run(command, cwd=folder, check=True, env={**os.environ, "PYTHONPATH": ""})
    return folder


def test_root_in_a_container_may_clone_what_the_runner_checked_out(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "GIT_CONFIG_GLOBAL": str(tmp_path / "gitconfig"),
        "GIT_TEST_ASSUME_DIFFERENT_OWNER": "1",
    }
    for _, job in jobs():
        if "container" in job:
            for step in job["steps"]:
                if step.get("run", "").startswith("git "):
                    subprocess.run(["bash", "-ec", step["run"]], env=environment, check=True)
            command = ["git", "clone", "--quiet", "--no-checkout", str(ROOT), str(tmp_path / "clone")]
            subprocess.run(command, env=environment, check=True)


ELSEWHERE = {
    "python -m pip install --require-hashes -r requirements-dev.lock": ".ci/run installs it",
    "python -m pip install --no-deps --no-build-isolation -e . -e lab": ".ci/run does",
    "python -m pytest -q -n 4 tests": ".ci/run does, on one Python",
    ".ci/run": "this runs there",
    'test "$WATCH" = success': "one word",
}


@pytest.mark.slow
def test_the_scripts_run(clone: Path, tmp_path: Path) -> None:
    """In their order, in bash as GitHub starts it; the tools are those of this environment."""
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(clone / "lab"),
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_REF_NAME": "v0.1.0",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "GIT_CONFIG_GLOBAL": str(tmp_path / "gitconfig"),
    }
    for name, job in jobs():
        for step in job["steps"]:
            script = step.get("run")
            if script is not None and script not in ELSEWHERE:
                command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
                done = subprocess.run(
                    command, cwd=clone, env=environment, capture_output=True, text=True, check=False
                )
                assert done.returncode == 0, (name, script, done.stdout[-2000:], done.stderr[-2000:])
    assert (tmp_path / "summary.md").read_text("utf-8").strip()
    assert (clone / "site" / "matrix" / "python-0.33.0.html").is_file()
    assert {path.suffix for path in (clone / "dist").iterdir()} == {".gz", ".whl"}
