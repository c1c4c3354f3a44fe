"""A scan: list, skip what has rows already, read the rest on all cores, and write parts while rows arrive."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from heapq import nsmallest
from math import ceil
from pathlib import Path
from typing import Final

from inspector.analysis.audit.verdict import Level
from inspector.capture.errors import InspectorError
from inspector.capture.formats import count, duration, number
from inspector.data.scan.columns import CAPTURES, UNREAD
from inspector.data.scan.folder import ScanFolder, is_scan, read_manifest
from inspector.data.scan.index import Index
from inspector.data.scan.items import ScanItem
from inspector.data.scan.listing import items_at, whole_place
from inspector.data.scan.pooling import Batch, Runner, cores, here, pooled
from inspector.data.scan.rows import Row, Rows
from inspector.views.delivery import DAMAGED

_BATCH_FILES: Final = 64
_BATCH_BYTES: Final = 2 * 2**20
_STEPS: Final = 16
"""A small scan has so many batches too, so that its progress is seen."""
_BATCHES_HERE: Final = 8
"""So many batches are read in this process: others, if none were asked for, would take longer to start."""
_EACH_S: Final = 30.0
"""How often rows are written to disk at least: a scan that is killed loses no more."""
_NAMES: Final = [column.name for column in CAPTURES]
_LEVEL: Final = _NAMES.index("verdict")
_DELIVERY: Final = _NAMES.index("delivery")
_ERRORS: Final = _NAMES.index("errors")
_WORST: Final = 8
"""Damaged captures that the progress names."""
_FILE_BYTES: Final = 2000
"""What a file costs beside its bytes, in bytes, for the time that is left."""


@dataclass(slots=True)
class Progress:
    """How far a scan is."""

    files: int
    """Files to read."""
    skipped: int
    """Files that have not changed since the scan before."""
    removed: int
    """Files of that scan that are no longer there."""
    size: int
    done: int = 0
    done_size: int = 0
    captures: int = 0
    errors: int = 0
    """Captures with the verdict error."""
    unread: int = 0
    deliveries: Counter[str] = field(default_factory=Counter)
    """Captures by what the client got."""
    worst: list[Row] = field(default_factory=list)
    """The rows of the worst captures, the worst first."""
    elapsed_s: float = 0.0

    @property
    def damaged(self) -> int:
        """Captures of which text was lost, changed or misfiled without an error."""
        return sum(self.deliveries[delivery.value] for delivery in DAMAGED)

    @property
    def rate(self) -> float | None:
        """Files per second."""
        return self.done / self.elapsed_s if self.done and self.elapsed_s > 0 else None

    @property
    def left_s(self) -> float | None:
        """Seconds that the rest takes at this rate."""
        if not self.done_size or not self.done:
            return None
        return self.elapsed_s * (self.size - self.done_size) / self.done_size

    def add(self, batch: Batch, rows: Rows) -> None:
        """Count the rows of a batch."""
        self.done += len(batch)
        self.done_size += sum(item.size + _FILE_BYTES for item in batch)
        levels = [row[_LEVEL] for row in rows.captures]
        unread = levels.count(UNREAD)
        self.captures += len(levels) - unread
        self.unread += unread
        self.errors += levels.count(Level.ERROR.value)
        self.deliveries.update(row[_DELIVERY] for row in rows.captures if row[_DELIVERY] is not None)
        damaged = [row for row in rows.captures if row[_DELIVERY] in _RANKS]
        if damaged:
            self.worst = nsmallest(_WORST, [*self.worst, *damaged], key=_rank)


class ScanStopped(Exception):
    """Raised by `tell` to end a scan; what was read is kept."""


_RANKS: Final = {delivery.value: rank for rank, delivery in enumerate(DAMAGED)}


def _rank(row: Row) -> tuple[int, int]:
    return _RANKS[row[_DELIVERY]], -row[_ERRORS]


def progress_words(far: Progress) -> str:
    """One line."""
    words = [f"{number(far.done)} of {count(far.files, 'file')}", f"{number(far.errors)} with errors"]
    if far.unread:
        words.append(f"{number(far.unread)} unreadable")
    if far.rate is not None:
        words.append(f"{number(far.rate, 1 if far.rate < 10 else 0)} files/s")
    if far.left_s is not None and far.done < far.files:
        words.append(f"{duration(far.left_s)} left")
    if far.skipped:
        words.append(f"{number(far.skipped)} unchanged")
    return " · ".join(words)


def scan(
    places: Sequence[str],
    out: Path,
    *,
    jobs: int | None = None,
    again: bool = False,
    every: bool = False,
    runner: Runner | None = None,
    tell: Callable[[Progress], None] = lambda _: None,
    clock: Callable[[], float] = time.monotonic,
) -> Progress:
    """Read what is at `places` and changed since the last scan into the folder `out`.

    Without places, those of the last scan. `again` reads everything, `every` also members of archives whose
    names have other endings; `runner` reads batches elsewhere. Raises InspectorError for a place that is not
    there and for disk errors; a file that cannot be read is a row.
    """
    if not places:
        if not is_scan(out):
            raise InspectorError(f"nothing to scan; pass a file, folder, glob or URL (no scan in {out} yet)")
        places = read_manifest(out).places
    with closing(ScanFolder(out)) as folder, closing(Index(out)) as index:
        ignored = Counter[str]()
        index.take(items_at(places, ignored, but=out, every=every))
        index.compare({} if again else folder.files())
        folder.begin([whole_place(place) for place in places], ignored, discard=again)
        folder.drop(index.stale)
        items, files, size, gone = index.sizes()
        far = Progress(files=files, skipped=items - files, removed=gone, size=size + files * _FILE_BYTES)
        start = written = clock()
        read = runner or _runner(files, size, jobs)
        try:
            tell(far)
            with closing(
                read(_batches(index.wanted(), min(_BATCH_FILES, ceil(files / _STEPS))))
            ) as rows_of_batches:  # type: ignore[type-var]
                for batch, rows in rows_of_batches:
                    now = clock()
                    far.add(batch, rows)
                    far.elapsed_s = now - start
                    if folder.add(rows):
                        written = now
                    elif now - written > _EACH_S:
                        folder.flush()
                        written = now
                    tell(far)
        except (KeyboardInterrupt, ScanStopped):
            folder.flush()
            raise
        folder.finish()
        return far


def _batches(items: Iterable[ScanItem], most: int) -> Iterator[list[ScanItem]]:
    batch: list[ScanItem] = []
    size = 0
    for item in items:
        batch.append(item)
        size += item.size
        if len(batch) >= most or size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _runner(files: int, size: int, jobs: int | None) -> Runner:
    batches = max(files / _BATCH_FILES, size / _BATCH_BYTES)
    here_at_most = _BATCHES_HERE if jobs is None else 1
    jobs = min(cores() if jobs is None else jobs, ceil(batches))
    if jobs <= 1 or batches <= here_at_most:
        return here
    return partial(pooled, jobs=jobs)
