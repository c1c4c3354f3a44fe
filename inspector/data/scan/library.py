"""Questions to the rows of a scan, answered by DuckDB from the Parquet files, in place.

The connection may read the folder and nothing else, its settings are locked, and a query has limits of time
and memory. Queries are texts of this program; the condition of a filter is what `filters` made of it.
"""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache, partial
from math import inf
from pathlib import Path
from threading import Timer
from typing import Any, Final, Self, cast

from inspector.analysis.audit import Severity
from inspector.capture.errors import InspectorError, StoreError
from inspector.data.scan.columns import (
    CAPTURE_COLUMNS,
    CAPTURES,
    FINDING_COLUMNS,
    FINDINGS,
    UNREAD,
    Column,
    Table,
    Type,
)
from inspector.data.scan.filters import SCHEMA, FilterError, condition, is_expression, narrowed
from inspector.data.scan.folder import Manifest, missing_extra, read_manifest
from inspector.views.delivery import DAMAGED, Delivery

_NAMES: Final = (
    "version",
    "front_end",
    "endpoint",
    "model",
    "day",
    "verdict",
    "cause",
    "evidence",
    "finish_reason",
    "origin",
    "tokens_per_event",
    "kind",
    "code",
    "severity",
    "channel",
    "field",
    "finding_cause",
    "delivery",
)

GROUPS: Final[Mapping[str, Column]] = {name: {**CAPTURE_COLUMNS, **FINDING_COLUMNS}[name] for name in _NAMES}
"""Columns by which captures can be grouped; for a finding's column a capture is in the group of each of its
findings."""

SORTS: Final = tuple(column.name for column in CAPTURES if not column.hidden)
"""Columns by which captures can be sorted."""

_MEMORY: Final = "1GB"
_SECONDS: Final = 30.0
_LEAST_S: Final = 0.05
_NO_ANSWER: Final = f"no answer in {_SECONDS:g} seconds; ask for less"
_ALL: Final = 2**62
_ENDS_S: Final = ContextVar[float]("when the answers must be there", default=inf)
_HELD_BYTES: Final = 32 * 2**20
"""Parquet files of a table up to this size are held in memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Some captures by the level of their verdict."""

    captures: int
    """Captures that could be read."""
    clean: int
    warning: int
    error: int
    unknown: int
    unread: int
    """Files that could not be read."""
    deliveries: Mapping[Delivery, int] = field(default_factory=dict)
    """The captures by what the client got."""

    @property
    def damaged(self) -> int:
        """Captures of which text was lost, changed or misfiled without an error."""
        return sum(self.deliveries.get(delivery, 0) for delivery in DAMAGED)

    @property
    def share(self) -> float | None:
        """The share of captures that have errors."""
        return self.error / self.captures if self.captures else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The captures with one value of a column."""

    value: str | int | None
    counts: Counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How many captures have a kind of finding or a cause, and with which versions of the server."""

    value: str
    captures: int
    findings: int
    versions: tuple[tuple[str | None, int], ...]
    """Versions with captures, most first."""

    @property
    def releases(self) -> tuple[str | None, ...]:
        """The versions alone."""
        return tuple(version for version, _ in self.versions)


