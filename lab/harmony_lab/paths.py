"""The lab's folders for environments, models, logs and captures.

All are in `$HARMONY_INSPECTOR_LAB`, or in the platform's cache folder. They are created on the first write.
"""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class LabPaths:
    """The lab's folders under one root."""

    root: Path

    @property
    def wheels(self) -> Path:
        """VLLM wheels, whose requirements are read before installation."""
        return self.root / "wheels"

    @property
    def models(self) -> Path:
        """The tiny models and the vocabulary file."""
        return self.root / "models"

    @property
    def logs(self) -> Path:
        """One log per server start and per installation."""
        return self.root / "logs"

    def environment(self, package: str, version: str) -> Path:
        """The virtual environment of one release."""
        return self.root / "environments" / f"{package}-{version}"

    def python(self, package: str, version: str) -> Path:
        """The interpreter of one release's environment."""
        return self.environment(package, version) / "bin" / "python"
