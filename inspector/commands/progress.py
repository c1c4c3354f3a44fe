"""How far a command is, on standard error: in place on a terminal, and only where it takes a while."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread
from typing import Final

from inspector.capture.formats import rounded_duration
from inspector.commands.terminal import clear, redraw, tell

_FIRST_AFTER_S: Final = 2.0
_EACH_S: Final = 0.5
_LOG_EACH_S: Final = 10.0

Step = Callable[[str | Callable[[], str]], None]
"""Says what is done now; a function is asked whenever the line is drawn."""


@contextmanager
def progress(*, quiet: bool = False, log: bool = False) -> Iterator[Step]:
    """Show the last step and the time; with `log` also where standard error is no terminal.

    A thread draws it, so that work which is one long call has progress too.
    """
    terminal = sys.stderr.isatty()
    now: list[str | Callable[[], str]] = [""]
    ended, started = Event(), time.monotonic()

    def step(words: str | Callable[[], str]) -> None:
        now[0] = words

    def draw() -> None:
        pause = _FIRST_AFTER_S if terminal else _LOG_EACH_S
        while not ended.wait(pause):
            pause = _EACH_S if terminal else _LOG_EACH_S
            words = now[0] if isinstance(now[0], str) else now[0]()
            if words:
                elapsed = rounded_duration(time.monotonic() - started)
                (redraw if terminal else tell)(f"{words} · {elapsed} elapsed")

    if quiet or not (terminal or log):
        yield step
        return
    thread = Thread(target=draw, daemon=True, name="progress")
    thread.start()
    try:
        yield step
    finally:
        ended.set()
        thread.join()
        clear()


def in_turn(files: Sequence[str]) -> Iterator[str]:
    """The files, with progress while each is worked on."""
    with progress() as step:
        for number, file in enumerate(files, 1):
            step(file if len(files) == 1 else f"{number:,} of {len(files):,} files: {file}")
            yield file
