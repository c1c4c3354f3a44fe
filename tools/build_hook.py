"""Tells the build backend the dependencies: requirements.txt is the one list of them, with its reasons."""

from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

__all__ = ["Requirements", "listed"]


def listed(text: str) -> list[str]:
    """The requirements of a file's text, without its comments."""
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return [line for line in lines if line]


class Requirements(MetadataHookInterface):
    """Fills in `dependencies`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Read them from requirements.txt."""
        metadata["dependencies"] = listed((Path(self.root) / "requirements.txt").read_text("utf-8"))
