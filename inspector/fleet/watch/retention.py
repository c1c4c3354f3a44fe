"""Decides which recordings stay on disk: all, failing ones, or none; bounded in bytes and age.

Only files with names as the tap gives them are removed.
"""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final, assert_never

_RECORDING_NAME: Final = re.compile(r"\d{8}-\d{6}-[a-z]+-[0-9a-f]{6}\.jsonl")


class Keep(StrEnum):
    """Which recordings stay; failing ones have a finding of severity error."""

    ALL = "all"
    FAILING = "failing"
    NONE = "none"

    def keeps(self, *, failing: bool) -> bool:
        """Whether a recording stays after its audit."""
        match self:
            case Keep.ALL:
                return True
            case Keep.FAILING:
                return failing
            case Keep.NONE:
                return False
        assert_never(self)


@dataclass(slots=True)
class _KeptFile:
    path: Path
    size: int
    at_s: float
    """Wall-clock time of its last change."""


class Retention:
    """The recordings of a folder, oldest first; those over the bounds are removed when another is kept.

    `most_bytes` and `most_s` (age in seconds) None mean no bound. Recordings that an earlier process
    left in the folder count too, where it is named.
    """

    def __init__(
        self,
        folder: Path | None,
        keep: Keep = Keep.ALL,
        *,
        most_bytes: int | None = None,
        most_s: float | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.keep = keep
        self._most_bytes = most_bytes
        self._most_s = most_s
        self._clock = clock
        names = [] if folder is None else folder.glob("*.jsonl")
        files = [_kept_file(path) for path in names if _RECORDING_NAME.fullmatch(path.name)]
        self._kept = sorted((file for file in files if file is not None), key=lambda file: file.at_s)
        self.bytes = sum(file.size for file in self._kept)
        """Size of all that is kept."""
        self._bound()

    def decide(self, path: Path, *, failing: bool) -> bool:
        """Keep or remove a recording that was audited; whether it stays."""
        if not self.keep.keeps(failing=failing):
            _remove(path)
            self._bound()
            return False
        file = _kept_file(path)
        if file is not None:
            self.bytes += file.size
            if self._most_bytes is not None or self._most_s is not None:  # else a list without end
                self._kept.append(file)
        self._bound()
        return path.exists()

    def _bound(self) -> None:
        while self._kept and self._over(self._kept[0]):
            oldest = self._kept.pop(0)
            self.bytes -= oldest.size
            _remove(oldest.path)

    def _over(self, oldest: _KeptFile) -> bool:
        old = self._most_s is not None and self._clock() - oldest.at_s > self._most_s
        return old or (self._most_bytes is not None and self.bytes > self._most_bytes)


def _kept_file(path: Path) -> _KeptFile | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return _KeptFile(path, stat.st_size, stat.st_mtime)


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return
