"""A distribution beside this one, as pip would install it."""

import os
from collections.abc import Mapping
from pathlib import Path

__all__ = ["add_distribution"]

ROOT = Path(__file__).parents[2]


def add_distribution(folder: Path, module: str, entry_points: str) -> Mapping[str, str]:
    """Write the distribution `my-package` with a module `my_package`; the environment that has it."""
    (folder / "my_package.py").write_text(module)
    information = folder / "my_package-1.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1\n")
    (information / "entry_points.txt").write_text(entry_points)
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(folder)])}
