"""Locks of files that one process writes. Windows has no `flock`: two processes are not kept apart there."""

from typing import IO

try:
    from fcntl import LOCK_EX, LOCK_NB, flock
except ImportError:

    def lock(file: IO[str]) -> None:
        """Do nothing."""

else:

    def lock(file: IO[str]) -> None:
        """Take the lock of an open file until it is closed; raises OSError if another process has it."""
        flock(file, LOCK_EX | LOCK_NB)
