"""The cyclic garbage collector, paused while many values are made."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["collector_paused"]


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the cyclic garbage collector.

    Parsing and reading make many small values and no cycles; the collector would walk them again and again,
    about a quarter of the cost of 131,072 tokens (bench/core.py), and more beside a large heap.
    """
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()
