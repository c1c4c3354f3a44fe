"""Rows as Arrow tables, and tables with fewer rows.

Columns are put together from their bytes: `pyarrow.array` of a list loads pandas where that is installed,
which takes longer than a small scan.
"""

from array import array
from collections.abc import Container, Sequence
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Any, Final, assert_never

from inspector.data.scan.columns import Column, Type
from inspector.data.scan.rows import Row

_EPOCH: Final = datetime(1970, 1, 1)
"""Times of rows are UTC without a zone."""
_MICROSECOND: Final = timedelta(microseconds=1)


def arrow_table(columns: Sequence[Column], rows: Sequence[Row]) -> Any:
    """Rows as an Arrow table."""
    import pyarrow as pa  # noqa: PLC0415 -- an extra

    values = zip(*rows, strict=True) if rows else [()] * len(columns)
    arrays = [
        _array(column.type, column_values) for column, column_values in zip(columns, values, strict=True)
    ]
    return pa.Table.from_arrays(arrays, names=[column.name for column in columns])


def without_items(
    captures: Any, findings: Any, keys: Container[tuple[str, str | None]]
) -> tuple[Any, Any] | None:
    """Both tables without the rows of some items, by path and member; None where they have none."""
    columns = (captures.column(name).to_pylist() for name in ("path", "member", "id"))
    stay, ids = [], set()
    for path, member, key in zip(*columns, strict=True):
        stay.append((path, member) not in keys)
        if stay[-1]:
            ids.add(key)
    if all(stay):
        return None
    of_items = [capture_id in ids for capture_id in findings.column("capture").to_pylist()]
    return captures.filter(_flags(stay)), findings.filter(_flags(of_items))


def _array(type_: Type, values: Sequence[Any]) -> Any:
    import pyarrow as pa  # noqa: PLC0415 -- an extra

    present_flags = [value is not None for value in values]
    present = None if all(present_flags) else pa.py_buffer(_bits(present_flags))
    match type_:
        case Type.TEXT | Type.VERSION:
            parts = [b"" if value is None else value.encode() for value in values]
            ends = array("i", accumulate(map(len, parts), initial=0))
            arrow, buffers = pa.string(), [pa.py_buffer(ends), pa.py_buffer(b"".join(parts))]
        case Type.NUMBER:
            numbers = array("q", [0 if value is None else value for value in values])
            arrow, buffers = pa.int64(), [pa.py_buffer(numbers)]
        case Type.DECIMAL:
            decimals = array("d", [0.0 if value is None else value for value in values])
            arrow, buffers = pa.float64(), [pa.py_buffer(decimals)]
        case Type.TIME:
            moments = array(
                "q", [0 if moment is None else (moment - _EPOCH) // _MICROSECOND for moment in values]
            )
            arrow, buffers = pa.timestamp("us"), [pa.py_buffer(moments)]
        case _:
            assert_never(type_)
    return pa.Array.from_buffers(arrow, len(values), [present, *buffers])


def _flags(values: Sequence[bool]) -> Any:
    import pyarrow as pa  # noqa: PLC0415 -- an extra

    return pa.Array.from_buffers(pa.bool_(), len(values), [None, pa.py_buffer(_bits(values))])


def _bits(values: Sequence[bool]) -> bytes:
    """Flags as Arrow keeps them: eight in a byte, the first in its lowest bit."""
    bits = "".join("1" if value else "0" for value in reversed(values))
    return int(bits or "0", 2).to_bytes((len(values) + 7) // 8, "little")