class Library:
    """The rows of a scan; every question may have a filter. Methods raise InspectorError."""

    def __init__(self, folder: Path, *, hold: bool = True) -> None:
        """With `hold`, tables that are small enough are held in memory, for many questions."""
        missing_extra()
        self._held_bytes = _HELD_BYTES if hold else 0
        self.folder = folder.resolve()
        self.manifest: Manifest = read_manifest(folder)
        self._condition = lru_cache(maxsize=32)(partial(condition, ask=self._rows))
        """A summary asks several questions with one filter."""
        while True:
            try:
                self._connection = self._opened()
                return
            except StoreError:  # a scan may have replaced the parts since the list was read
                if (now := read_manifest(folder)).parts == self.manifest.parts:
                    raise
                self.manifest = now

    def _opened(self) -> Any:
        """A connection that has both tables."""
        import duckdb  # noqa: PLC0415 -- an extra

        connection = duckdb.connect(
            ":memory:",
            config={
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
                "memory_limit": _MEMORY,
            },
        )
        try:
            connection.execute("SET allowed_directories = ?", [[str(self.folder)]])
            connection.execute("SET enable_external_access = false")
            for table, columns in ((Table.CAPTURES, CAPTURES), (Table.FINDINGS, FINDINGS)):
                self._view(connection, table, columns)
            for statement in SCHEMA:
                connection.execute(statement)
            connection.execute("SET lock_configuration = true")
        except (duckdb.Error, OSError, ValueError) as error:
            connection.close()
            raise self._unreadable(error) from error
        return connection

    def close(self) -> None:
        """Free the memory."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def counts(self, words: str = "") -> Counts:
        """How many captures there are, by verdict."""
        [row] = self._rows(f"SELECT {_COUNTS} FROM captures c WHERE {self._condition(words)}")
        return _counts(row)

    def groups(self, by: str, words: str = "") -> list[Group]:
        """Captures by the values of a column: versions and days in their order, others by most errors."""
        column = GROUPS.get(by)
        if column is None:
            raise InspectorError(f"cannot group by {by}; choose {', '.join(GROUPS)}")
        condition = self._condition(words)
        if column.table is Table.FINDINGS:
            source = (
                f"captures c JOIN (SELECT DISTINCT capture, {by} AS g FROM findings) f ON f.capture = c.id"
            )
            value = "f.g"
        else:
            source, value = "captures c", f"c.{by}"
        order = _ordered(column, value)
        rows = self._rows(
            f"SELECT {value}, {_COUNTS} FROM {source} WHERE {condition} GROUP BY {value} ORDER BY {order}",
        )
        return [Group(value=row[0], counts=_counts(row[1:])) for row in rows]

    def tallies(self, column: str, words: str = "") -> list[Tally]:
        """Kinds of findings, or causes, by the captures that have one; `kind` or `finding_cause`."""
        if column not in {"kind", "finding_cause"}:
            raise InspectorError(f"cannot count by {column}")
        condition = self._condition(words)
        rows = self._rows(
            f"""
            WITH found AS (
                SELECT f.{column} AS g, c.version AS version, c.id AS id, count(*) AS n
                FROM captures c JOIN findings f ON f.capture = c.id
                WHERE f.{column} IS NOT NULL AND {condition}
                GROUP BY ALL
            )
            SELECT g, version, count(*) AS captures, sum(n)::BIGINT AS findings
            FROM found GROUP BY ALL ORDER BY captures DESC, g, version
            """,
        )
        by_value: dict[str, list[tuple[str | None, int, int]]] = {}
        for value, version, captures, findings in rows:
            by_value.setdefault(value, []).append((version, captures, findings))
        tallies = [
            Tally(
                value=value,
                captures=sum(captures for _, captures, _ in counts),
                findings=sum(findings for _, _, findings in counts),
                versions=tuple((version, captures) for version, captures, _ in counts),
            )
            for value, counts in by_value.items()
        ]
        return sorted(tallies, key=lambda tally: (-tally.captures, tally.value))

    def severities(self, words: str = "") -> dict[str, int]:
        """How many findings there are, by severity."""
        condition = self._condition(words)
        rows = self._rows(
            f"SELECT f.severity, count(*) FROM captures c JOIN findings f ON f.capture = c.id "
            f"WHERE {condition} GROUP BY f.severity",
        )
        counts = dict(rows)
        return {severity.value: counts.get(severity.value, 0) for severity in Severity}

    def first_error(self, words: str = "") -> tuple[str | None, int]:
        """The first day of a capture with errors, and how many captures with errors have no day."""
        condition = self._condition(words)
        [row] = self._rows(
            "SELECT min(c.day), count(*) - count(c.day) FROM captures c "
            f"WHERE c.verdict = 'error' AND {condition}",
        )
        return row[0], row[1]

    def unread(self, words: str = "", *, limit: int) -> list[dict[str, Any]]:
        """The first files that could not be read, by path."""
        condition = self._condition(words)
        return self._captures(f"c.verdict = '{UNREAD}' AND {condition}", _PATHS, limit)

    def rows(
        self, words: str = "", *, sort: str = "", descending: bool = False, limit: int | None = 100
    ) -> list[dict[str, Any]]:
        """Rows of captures, all without `limit`; without `sort` the worst first."""
        if sort and sort not in SORTS:
            raise InspectorError(f"cannot sort by {sort}; choose {', '.join(SORTS)}")
        condition = self._condition(words)
        if sort:
            name = f"c.{sort}_order" if CAPTURE_COLUMNS[sort].type is Type.VERSION else f"c.{sort}"
            order = f"{name} {'DESC' if descending else 'ASC'} NULLS LAST, {_PATHS}"
        else:
            order = f"{_WORST}, {_PATHS}"
        return self._captures(condition, order, limit)

    def _captures(self, condition: str, order: str, limit: int | None) -> list[dict[str, Any]]:
        names = _listed([column.name for column in CAPTURES])
        rows = self._rows(
            f"SELECT {names} FROM captures c WHERE {condition} ORDER BY {order} LIMIT ?",
            [_ALL if limit is None else min(limit, _ALL)],
        )
        return [_as_row(CAPTURES, row) for row in rows]

    def findings(self, captures: Sequence[str]) -> list[dict[str, Any]]:
        """The findings of some captures by their keys, in the order of `audit`."""
        names = _listed([column.name for column in FINDINGS], "f")
        rows = self._rows(
            f"SELECT {names} FROM findings f WHERE list_contains(?, f.capture) ORDER BY f.capture, f.place",
            (list(captures),),
        )
        return [_as_row(FINDINGS, row) for row in rows]

    def capture(self, key: str) -> dict[str, Any] | None:
        """One row of a capture by its key."""
        names = _listed([column.name for column in CAPTURES])
        rows = self._rows(f"SELECT {names} FROM captures c WHERE c.id = ?", (key,))
        return _as_row(CAPTURES, rows[0]) if rows else None

    def _view(self, connection: Any, table: Table, columns: Sequence[Column]) -> None:
        files = [str(self.folder / f"{table.value}-{part}.parquet") for part in self.manifest.parts]
        if files:
            rows = connection.read_parquet(files)
            arrow_types = dict(zip(rows.columns, map(str, rows.types), strict=True))
            for column in columns:
                if arrow_types.get(column.name) not in {None, _TYPES[column.type]}:
                    raise ValueError(
                        f"the column {column.name} of {table.value} is {arrow_types[column.name]}"
                    )
            # Columns are added: rows of a scan before have none.
            missing = [column for column in columns if column.name not in arrow_types]
            rows = rows.project(
                ", ".join(
                    ["*", *(f"CAST(NULL AS {_TYPES[column.type]}) AS {column.name}" for column in missing)]
                )
            )
            if sum(os.path.getsize(file) for file in files) <= self._held_bytes:
                rows.create(table.value)
            else:
                rows.create_view(table.value)
        else:
            types = ", ".join(f"{column.name} {_TYPES[column.type]}" for column in columns)
            connection.execute(f"CREATE TABLE {table.value} ({types})")

    def is_expression(self, words: str) -> bool:
        """Whether a filter is an SQL expression; others are searched as words."""
        return is_expression(words, self._rows)

    def narrowed(self, words: str, column: str, value: str | int | None) -> str:
        """A filter with one more condition: the captures of one group."""
        return narrowed(words, column, value, self._rows)

    @contextmanager
    def within(self, seconds: float = _SECONDS) -> Iterator[None]:
        """All questions of this context together may take so long; an outer context's time is kept."""
        token = _ENDS_S.set(min(_ENDS_S.get(), time.monotonic() + seconds))
        try:
            yield
        finally:
            _ENDS_S.reset(token)

    def _rows(
        self, sql: str, parameters: Sequence[object] = (), *, seconds: float = _SECONDS
    ) -> list[tuple[Any, ...]]:
        import duckdb  # noqa: PLC0415 -- an extra

        seconds = min(seconds, _ENDS_S.get() - time.monotonic())
        if seconds < _LEAST_S:  # an interrupt before the query has begun would be lost
            raise FilterError(_NO_ANSWER)
        # A cursor of its own: sessions of the dashboard share the connection.
        with self._connection.cursor() as cursor:
            timer = Timer(seconds, cursor.interrupt)
            timer.start()
            try:
                rows: list[tuple[Any, ...]] = cursor.execute(sql, list(parameters)).fetchall()
                return rows
            except duckdb.InterruptException as error:
                raise FilterError(_NO_ANSWER) from error
            except duckdb.OutOfMemoryException as error:
                raise FilterError(f"the answer takes more than {_MEMORY} of memory; ask for less") from error
            except duckdb.Error as error:
                if (damage := self._damage(cursor)) is not None:
                    raise self._unreadable(damage) from error
                raise FilterError(str(error).partition(": ")[2].splitlines()[0].partition(". ")[0]) from error
            finally:
                timer.cancel()

    def _damage(self, cursor: Any) -> Exception | None:
        """Why the tables cannot be read; None if they can, and a query that failed is wrong itself."""
        import duckdb  # noqa: PLC0415 -- an extra

        try:
            for table in Table:
                cursor.execute(f"SELECT max(COLUMNS(*)) FROM {table.value}").fetchall()
        except duckdb.InterruptException:
            return None
        except duckdb.Error as error:
            return cast(Exception, error)
        return None

    def _unreadable(self, error: Exception) -> StoreError:
        words = " ".join(str(error).split())
        return StoreError(f"{self.folder}: the rows cannot be read ({words[:200]}); scan again with --again")


