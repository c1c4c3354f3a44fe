"""Tells the build backend the dependencies: the requirements files are their one list, with reasons."""

from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

EXTRAS = ("scan", "ray", "otel")
"""Each has a file of its own, requirements-NAME.txt."""


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


class Requirements(MetadataHookInterface):
    """Fills in `dependencies` and `optional-dependencies`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Read them from the requirements files."""
        root = Path(self.root)
        metadata["dependencies"] = listed(root / "requirements.txt")
        metadata["optional-dependencies"] = {
            name: listed(root / f"requirements-{name}.txt") for name in EXTRAS
        }
