"""The two files of a release: built, valid for an index, and each other's equal."""

import subprocess
import sys
import zipfile
from email.parser import BytesParser
from pathlib import Path

import pytest
from packaging.metadata import Metadata

from tools.build_hook import repository, urls

ROOT = Path(__file__).parents[2]
ADDRESS = "https://github.com/some-body/fork"

pytestmark = pytest.mark.slow


def built(source: Path, folder: Path, *targets: str) -> list[Path]:
    """What the build makes of a checkout or an unpacked sdist, with the tools of this environment."""
    words = [word for target in targets for word in ("-t", target)]
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder), *words]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    return sorted(folder.iterdir())


def metadata(wheel: Path) -> bytes:
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return archive.read(name)


def test_sdist_and_wheel(tmp_path: Path) -> None:
    wheel, sdist = built(ROOT, tmp_path / "dist", "sdist", "wheel")
    stated = Metadata.from_email(metadata(wheel), validate=True)
    assert (stated.description or "").startswith("# Harmony Inspector")
    assert stated.project_urls == (urls(repository(ROOT)) or None)
    assert stated.license_expression == "Apache-2.0"
    assert {"Programming Language :: Python :: 3.13", "Typing :: Typed"} <= {*(stated.classifiers or [])}
    subprocess.run(["tar", "-xf", sdist, "-C", tmp_path], check=True)
    [source] = tmp_path.glob("harmony_inspector-*")
    (source / "publishing.toml").write_text(f'repository = "{ADDRESS}"\n')
    [again] = built(source, tmp_path / "again", "wheel")
    with zipfile.ZipFile(wheel) as first, zipfile.ZipFile(again) as second:
        assert first.namelist() == second.namelist()
    named = BytesParser().parsebytes(metadata(again)).get_all("Project-URL", [])
    assert named == [f"{name}, {url}" for name, url in urls(ADDRESS).items()]
