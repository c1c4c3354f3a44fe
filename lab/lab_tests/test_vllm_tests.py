"""The scripts as tests of vLLM: the written files, and their failures on a real release."""

import ast
import importlib.util
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from harmony_lab.install import installed
from harmony_lab.model import make_vocabulary
from harmony_lab.paths import LabPaths
from harmony_lab.standin.install import FRONT_END, NEWEST_FRONT_END
from harmony_lab.vllm_tests import DATA_FILE, TEST_FILE, case_of, write_vllm_tests
from inspector.capture.capture import Endpoint
from inspector.cli import main
from inspector.files.store import FIXTURES
from inspector.matrix.results import STAND_IN, ScriptOutcome, default_root, load_runs
from inspector.matrix.scripts import load, named
from inspector.protocol.harmony.vocab import encode

_MODULES = ("pytest", "_pytest", "pluggy", "iniconfig", "py", "pygments")
"""Dependencies of pytest that vLLM does not have."""
_FAILED = re.compile(r"^FAILED \S+::test_(stream|whole)\[(\w+?)(?:-(1|3|ragged))?\]", re.MULTILINE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("vllm-tests")
    write_vllm_tests(path)
    return path


@pytest.fixture(scope="module")
def cases(folder: Path) -> list[dict[str, Any]]:
    data = json.loads((folder / DATA_FILE).read_text(encoding="utf-8"))
    assert sum(data["ragged_steps"]) > max(len(case["token_ids"]) for case in data["cases"])
    return list(data["cases"])


def test_vllm_tests_option_writes_test_and_cases(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "fixtures", "--vllm-tests", str(tmp_path / "new")]) == 0
    assert f"of {len(load())} scripts" in capsys.readouterr().out
    assert {file.name for file in (tmp_path / "new").iterdir()} == {TEST_FILE, DATA_FILE}


def test_vllm_test_file_does_not_import_this_package(folder: Path) -> None:
    text = (folder / TEST_FILE).read_text(encoding="utf-8")
    assert text.startswith("# SPDX-License-Identifier: Apache-2.0\n")
    assert max(map(len, text.splitlines())) <= 88
    tree = ast.parse(text)
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not [module for module in modules if module is None or module.startswith("inspector")]


def test_cases_have_the_tokens_of_their_scripts(cases: list[dict[str, Any]]) -> None:
    scripts = {script.name: script for script in load()}
    assert len(cases) > 70
    for case in cases:
        script = scripts[case["name"]]
        assert tuple(case["token_ids"]) == script.sampled
        well_formed = script.well_formed or script.stops_early
        assert ("rejected" in case) is not well_formed, case["name"]
    plain = next(case for case in cases if case["name"] == "plain")
    assert encode(plain["text"]) == plain["token_ids"]


def test_case_of_scripts_that_cannot_be_expressed() -> None:
    left_out = named(["unknown_recipient", "json_answer", "python_call", "turn_python", "half_character"])
    assert [case_of(script) for script in left_out] == [None] * len(left_out)


@pytest.mark.vllm
def test_vllm_tests_fail_as_in_the_matrix(folder: Path, cases: list[dict[str, Any]], tmp_path: Path) -> None:
    paths = LabPaths(default_root())
    environment = installed(paths, FRONT_END, NEWEST_FRONT_END)
    assert environment is not None, f"python -m inspector lab install --front-end {NEWEST_FRONT_END}"
    for name in _MODULES:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin is not None:
            origin = Path(spec.origin)
            source = origin.parent if origin.name == "__init__.py" else origin
            (tmp_path / source.name).symlink_to(source)
    command = [str(environment.python), "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=no", TEST_FILE]
    ran = subprocess.run(
        command,
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(tmp_path),
            "TIKTOKEN_ENCODINGS_BASE": str(make_vocabulary(paths.models)),
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 1, ran.stdout[-3000:] + ran.stderr[-3000:]
    failed = {(name, steps or "unstreamed") for _, name, steps in _FAILED.findall(ran.stdout)}
    names = {case["name"] for case in cases}
    silent = {
        (name, run.step)
        for run in load_runs(FIXTURES / "matrix" / STAND_IN)
        if (run.package, run.version) == (FRONT_END, NEWEST_FRONT_END)
        for (endpoint, name), score in run.scores.items()
        if endpoint is Endpoint.CHAT and name in names and score.outcome is ScriptOutcome.SILENT
    }
    assert failed == silent
