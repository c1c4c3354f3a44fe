"""Rows as CSV that a spreadsheet can open without running anything of what they hold."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

_FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r")


def csv_text(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """The rows below the names of their columns.

    Cells that a spreadsheet would run as a formula get a leading apostrophe; lists become words.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(row[column]) for column in columns] for row in rows)
    return out.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, list):
        return _cell(" ".join(map(str, value)))
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA_STARTS) else value
