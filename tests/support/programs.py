"""Programs that a test starts and interrupts."""

from collections.abc import Iterator
from contextlib import contextmanager
from subprocess import Popen
from threading import Timer
from typing import Final, TypeVar

__all__ = ["bounded"]

_MOST_S: Final = 120.0
T = TypeVar("T", str, bytes)


@contextmanager
def bounded(program: "Popen[T]", most_s: float = _MOST_S) -> Iterator["Popen[T]"]:
    """A program that is killed after a time: no test waits for ever for what it says or for its end."""
    timer = Timer(most_s, program.kill)
    timer.daemon = True
    timer.start()
    try:
        with program:
            yield program
    finally:
        timer.cancel()
