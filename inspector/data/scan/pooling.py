"""Batches of items to rows on all cores of this machine, with a bounded number of them under way.

A process that the system kills (out of memory) ends with its file: that file gets a row with the reason, and
the others are read again.
"""

import gc
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Final

from inspector.capture.errors import InspectorError
from inspector.data.scan.items import ScanItem
from inspector.data.scan.rows import Rows, release, rows_of_batch, unread
from inspector.fleet.workers import WorkerEnded, Workers
from inspector.issues import issues
from inspector.protocol.harmony.vocab import encoding

Batch = Sequence[ScanItem]
Done = tuple[Batch, Rows]
"""A batch with its rows; an empty one while nothing has ended."""
Runner = Callable[[Iterable[Batch]], Iterator[Done]]
Work = Callable[[Batch], Rows]

_WAITING: Final = 3
"""Batches under way for each process: one that it reads, and others so that it never waits."""
_TICK_S: Final = 0.5
ENDED: Final = (
    "the process that read it was killed, probably for lack of memory; try `python -m inspector audit` on it"
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
    remaining = iter(batches)
    running: dict[Future[Rows], Batch] = {}
    pool = _pool(jobs)
    try:
        while True:
            broken: list[Batch] = []
            while len(running) < _WAITING * jobs and (batch := next(remaining, None)) is not None:
                running[pool.submit(work, batch)] = batch
            if not running:
                return
            ended = wait(running, timeout=_TICK_S, return_when=FIRST_COMPLETED).done
            for future in ended:
                batch = running.pop(future)
                try:
                    yield batch, future.result()
                except WorkerEnded:
                    broken.append(batch)
            if broken:
                broken += running.values()
                running = {}
                pool.shutdown(wait=False)
                yield from _one_by_one([item for batch in broken for item in batch], work)
                pool = _pool(jobs)
            elif not ended:
                yield (), Rows([], [])
    finally:
        pool.shutdown(wait=False)


def _one_by_one(items: Sequence[ScanItem], work: Work) -> Iterator[Done]:
    """The rows of items after one of them ended its process: each is read by itself, to find out which."""
    pool = _pool(1)
    try:
        _begun(pool)
        for item in items:
            try:
                yield (item,), pool.submit(work, (item,)).result()
            except WorkerEnded:
                yield (item,), unread(item, ENDED)
                pool.shutdown(wait=False)
                pool = _pool(1)
    finally:
        pool.shutdown(wait=False)


def _begun(pool: Workers) -> None:
    """Raise InspectorError where a process ends before it has read a file, so that no file is blamed."""
    try:
        pool.submit(cores).result()
    except WorkerEnded as error:
        raise InspectorError(
            "the worker processes fail to start; free memory, or scan with one process (--jobs 1)"
        ) from error


def _pool(jobs: int) -> Workers:
    return Workers(jobs, prepare=prepare)


def prepare() -> None:
    """Load in a process what every batch needs, and exempt it from garbage collection."""
    encoding()
    issues()
    gc.collect()
    gc.freeze()
