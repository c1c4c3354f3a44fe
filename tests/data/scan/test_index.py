"""What a scan compares: as many files as there are, in memory that does not grow with them."""

import tracemalloc
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from inspector.data.scan import index, scan
from inspector.data.scan.index import Index
from inspector.data.scan.items import ScanItem
from inspector.data.scan.pooling import Batch, Done
from inspector.data.scan.rows import Rows, unread
from tests.support.archives import id_lists

ODD = [
    ScanItem("/in/plain.jsonl", None, 7, "1"),
    ScanItem("/in/all.zip", "deep/a.json", 0, "crc32 00000000"),
    ScanItem("/in/all.zip", "b\ud800.json", 2**62, ""),
    ScanItem("/in/\udcff.jsonl", None, 1, "2"),
    ScanItem("s3://bucket/a.jsonl", None, 1, '"etag"'),
    ScanItem("/in/gone.jsonl", None, 0, "", "cannot be read (No such file or directory); check the file"),
]


def test_items_come_back_as_they_were_and_each_once(tmp_path: Path) -> None:
    with closing(Index(tmp_path)) as compared:
        compared.take([*ODD, *ODD])
        compared.compare({})
        assert sorted(compared.wanted()) == sorted(ODD)
        assert compared.sizes() == (len(ODD), len(ODD), sum(item.size for item in ODD), 0)
    assert list(tmp_path.iterdir()) == []


def rows_without_reading(batches: Iterable[Batch]) -> Iterator[Done]:
    for batch in batches:
        yield batch, Rows([row for item in batch for row in unread(item, "", "digest").captures], [])


def peak_bytes(place: Path, out: Path) -> int:
    """The most memory of Python objects in a scan that finds nothing changed."""
    tracemalloc.start()
    try:
        assert scan([str(place)], out, runner=rows_without_reading).files == 0
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_the_memory_of_a_scan_does_not_grow_with_the_number_of_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "_ROWS", 500)
    peaks = []
    for number in (2_000, 8_000):
        place, out = tmp_path / f"in-{number}", tmp_path / f"out-{number}"
        id_lists(place, number)
        for _ in range(2):  # what the second imports is no memory of its files
            scan([str(place)], out, runner=rows_without_reading)
        peaks.append(peak_bytes(place, out))
    small, large = peaks
    assert large < 1.5 * small, peaks
