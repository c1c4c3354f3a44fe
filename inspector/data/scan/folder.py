"""The folder of a scan: Parquet parts of both tables, and a list of the parts that count.

`scan.json` names the parts. Each is written whole under another name first, and counts from the moment that
the list names it, so that a scan may be killed at any time: the next one removes what no list names.
"""

import json
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from hashlib import blake2b
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Final

from inspector.capture.errors import InspectorError, StoreError
from inspector.data.scan.columns import CAPTURES, FINDINGS, Table
from inspector.data.scan.items import Key
from inspector.data.scan.rows import Rows
from inspector.data.scan.tables import arrow_table, without_items
from inspector.files.locking import lock
from inspector.files.store import replacing
from inspector.issues.catalogue.table import own_content

MANIFEST: Final = "scan.json"
"""The list of parts."""

LOCK: Final = "scan.lock"
"""What one scan at a time holds; it stays in the folder."""

PART_CAPTURES: Final = 2000
"""Captures of a part, about."""

_PART_FINDINGS: Final = 20_000
_FORMAT: Final = "harmony_scan"
_VERSION: Final = 1
_PART: Final = re.compile(r"(?:captures|findings)-[0-9]{6,9}\.parquet(?:\.(?:[0-9a-f]{8}\.)?part)?")
_NUMBER: Final = re.compile(r"[0-9]{6,9}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What `scan.json` says."""

    places: tuple[str, ...] = ()
    code: str = ""
    """A hash of the program that made the rows: another one may judge differently."""
    parts: tuple[str, ...] = ()
    started_at: str = ""
    finished_at: str | None = None
    """None while a scan runs, or after one that was stopped."""
    ignored: Mapping[str, int] = field(default_factory=dict)
    """Files that were left out, by ending."""


def is_scan(folder: Path) -> bool:
    """Whether a folder holds a scan."""
    return os.path.isfile(folder / MANIFEST)


def read_manifest(folder: Path) -> Manifest:
    """The list of parts; raises StoreError where there is none, or it is damaged."""
    path = folder / MANIFEST
    try:
        row = json.loads(path.read_text("utf-8"))
        if row[_FORMAT] != _VERSION:
            raise StoreError(f"{path}: was written by another version of the program; scan into a new folder")
        parts = tuple(str(part) for part in row["parts"])
        if not all(_NUMBER.fullmatch(part) for part in parts):
            raise ValueError("a part is not a number")
        return Manifest(
            places=tuple(str(place) for place in row["places"]),
            code=str(row["code"]),
            parts=parts,
            started_at=str(row["started_at"]),
            finished_at=None if row["finished_at"] is None else str(row["finished_at"]),
            ignored={str(ending): int(amount) for ending, amount in row["ignored"].items()},
        )
    except FileNotFoundError as error:
        raise StoreError(
            f"{folder}: no scan here; run `python -m inspector scan PLACE --out {folder}`"
        ) from error
    except OSError as error:
        raise StoreError(f"{path}: cannot be read ({error.strerror}); check the disk") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StoreError(f"{path}: is not the list of a scan; remove {folder} and scan again") from error


class ScanFolder:
    """A folder that one scan at a time writes; raises StoreError for disk errors."""

    def __init__(self, path: Path) -> None:
        missing_extra()
        self.path = path
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = _locked(path)
        except OSError as error:
            raise _refused(path, error) from error
        try:
            self.manifest = read_manifest(path) if is_scan(path) else Manifest()
            if not is_scan(path) and any(map(_PART.fullmatch, os.listdir(path))):
                raise StoreError(f"{path}: contains Parquet files of another program; choose another folder")
        except BaseException:
            self._lock.close()
            raise
        self._rows = Rows([], [])
        self._last = max(map(int, self.manifest.parts), default=0)

    def begin(self, places: Sequence[str], ignored: Mapping[str, int], *, discard: bool = False) -> None:
        """Begin to write: remove what an earlier scan left unfinished, and rows that other code computed.

        With `discard`, remove all rows.
        """
        code = code_hash()
        parts = self.manifest.parts if self.manifest.code == code and not discard else ()
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self._commit(
            Manifest(places=tuple(places), code=code, parts=parts, started_at=now, ignored=dict(ignored))
        )

    def files(self) -> dict[str, Path]:
        """The files of captures by their parts, if the same code computed them."""
        parts = self.manifest.parts if self.manifest.code == code_hash() else ()
        return {part: self._path(Table.CAPTURES, part) for part in parts}

    def drop(self, stale: Callable[[str], Collection[Key]]) -> None:
        """Remove the rows of the items that are stale in a part."""
        parts, changed = list[str](), False
        for part in self.manifest.parts:
            keys = stale(part)
            remaining = without_items(*self._tables(part), keys) if keys else None
            if remaining is None:
                parts.append(part)
                continue
            changed = True
            if len(remaining[0]):
                parts.append(self._written([remaining]))
        if changed:
            self._commit(replace(self.manifest, parts=tuple(parts)))

    def add(self, rows: Rows) -> bool:
        """Keep some more rows; True when that completed a part, which is then on disk."""
        self._rows.captures.extend(rows.captures)
        self._rows.findings.extend(rows.findings)
        if len(self._rows.captures) < PART_CAPTURES and len(self._rows.findings) < _PART_FINDINGS:
            return False
        self.flush()
        return True

    def flush(self) -> None:
        """Write the rows that wait as a part."""
        if self._rows.captures:
            part = self._written(
                [(arrow_table(CAPTURES, self._rows.captures), arrow_table(FINDINGS, self._rows.findings))]
            )
            self._commit(replace(self.manifest, parts=(*self.manifest.parts, part)))
            self._rows = Rows([], [])

    def finish(self) -> None:
        """Write what waits, join small parts, and say that the scan is complete."""
        self.flush()
        self._join()
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self._commit(replace(self.manifest, finished_at=now))

    def close(self) -> None:
        """Let another scan write here."""
        self._lock.close()

    def _path(self, table: Table, part: str) -> Path:
        return self.path / f"{table.value}-{part}.parquet"

    def _join(self) -> None:
        """Make larger parts of small ones."""
        sizes = {part: _length(self._path(Table.CAPTURES, part)) for part in self.manifest.parts}
        parts = [part for part, size in sizes.items() if size >= PART_CAPTURES // 2]
        small = [part for part in sizes if part not in parts]
        if len(small) < 2:
            return
        group, size = list[str](), 0
        for part in small:
            group.append(part)
            size += sizes[part]
            if size >= PART_CAPTURES or part == small[-1]:
                parts.append(part if len(group) == 1 else self._written(list(map(self._tables, group))))
                group, size = [], 0
        self._commit(replace(self.manifest, parts=tuple(parts)))

    def _tables(self, part: str) -> tuple[Any, Any]:
        """Both tables of a part."""
        import pyarrow.parquet as pq  # noqa: PLC0415 -- an extra

        try:
            captures, findings = (pq.read_table(self._path(table, part)) for table in Table)
            names = [name for table in (captures, findings) for name in table.column_names]
            if names != [column.name for column in (*CAPTURES, *FINDINGS)]:
                raise ValueError("it has other columns")
        except Exception as error:  # Arrow has errors of its own
            raise self._unreadable(error) from error
        return captures, findings

    def _unreadable(self, error: Exception) -> StoreError:
        return StoreError(f"{self.path}: a part cannot be read ({error}); scan again with --again")

    def _written(self, tables: Sequence[tuple[Any, Any]]) -> str:
        """Write a new part of both tables; it does not count yet."""
        import pyarrow as pa  # noqa: PLC0415 -- an extra
        import pyarrow.parquet as pq  # noqa: PLC0415 -- an extra

        self._last += 1
        part = f"{self._last:06d}"
        for table, pieces in zip(Table, zip(*tables, strict=True), strict=True):
            path = self._path(table, part)
            with replacing(path) as file:
                pq.write_table(pa.concat_tables(pieces), file, compression="zstd")
        return part

    def _commit(self, manifest: Manifest) -> None:
        """Make a list of parts the one that counts, and remove all other parts."""
        row = {
            _FORMAT: _VERSION,
            "places": list(manifest.places),
            "code": manifest.code,
            "started_at": manifest.started_at,
            "finished_at": manifest.finished_at,
            "ignored": dict(manifest.ignored),
            "parts": list(manifest.parts),
        }
        with replacing(self.path / MANIFEST) as file:
            file.write(json.dumps(row, indent=1).encode())
        try:
            named = {f"{table.value}-{part}.parquet" for table in Table for part in manifest.parts}
            for name in os.listdir(self.path):
                if _PART.fullmatch(name) and name not in named:
                    (self.path / name).unlink(missing_ok=True)
        except OSError as error:
            raise _refused(self.path, error) from error
        self.manifest = manifest


def missing_extra() -> None:
    """Raise InspectorError where the extra is not installed."""
    try:
        import duckdb  # noqa: F401, PLC0415 -- an extra
        import pyarrow.parquet  # noqa: F401, PLC0415 -- an extra
    except ImportError as error:
        raise InspectorError(
            f'scans need the extra `scan` ({error.name} is missing): pip install "harmony-inspector[scan]"'
            ", in a checkout pip install -r requirements.txt"
        ) from error


@cache
def code_hash() -> str:
    """A hash of what reads and judges captures and names causes: this package and one's own known issues."""
    root = Path(__file__).parents[2]
    digest = blake2b(digest_size=12)
    for path in sorted(root.rglob("*")):
        if path.suffix in {".py", ".yaml", ".json"} and not {"_app", "lab"} & set(
            path.relative_to(root).parts
        ):
            digest.update(path.relative_to(root).as_posix().encode())
            digest.update(path.read_bytes())
    digest.update((own_content() or "").encode())
    return digest.hexdigest()


def _length(path: Path) -> int:
    import pyarrow.parquet as pq  # noqa: PLC0415 -- an extra

    return int(pq.read_metadata(path).num_rows)


def _locked(path: Path) -> TextIOWrapper:
    """The lock of a folder; the operating system releases it with the process."""
    file = open(path / LOCK, "w", encoding="utf-8", opener=_private)  # noqa: SIM115 -- kept
    try:
        lock(file)
    except OSError as error:
        file.close()
        raise StoreError(
            f"{path}: another scan is writing here; wait for it, or choose another folder"
        ) from error
    return file


def _private(path: str, flags: int) -> int:
    """Open a file that only its owner may read: findings quote responses."""
    return os.open(path, flags, 0o600)


def _refused(path: Path, error: OSError) -> StoreError:
    words = error.strerror or str(error)
    return StoreError(f"{path}: cannot be written ({words}); choose another folder or free disk space")
