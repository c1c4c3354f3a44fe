"""Small archives of captures, and their rows as dictionaries."""

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow.parquet as pq

from inspector.data.scan import scan
from inspector.data.scan.columns import CAPTURES, FINDINGS, Table
from inspector.data.scan.folder import read_manifest
from inspector.data.scan.index import Index
from inspector.data.scan.items import ScanItem
from inspector.data.scan.listing import items_at
from inspector.data.scan.rows import Rows

__all__ = ["IDS", "as_dicts", "id_lists", "items_of", "rows_in", "scanned"]

IDS = [200005, 35644, 200008, 976, 200007, 200006, 173781, 200005, 17196, 200008, 976, 200002]
"""A well-formed response as token IDs."""


def id_lists(folder: Path, count: int, ids: Sequence[int] = IDS) -> list[Path]:
    """That many lists of token IDs, each another one."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for number in range(count):
        path = folder / f"ids-{number:04d}.json"
        path.write_text(json.dumps([*ids[:3], 976 + number, *ids[4:]]))
        paths.append(path)
    return paths


def items_of(
    *places: str | Path, but: Path | None = None, ignored: Counter[str] | None = None
) -> list[ScanItem]:
    """What a scan of some places finds, by path and member."""
    with TemporaryDirectory() as folder, closing(Index(Path(folder))) as index:
        index.take(items_at(map(str, places), Counter() if ignored is None else ignored, but=but))
        index.compare({})
        return list(index.wanted())


def scanned(out: Path, *places: str | Path, **options: Any) -> list[dict[str, Any]]:
    """The rows of captures after a scan in this process."""
    scan([str(place) for place in places], out, **{"jobs": 1, **options})
    return rows_in(out)


def rows_in(out: Path, table: Table = Table.CAPTURES) -> list[dict[str, Any]]:
    """The rows of the parts that count, in the order of their keys."""
    rows: list[dict[str, Any]] = []
    for part in read_manifest(out).parts:
        rows += pq.read_table(out / f"{table.value}-{part}.parquet").to_pylist()
    if table is Table.CAPTURES:
        return sorted(rows, key=lambda row: (row["path"], row["member"] or "", row["number"]))
    return sorted(rows, key=lambda row: (row["capture"], row["place"]))


def as_dicts(rows: Rows) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Rows by the names of their columns."""
    captures = [dict(zip([column.name for column in CAPTURES], row, strict=True)) for row in rows.captures]
    findings = [dict(zip([column.name for column in FINDINGS], row, strict=True)) for row in rows.findings]
    return captures, findings
