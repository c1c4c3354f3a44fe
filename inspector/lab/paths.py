"""Where the lab keeps its environments, models, logs and captures.

One folder, outside the project: `$HARMONY_INSPECTOR_LAB`, or the platform's cache folder. Nothing
here creates a folder before something is written into it.
"""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ENVIRONMENT_VARIABLE: Final = "HARMONY_INSPECTOR_LAB"


def default_root() -> Path:
    """The lab's folder when no flag names one."""
    if chosen := os.environ.get(ENVIRONMENT_VARIABLE):
        return Path(chosen).expanduser()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "harmony-inspector" / "lab"
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "harmony-inspector" / "lab"


@dataclass(frozen=True, slots=True)
class LabPaths:
    """The lab's folders under one root."""

    root: Path

    @property
    def wheels(self) -> Path:
        """Wheels of vLLM itself, kept because every one of them is read before it is installed."""
        return self.root / "wheels"

    @property
    def models(self) -> Path:
        """The tiny models and the vocabulary file."""
        return self.root / "models"

    @property
    def logs(self) -> Path:
        """One log a server start and one an installation."""
        return self.root / "logs"

    def environment(self, package: str, version: str) -> Path:
        """The virtual environment of one release."""
        return self.root / "environments" / f"{package}-{version}"

    def python(self, package: str, version: str) -> Path:
        """The interpreter of one release's environment."""
        return self.environment(package, version) / "bin" / "python"