_LEVELS: Final = ("clean", "warning", "error", "unknown", "unread")
_COUNTS: Final = ", ".join(
    [f"count(*) FILTER (c.verdict = '{level}')" for level in _LEVELS]
    + [f"count(*) FILTER (c.delivery = '{delivery}')" for delivery in Delivery]
)
_PATHS: Final = "c.path, c.member, c.number"
_BAD: Final = [delivery.value for delivery in (*DAMAGED, Delivery.ERROR_REPORTED)]
_WORST: Final = (
    f"list_position({_BAD}, c.delivery) NULLS LAST, "
    "list_position(['error', 'warning', 'unread', 'unknown', 'clean'], c.verdict), c.errors DESC"
)
_TYPES: Final = {
    Type.TEXT: "VARCHAR",
    Type.VERSION: "VARCHAR",
    Type.NUMBER: "BIGINT",
    Type.DECIMAL: "DOUBLE",
    Type.TIME: "TIMESTAMP",
}


def _counts(row: Sequence[int]) -> Counts:
    (clean, warning, error, unknown, unread), amounts = row[: len(_LEVELS)], row[len(_LEVELS) :]
    return Counts(
        captures=clean + warning + error + unknown,
        clean=clean,
        warning=warning,
        error=error,
        unknown=unknown,
        unread=unread,
        deliveries={delivery: amount for delivery, amount in zip(Delivery, amounts, strict=True) if amount},
    )


def _ordered(column: Column, value: str) -> str:
    if column.type is Type.VERSION:
        return f"min({value}_order) NULLS LAST"
    if column.name in {"day", "tokens_per_event"}:
        return f"{value} NULLS LAST"
    return f"count(*) FILTER (c.verdict = 'error') DESC, count(*) DESC, {value} NULLS LAST"


def _listed(names: Sequence[str], table: str = "c") -> str:
    return ", ".join(f"{table}.{name}" for name in names)


def _as_row(columns: Sequence[Column], values: Sequence[Any]) -> dict[str, Any]:
    """A row as `--json` has it: times as text, without the columns that only serve others."""
    return {
        column.name: f"{value.isoformat()}Z" if isinstance(value, datetime) else value
        for column, value in zip(columns, values, strict=True)
        if column.name != "version_order"
    }
