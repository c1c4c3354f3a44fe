"""Rows as CSV that a spreadsheet can open without running anything of what they hold."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

_FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r")


def csv_text(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """The rows below the names of their columns.

    Cells that a spreadsheet would run as a formula get a leading apostrophe, and all are quoted: where the
    separator is a semicolon, a bare `x;=1+1` is two cells. Lists become words.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(columns)
    writer.writerows([_cell(row[column]) for column in columns] for row in rows)
    return out.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, list):
        return _cell(" ".join(map(str, value)))
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA_STARTS) else value
