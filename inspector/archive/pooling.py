"""Batches of items to rows on all cores of this machine, with a bounded number of them under way.

The processes are spawned, not forked. One that the system kills (out of memory) ends with its file: that file
gets a row with the reason, and the others are read again.
"""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Final

from inspector.archive.items import Item
from inspector.archive.rows import Rows, release, rows_of_batch, unread
from inspector.diagnosis import issues
from inspector.errors import InspectorError
from inspector.harmony.vocab import encoding

__all__ = ["Batch", "Done", "Runner", "cores", "here", "pooled"]

Batch = Sequence[Item]
Done = tuple[Batch, Rows]
"""A batch with its rows; an empty one while nothing has ended."""
Runner = Callable[[Iterable[Batch]], Iterator[Done]]
Work = Callable[[Batch], Rows]

_WAITING: Final = 3
"""Batches under way for each process: one that it reads, and others so that it never waits."""
_TICK_S: Final = 0.5
_ENDED: Final = (
    "the process that read it was ended, probably for lack of memory; try `python -m inspector audit` on it"
)


_UNPREPARED: Final = (
    "the processes of the scan end before they read anything; in a program, call scan() below "
    '`if __name__ == "__main__":`, or scan with one process (jobs=1)'
)


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def here(batches: Iterable[Batch], work: Work = rows_of_batch) -> Iterator[Done]:
    """The rows of batches, one after the other in this process."""
    try:
        for batch in batches:
            yield batch, work(batch)
    finally:
        release()


def pooled(batches: Iterable[Batch], jobs: int, work: Work = rows_of_batch) -> Iterator[Done]:
    """The rows of batches as they end, by that many processes."""
    left = iter(batches)
    running: dict[Future[Rows], Batch] = {}
    pool = _pool(jobs)
    try:
        while True:
            broken: list[Batch] = []
            while len(running) < _WAITING * jobs and (batch := next(left, None)) is not None:
                try:
                    running[pool.submit(work, batch)] = batch
                except BrokenProcessPool:
                    broken.append(batch)
                    break
            if not running and not broken:
                return
            ended = wait(running, timeout=_TICK_S, return_when=FIRST_COMPLETED).done if running else set()
            for future in ended:
                batch = running.pop(future)
                try:
                    yield batch, future.result()
                except BrokenProcessPool:
                    broken.append(batch)
            if broken:
                broken += running.values()
                running = {}
                pool.shutdown(wait=False, cancel_futures=True)
                yield from _one_by_one([item for batch in broken for item in batch], work)
                pool = _pool(jobs)
            elif not ended:
                yield (), Rows([], [])
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _one_by_one(items: Sequence[Item], work: Work) -> Iterator[Done]:
    """The rows of items of which one ended its process, each by itself, to find out which."""
    pool = _pool(1)
    try:
        pool.submit(prepared).result()
    except BrokenProcessPool as error:
        pool.shutdown(wait=False)
        raise InspectorError(_UNPREPARED) from error
    try:
        for item in items:
            try:
                yield (item,), pool.submit(work, (item,)).result()
            except BrokenProcessPool:
                yield (item,), unread(item, _ENDED)
                pool.shutdown(wait=False)
                pool = _pool(1)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _pool(jobs: int) -> ProcessPoolExecutor:
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(jobs, mp_context=context, initializer=prepare)


def prepare() -> None:
    """Set up a process: an interrupt ends its parent, and it ends with its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    encoding()
    issues()


def prepared() -> None:
    """What a process runs to show that it can be started."""


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
