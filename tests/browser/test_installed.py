"""The wheel in an environment of its own, away from the checkout: commands, the dashboard, the probe."""

import json
import os
import re
import shlex
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from inspector.files.store import FIXTURES
from tests.browser.conftest import ROOT, waited
from tests.support.listening import free_port


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The installed program. What it needs comes from the environment of the tests, nothing is downloaded."""
    folder = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    built = ["wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
    subprocess.run([*pip, *built], check=True)
    [wheel] = folder.glob("*.whl")
    home = folder / "environment"
    venv.create(home, with_pip=False)
    python = home / "bin" / "python"
    where = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    packages = Path(subprocess.run(where, capture_output=True, text=True, check=True).stdout.strip())
    subprocess.run(
        [*pip, "--python", str(python), "install", "--no-deps", "--no-compile", str(wheel)], check=True
    )
    top = {path.name for path in packages.iterdir() if not path.name.endswith(".dist-info")}
    assert top == {"inspector", "harmony_inspector_pytest.py"}, (
        "one top-level package and the plugin, no pages or fixtures where others may have theirs"
    )
    needed = folder / "site-packages"  # Streamlit takes any other folder for a checkout of its own
    needed.mkdir()
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if "harmony_inspector" not in path.name:  # the checkout, and its lab
            (needed / path.name).symlink_to(path)
    (packages / "needed.pth").write_text(str(needed))
    return home / "bin" / "harmony-inspector"


@pytest.fixture(scope="module")
def installed(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of the installed dashboard, started in an empty folder."""
    folder, port = tmp_path_factory.mktemp("elsewhere"), free_port()
    log = folder / "log.txt"
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    with log.open("wb") as out:
        command = [str(program), "ui", "--port", str(port)]
        server = subprocess.Popen(command, cwd=folder, stdout=out, stderr=subprocess.STDOUT, env=environment)
        try:
            waited(server, f"http://127.0.0.1:{port}/_stcore/health", log)
            yield f"http://127.0.0.1:{port}/"
        finally:
            server.terminate()
            server.wait(15)


def test_the_dashboard_shows_a_built_in_capture_and_the_matrix_opens_one_of_its_own(
    installed: str, open_page: Callable[..., Page]
) -> None:
    page = open_page()
    page.goto(installed)
    expect(page.locator(".hi[data-ready]")).to_be_visible()
    page.get_by_role("link", name="Matrix").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("loses text silently in")


def test_the_library_has_the_built_in_captures_one_click_away(
    installed: str, open_page: Callable[..., Page]
) -> None:
    page = open_page()
    page.goto(f"{installed}library")
    page.get_by_role("button", name="Try it with the built-in captures").click()
    captures = len(list(FIXTURES.glob("*.jsonl")))
    expect(page.get_by_role("heading", level=1)).to_contain_text(f"of {captures} responses are damaged")


def test_the_commands_know_the_built_in_captures_and_probe_the_installed_server(
    installed: str, program: Path, tmp_path: Path
) -> None:
    def run(*words: str) -> "subprocess.CompletedProcess[str]":
        command = [str(program), *words]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    model = "chat-tool-call-leak-vllm-0.14.1"
    done = run(
        *("probe", "--base-url", f"{installed}playback/v1", "--model", model, "--prompt", "Hello"),
        *("--requests", "3", "--out", "probe", "--json", "--quiet"),
    )
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)
    assert found["total"]["damaged"] == 3
    capture = found["not_ok"][0]["capture"]
    audited = run("audit", f"probe/{capture}")
    assert audited.returncode == 1
    assert "The server leaked 2 reasoning tokens into the answer" in audited.stdout


def test_the_lab_is_a_distribution_of_its_own(program: Path, tmp_path: Path) -> None:
    command = [str(program), "lab", "scripts", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "pip install -e . -e lab" in done.stderr
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    words = ["install", "--no-build-isolation", "--no-deps", str(ROOT / "lab")]
    subprocess.run([*pip, "--python", str(program.with_name("python")), *words], check=True)
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert {row["name"] for row in json.loads(done.stdout)} >= {"plain", "tool_call"}


def test_the_guide_works_from_the_wheel(installed: str, program: Path, tmp_path: Path) -> None:
    """docs/start.md, with the dashboard's built-in server in place of the reader's."""
    text = (ROOT / "docs" / "start.md").read_text("utf-8")
    blocks = "".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL))
    lines = [line for line in blocks.splitlines() if line.startswith("python -m inspector")]
    assert len(lines) > 5
    for line in lines:
        words = shlex.split(re.sub(r"http://localhost:800[01]", f"{installed}playback", line))[3:]
        done = subprocess.run(
            [str(program), *words], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode in {0, 1}, done.stderr
