"""Tells the build backend the dependencies, the addresses and which fixtures are in the wheel.

The requirements files are the one list of dependencies, with reasons; publishing.toml is the one place with
the address of the repository.
"""

import re
import tomllib
from pathlib import Path
from typing import Any

from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

SCAN = ("duckdb", "fsspec", "pyarrow")
"""What only scans, their library and Parquet files need: the extra `scan`."""
PAGES = ("streamlit", "plotly", "pandas", *SCAN)
"""What the pages need: the extra `ui`. A checkout installs both with the rest of requirements.txt."""

EXTRAS = {"ray": SCAN, "otel": (), "mcp": ()}
"""Each has a file of its own, requirements-NAME.txt, and needs these of requirements.txt."""


def listed(path: Path) -> list[str]:
    """The requirements of a file without its comments, with those of the files that it names by `-r`."""
    found: list[str] = []
    for line in path.read_text("utf-8").splitlines():
        asked = line.partition("#")[0].strip()
        if asked.startswith("-r "):
            found += listed(path.parent / asked.removeprefix("-r ").strip())
        elif asked:
            found.append(asked)
    return found


_REPOSITORY = re.compile(r"https://github\.com/([A-Za-z0-9-]+)/([A-Za-z0-9._-]+)(?<!\.git)")
_RELATIVE = re.compile(r"(\]\()(?!https?://|#)(?=[^)\s]+\))")
"""Before the target of a link or picture that is a file of the repository."""


def repository(root: Path) -> str:
    """The address of the repository; empty until publishing.toml has one."""
    address = str(tomllib.loads((root / "publishing.toml").read_text("utf-8"))["repository"])
    if address and not _REPOSITORY.fullmatch(address):
        raise ValueError(
            f"publishing.toml: {address!r} is not of the form https://github.com/NAME/REPOSITORY"
        )
    return address


def urls(address: str) -> dict[str, str]:
    """The URLs of the project; none without a repository."""
    parts = _REPOSITORY.fullmatch(address)
    if parts is None:
        return {}
    return {
        "Documentation": f"https://{parts[1].lower()}.github.io/{parts[2]}/",
        "Source": address,
        "Issues": f"{address}/issues",
        "Changelog": f"{address}/blob/main/CHANGELOG.md",
    }


def readme(text: str, address: str) -> str:
    """The README as an index of packages shows it, which has none of the files that it links."""
    if not address:
        return text
    pictures = re.sub(rf"(?<=!)(\[[^\]]*){_RELATIVE.pattern}", rf"\1\2{address}/raw/main/", text)
    return _RELATIVE.sub(rf"\1{address}/blob/main/", pictures)


class Metadata(MetadataHookInterface):
    """Fills in what pyproject.toml calls dynamic, but for the version."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Read it from the requirements files, publishing.toml and the README."""
        root = Path(self.root)
        address = repository(root)
        metadata["urls"] = urls(address)
        text = readme((root / "README.md").read_text("utf-8"), address)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        everything = listed(root / "requirements.txt")
        pages = _of(everything, PAGES)
        metadata["dependencies"] = [requirement for requirement in everything if requirement not in pages]
        metadata["optional-dependencies"] = {
            "ui": pages,
            "scan": _of(everything, SCAN),
            **{
                name: [*_of(everything, needed), *listed(root / f"requirements-{name}.txt")]
                for name, needed in EXTRAS.items()
            },
        }


def _of(requirements: list[str], names: tuple[str, ...]) -> list[str]:
    return [requirement for requirement in requirements if requirement.startswith(names)]


def shipped(root: Path) -> dict[str, str]:
    """The fixtures of the wheel and their places in it: all but the matrix's captures (35 MB) and rows."""
    return {
        str(path): f"inspector/_app/{path.relative_to(root).as_posix()}"
        for path in sorted((root / "fixtures").rglob("*"))
        if path.is_file() and path.suffix != ".zip" and path.parent.name != "example"
    }


class Fixtures(BuildHookInterface[BuilderConfig]):
    """Adds the fixtures."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name them; an editable installation reads the checkout."""
        if version == "editable":
            # Copies of what pyproject.toml names would become stale; an empty mapping does not replace it.
            build_data["force_include_editable"] = {"LICENSE": "harmony_inspector.LICENSE"}
        else:
            build_data["force_include"].update(shipped(Path(self.root)))
