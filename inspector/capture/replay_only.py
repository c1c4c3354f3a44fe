"""A dashboard that anybody may reach: it replays, and nothing that a visitor names is asked or read.

Visitors open files of their own and the built-in captures. What makes a request asks here first (`Server`,
remote places of a scan), and so does what could read a file of this machine for a visitor (scans, typed
folders).
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from inspector.capture.errors import ConnectionFailed, StoreError

REPLAY_ONLY_VARIABLE: Final = "HARMONY_INSPECTOR_REPLAY_ONLY"
"""Environment variable that switches it on, with any value but an empty one and `0`."""

UPLOAD_MB: Final = 32
"""Of one file that a visitor uploads."""

_OWN_COPY: Final = "run your own copy for that (see the README)"


def replay_only() -> bool:
    """Whether this process only replays."""
    return os.environ.get(REPLAY_ONLY_VARIABLE, "") not in {"", "0"}


def reject_connection() -> None:
    """Raise ConnectionFailed where this process only replays."""
    if replay_only():
        raise ConnectionFailed(f"this dashboard only replays and connects to no server; {_OWN_COPY}")


def reject_path(place: str | Path, *, within: Iterable[Path] = ()) -> None:
    """Raise StoreError where this process only replays, unless the place is below one of these folders."""
    if replay_only() and not any(
        Path(os.path.realpath(place)).is_relative_to(folder.resolve()) for folder in within
    ):
        raise StoreError(f"this dashboard only replays and reads no files of its machine; {_OWN_COPY}")


def upload_mb(most: int) -> int:
    """The limit of one upload; `most` on a dashboard of one's own."""
    return min(most, UPLOAD_MB) if replay_only() else most
