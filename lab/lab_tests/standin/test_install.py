"""Installation of front ends: one at a time, with checks first."""

import fcntl
import threading
from pathlib import Path

import pytest

from harmony_lab.install import installed, write_record
from harmony_lab.paths import LabPaths
from harmony_lab.standin.install import (
    ENGINE_REQUIREMENTS,
    FRONT_END,
    RUST,
    plugin_folder,
    prepare_official,
    use_source,
)
from inspector.capture.errors import LabError

ROOT = Path(__file__).parents[3]


def silent(_text: str) -> None:
    """Discard progress."""


def test_prepare_needs_free_disk(tmp_path: Path) -> None:
    paths = LabPaths(tmp_path / "lab")
    with pytest.raises(LabError, match="GB free, but one environment may need"):
        prepare_official(paths, "0.33.0", package=RUST, say=silent, needed_bytes=2**60)
    assert not paths.root.exists()


def test_prepare_official_reuses_an_installed_front_end(tmp_path: Path) -> None:
    paths = LabPaths(tmp_path)
    path = paths.environment(RUST, "0.33.0")
    path.mkdir(parents=True)
    write_record(path, RUST, "0.33.0", {"vllm": "0.33.0"})
    environment = prepare_official(paths, "0.33.0", package=RUST, say=silent, needed_bytes=2**60)
    assert environment.path == path
    assert installed(paths, FRONT_END, "0.33.0") is None


def test_installations_wait_for_each_other(tmp_path: Path) -> None:
    paths = LabPaths(tmp_path)
    path = paths.environment(RUST, "0.33.0")
    messages: list[str] = []
    waiting = threading.Event()

    def say(text: str) -> None:
        messages.append(text)
        waiting.set()

    def install() -> None:
        prepare_official(paths, "0.33.0", package=RUST, say=say, needed_bytes=0)

    with (tmp_path / "install.lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        second = threading.Thread(target=install)
        second.start()
        assert waiting.wait(120)
        # The first one ends with the release installed: the second has nothing left to do.
        path.mkdir(parents=True)
        write_record(path, RUST, "0.33.0", {"vllm": "0.33.0"})
    second.join(30)
    assert not second.is_alive()
    assert messages == ["waiting for another installation into the same folder"]


def test_prepare_with_a_missing_python(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="cannot be started"):
        prepare_official(
            LabPaths(tmp_path),
            "0.33.0",
            package=FRONT_END,
            python=str(tmp_path / "python"),
            say=silent,
            needed_bytes=0,
        )


def files(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def test_use_source(tmp_path: Path) -> None:
    paths = LabPaths(tmp_path / "lab")
    release = files(paths.wheels / "official-0.33.0" / "site", vllm__parser="old", vllm__generated="1")
    checkout = files(tmp_path / "checkout", vllm__parser="new", vllm__added="2", vllm__v1__engine__x="3")
    for name in ("vllm/__init__.py", "vllm/v1/engine/__init__.py"):
        (checkout / name).write_text("", encoding="utf-8")
    version = use_source(paths, checkout, over="0.33.0")
    site = paths.wheels / f"official-{version}" / "site" / "vllm"
    assert version.startswith("0.33.0+s")
    assert [(site / f"{name}.py").read_text("utf-8") for name in ("parser", "added", "generated")] == [
        *("new", "2", "1")
    ]
    assert (release / "vllm" / "parser.py").read_text("utf-8") == "old"
    assert use_source(paths, checkout, over="0.33.0") == version
    files(checkout, vllm__parser="newer")
    assert use_source(paths, checkout, over="0.33.0") != version


def test_use_source_needs_checkout_and_release(tmp_path: Path) -> None:
    paths = LabPaths(tmp_path / "lab")
    with pytest.raises(LabError, match="is not a vLLM checkout; it has no vllm/v1/engine"):
        use_source(paths, files(tmp_path / "other", vllm__parser="x"), over="0.33.0")
    checkout = files(tmp_path / "checkout", vllm__x="1", vllm__v1__engine__x="2")
    for name in ("vllm/__init__.py", "vllm/v1/engine/__init__.py"):
        (checkout / name).write_text("", encoding="utf-8")
    with pytest.raises(LabError, match=r"vLLM 0\.33\.0 is not installed; run lab install"):
        use_source(paths, checkout, over="0.33.0")


def test_plugin_folder(tmp_path: Path) -> None:
    folder = plugin_folder(LabPaths(tmp_path))
    [entry_points] = folder.glob("*.dist-info/entry_points.txt")
    assert "harmony_lab = standin_plugin:platform" in entry_points.read_text(encoding="utf-8")
    assert (folder / "standin_plugin.py").exists()


def test_engine_requirements() -> None:
    assert all("<" in line and ">=" in line for line in ENGINE_REQUIREMENTS)
    requirements = (ROOT / "lab" / "requirements-server.txt").read_text(encoding="utf-8")
    assert all(line in requirements for line in ENGINE_REQUIREMENTS)
    dashboard = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    assert "zmq" not in dashboard
