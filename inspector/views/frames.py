"""Rows of an inspection as a pandas data frame, for notebooks."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final, Literal

from inspector.capture.errors import InspectorError
from inspector.inspection.inspection import Inspection
from inspector.views.rows import audit_dict, event_rows
from inspector.views.tokens import tokens

if TYPE_CHECKING:
    from pandas import DataFrame

FrameTable = Literal["tokens", "findings", "events"]


def _tokens(inspection: Inspection) -> list[dict[str, Any]]:
    return [
        {"choice": choice.index, **asdict(token)}
        for choice in inspection.reading.choices
        for token in tokens(inspection, choice=choice.index)
    ]


def _findings(inspection: Inspection) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = audit_dict(inspection)["findings"]
    return rows


_ROWS: Final[Mapping[FrameTable, Callable[[Inspection], list[dict[str, Any]]]]] = {
    "tokens": _tokens,
    "findings": _findings,
    "events": lambda inspection: event_rows(inspection.reading),
}


def to_pandas(inspection: Inspection, table: FrameTable = "tokens") -> "DataFrame":
    """A row for each token with what became of it, for each finding as in `audit --json`, or for each event.

    Times are seconds from the request. Raises InspectorError for another table, and without pandas.
    """
    if table not in _ROWS:
        raise InspectorError(f"no table {table!r}; the tables are {', '.join(_ROWS)}")
    try:
        from pandas import DataFrame  # noqa: PLC0415 -- the library works without it
    except ImportError as error:
        raise InspectorError("to_pandas needs pandas; pip install pandas") from error
    return DataFrame(_ROWS[table](inspection))
