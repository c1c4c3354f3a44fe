"""A distribution beside this one, as pip would install it."""

import os
from collections.abc import Mapping
from pathlib import Path

__all__ = ["add_distribution", "add_metadata"]

ROOT = Path(__file__).parents[2]


def add_distribution(folder: Path, module: str, entry_points: str) -> Mapping[str, str]:
    """Write the distribution `my-package` with a module `my_package`; the environment that has it."""
    (folder / "my_package.py").write_text(module)
    add_metadata(folder, "my-package", entry_points=entry_points)
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(folder)])}


def add_metadata(folder: Path, name: str, more: str = "", *, entry_points: str = "") -> None:
    """Write the metadata of a distribution, with `more` lines."""
    information = folder / f"{name.replace('-', '_')}-1.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n{more}")
    (information / "entry_points.txt").write_text(entry_points)
