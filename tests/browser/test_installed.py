"""The wheel in an environment of its own, away from the checkout: commands, the dashboard, the probe."""

import json
import os
import re
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


def test_the_skill_and_the_results_of_the_matrix_are_in_the_wheel(program: Path, tmp_path: Path) -> None:
    done = subprocess.run([program, "skill", "--install"], cwd=tmp_path, check=True, capture_output=True)
    written = {path.name for path in tmp_path.rglob("*.md")}
    assert written == {path.name for path in (ROOT / "skills").rglob("*.md")}, done.stdout
    done = subprocess.run([program, "matrix", "0.33.0"], cwd=tmp_path, check=True, capture_output=True)
    assert done.stdout.startswith(b"All scripts: vLLM 0.33.0 loses text silently in ")


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


@pytest.fixture
def wheel_only(program: Path, tmp_path: Path) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """Runs the wheel's Python in an empty folder, where of the checkout only `tests` can be imported."""
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "tests").symlink_to(ROOT / "tests")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "path")}
    environment["PATH"] = f"{program.parent}{os.pathsep}{environment['PATH']}"

    def run(*words: str) -> "subprocess.CompletedProcess[str]":
        command = [str(program.with_name("python")), "-P", *words]
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )

    where = run("-c", "import inspector; print(inspector.__file__)").stdout
    assert Path(where).is_relative_to(program.parent.parent)
    return run


def test_the_docs_are_true_of_the_wheel(
    wheel_only: Callable[..., "subprocess.CompletedProcess[str]"], program: Path, tmp_path: Path
) -> None:
    """All that tests/test_docs.py and the examples of the library do, with the lab installed beside it."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    lab = ["install", "--no-build-isolation", "--no-deps", "--force-reinstall", str(ROOT / "lab")]
    subprocess.run([*pip, "--python", str(program.with_name("python")), *lab], check=True)
    (tmp_path / "pytest.ini").write_text("[pytest]")
    done = wheel_only(
        *("-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "pytest.ini", "--import-mode=importlib"),
        str(ROOT / "tests" / "test_docs.py"),
        f"{ROOT / 'tests' / 'test_surface.py'}::test_the_examples_of_the_library_print_what_the_docs_show",
    )
    assert done.returncode == 0, done.stdout[-3000:]


def test_the_example_of_the_plugin_finds_the_client_that_breaks(
    wheel_only: Callable[..., "subprocess.CompletedProcess[str]"], tmp_path: Path
) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "pytest.md").read_text("utf-8"), re.DOTALL)
    for number, block in enumerate(blocks):
        (tmp_path / f"test_{number}.py").write_text(block)
    done = wheel_only("-m", "pytest", "-q", "-p", "no:cacheprovider", ".", "--ignore", "path")
    assert re.search(r"^4 failed, 5 passed", done.stdout, re.MULTILINE), done.stdout[-3000:]
