"""The rows of the Library's example: `python -m tools.make_example` audits the captures of the matrix anew.

They are what `scan` makes of these archives, with paths from the checkout, so that the page has them at once
wherever that is.
"""

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pyarrow.parquet as pq

from inspector.data.scan.columns import CAPTURES, FINDINGS, Table
from inspector.data.scan.folder import MANIFEST
from inspector.data.scan.items import ScanItem
from inspector.data.scan.listing import items_at
from inspector.data.scan.pooling import cores, pooled
from inspector.data.scan.rows import Rows
from inspector.data.scan.tables import arrow_table

ROOT: Final = Path(__file__).parent.parent
EXAMPLE: Final = ROOT / "fixtures" / "example"
_PART: Final = "000001"
_BATCH: Final = 64


def items() -> list[ScanItem]:
    """The captures, by archive and name."""
    places = sorted(map(str, (ROOT / "fixtures" / "matrix").glob("*.zip")))
    listed = items_at(places, Counter())
    relative = (item._replace(path=Path(item.path).relative_to(ROOT).as_posix()) for item in listed)
    return sorted(relative, key=lambda item: (item.path, item.member or ""))


def main() -> None:
    """Write the rows."""
    os.chdir(ROOT)
    rows = Rows([], [])
    for batch_rows in _in_order(items()):
        rows.captures.extend(batch_rows.captures)
        rows.findings.extend(batch_rows.findings)
    EXAMPLE.mkdir(exist_ok=True)
    tables = {Table.CAPTURES: (CAPTURES, rows.captures), Table.FINDINGS: (FINDINGS, rows.findings)}
    for table, (columns, table_rows) in tables.items():
        path = EXAMPLE / f"{table.value}-{_PART}.parquet"
        pq.write_table(arrow_table(columns, table_rows), path, compression="zstd", compression_level=19)
    manifest = {
        "harmony_scan": 1,
        "places": ["fixtures/matrix"],
        "code": "",
        "started_at": "",
        "finished_at": "",
        "ignored": {},
        "parts": [_PART],
    }
    (EXAMPLE / MANIFEST).write_text(f"{json.dumps(manifest, indent=1)}\n", "utf-8")


def _in_order(wanted: list[ScanItem]) -> Iterator[Rows]:
    """The rows of all items, in the order of the items whichever process ends first."""
    batches = [tuple(wanted[start : start + _BATCH]) for start in range(0, len(wanted), _BATCH)]
    done = {tuple(batch): rows for batch, rows in pooled(batches, cores())}
    yield from (done[batch] for batch in batches)


if __name__ == "__main__":
    main()
