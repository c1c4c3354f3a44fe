"""The cyclic garbage collector, paused while many values are made."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

_LOOKING = Lock()


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the cyclic garbage collector.

    Parsing and reading make many small values and no cycles; the collector would walk them again and again,
    about a quarter of the cost of 131,072 tokens (bench/core.py), and more beside a large heap.

    Threads may pause it at the same time; the first one starts it again, even if others are still working.
    """
    with (
        _LOOKING
    ):  # else one thread could pause it right after another has started it, and it would stay paused
        running = gc.isenabled()
        gc.disable()
    try:
        yield
    finally:
        with _LOOKING:
            if running:
                gc.enable()
