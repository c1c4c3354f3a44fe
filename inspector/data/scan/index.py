"""What is at some places, compared with the rows of the scan before, for any number of files.

DuckDB has both as tables. It takes a fixed amount of memory, and keeps the rest in the folder of the scan.
"""

import json
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Final

from inspector.capture.errors import StoreError
from inspector.data.scan.columns import CAPTURE_COLUMNS, Column, Table, Type
from inspector.data.scan.items import Key, ScanItem, from_text
from inspector.data.scan.rows import Row
from inspector.data.scan.tables import arrow_table

_SPILL: Final = "scan.spill"
_MEMORY: Final = "128MB"
_THREADS: Final = "2"
"""More of them would need more memory."""
_ROWS: Final = 10_000
"""ScanItems that are Python objects at a time."""
_COLUMNS: Final = (
    *(CAPTURE_COLUMNS[name] for name in ("path", "member", "size", "stamp")),
    Column(name="item", type=Type.TEXT, table=Table.CAPTURES, meaning="what the others cannot hold, as JSON"),
)
_GIVEN: Final = "CREATE TABLE given (path TEXT, member TEXT, size BIGINT, stamp TEXT, item TEXT)"
_LISTED: Final = "CREATE TABLE listed AS SELECT DISTINCT ON (path, member) * FROM given"
_NONE_KNOWN: Final = """
CREATE TABLE known (path TEXT, member TEXT, size BIGINT, stamp TEXT, digest TEXT, filename TEXT)
"""
# What has no digest could not be read, which may have been the network.
_WANTED: Final = """
CREATE TABLE wanted AS
SELECT l.*, k.filename
FROM listed l LEFT JOIN known k ON l.path = k.path AND l.member IS NOT DISTINCT FROM k.member
WHERE (l.stamp <> '' AND l.stamp = k.stamp AND l.size = k.size AND k.digest IS NOT NULL) IS NOT TRUE
ORDER BY l.path, l.member NULLS FIRST
"""
_GONE: Final = """
CREATE TABLE gone AS
SELECT k.path, k.member, k.filename
FROM known k ANTI JOIN listed l ON l.path = k.path AND l.member IS NOT DISTINCT FROM k.member
"""
_ITEMS: Final = """
SELECT path, member, size, stamp, item FROM wanted WHERE rowid BETWEEN $1 AND $2 ORDER BY rowid
"""
_STALE: Final = """
SELECT path, member FROM wanted WHERE filename = $1
UNION ALL SELECT path, member FROM gone WHERE filename = $1
"""


class Index:
    """The items of some places and the rows of a scan; methods raise StoreError."""

    def __init__(self, folder: Path) -> None:
        import duckdb  # noqa: PLC0415 -- an extra

        self._folder = folder
        self._remove_spill()  # of a scan that was killed
        config: dict[str, Any] = {
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "memory_limit": _MEMORY,
            "temp_directory": str(folder / _SPILL),
            "threads": _THREADS,
        }
        self._connection = duckdb.connect(":memory:", config=config)
        self._files: Mapping[str, Path] = {}

    def close(self) -> None:
        """Free memory and disk."""
        self._connection.close()
        self._remove_spill()

    def take(self, items: Iterable[ScanItem]) -> None:
        """Take all items, each key once."""
        with self._errors():
            self._run(_GIVEN)
            rows = map(_row, items)
            while chunk := list(islice(rows, _ROWS)):
                self._connection.from_arrow(arrow_table(_COLUMNS, chunk)).insert_into("given")
            self._run(_LISTED)
            self._run("DROP TABLE given")

    def compare(self, files: Mapping[str, Path]) -> None:
        """Compare the items with the rows of captures that some files have, by their parts."""
        self._files = files
        with self._errors():
            if files:
                parts = self._connection.read_parquet(list(map(str, files.values())), filename=True)
                parts.filter("number = 1").create_view("known")
            else:
                self._run(_NONE_KNOWN)
            self._run(_WANTED)
            self._run(_GONE)

    def sizes(self) -> tuple[int, int, int, int]:
        """How many items there are, and are to be read, with how many bytes; how many items are gone."""
        with self._errors():
            [[items]] = self._run("SELECT count(*) FROM listed")
            [[unread, size]] = self._run("SELECT count(*), coalesce(sum(size), 0) FROM wanted")
            [[removed]] = self._run("SELECT count(*) FROM gone")
        return items, unread, int(size), removed

    def wanted(self) -> Iterator[ScanItem]:
        """The items to read, sorted by path and member."""
        start = 0
        while rows := self._wanted(start):
            start += len(rows)
            for path, member, size, stamp, item in rows:
                yield ScanItem(*json.loads(item)) if item else ScanItem(from_text(path), member, size, stamp)

    def _wanted(self, start: int) -> list[Any]:
        with self._errors():
            return self._run(_ITEMS, start, start + _ROWS - 1)

    def stale(self, part: str) -> Collection[Key]:
        """The items of a part whose rows no longer hold."""
        with self._errors():
            return set(self._run(_STALE, str(self._files.get(part, ""))))

    def _run(self, sql: str, *values: object) -> list[Any]:
        rows: list[Any] = self._connection.execute(sql, list(values)).fetchall()
        return rows

    @contextmanager
    def _errors(self) -> Iterator[None]:
        import duckdb  # noqa: PLC0415 -- an extra

        try:
            yield
        except duckdb.Error as error:
            words = " ".join(str(error).split())[:200]
            raise StoreError(
                f"{self._folder}: the files cannot be compared with the rows ({words}); scan again with "
                "--again, or free disk space"
            ) from error

    def _remove_spill(self) -> None:
        shutil.rmtree(self._folder / _SPILL, ignore_errors=True)


def _row(item: ScanItem) -> Row:
    path, member = item.key
    plain = ScanItem(from_text(path), member, item.size, item.stamp)
    return path, member, item.size, item.stamp, None if plain == item else json.dumps(item)
