"""A table whose rows open by a click anywhere in them or by Enter; drawn with `textContent` only.

Streamlit's own table opens a row through its check box alone, and where it selects cells, the keyboard cannot
pass a row without opening it.
"""

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any, Final, NamedTuple

import streamlit as st

from pages.ui.assets import sheet
from pages.ui.modules import loader

__all__ = ["Bar", "rows"]

_ROW_PX: Final = 30.5
"""A line of 13 pixels times 1.5, twice 5 pixels beside it, and its border."""

_component = st.components.v2.component(
    "inspector_rows",
    html='<div class="rows"></div>',
    css=sheet("rows/rows.css"),
    js=loader("ui/rows/rows.js"),
)


class Bar(NamedTuple):
    """An amount as a bar, drawn in proportion to the largest of its column."""

    of: int
    most: int
    marked: int = 0
    """A part of the amount that has the hue."""
    hue: str = "error"


Cell = str | int | float | Bar | None


def rows(
    table: Sequence[Mapping[str, Cell]],
    *,
    label: str,
    opens: str,
    key: str,
    current: int | None = None,
    sortable: bool = False,
    height: int = 560,
) -> int | None:
    """Draw rows of the same columns; the number of the row that was opened just now.

    `opens` is the column that names a row, whose text is its button; `current` is the row that is open;
    with more rows than fit into `height` pixels the table scrolls.
    """
    names = list(table[0])
    data: dict[str, Any] = {
        "label": label,
        "names": names,
        "rows": [[_cell(row[name]) for name in names] for row in table],
        "opens": names.index(opens),
        "current": current,
        "sortable": sortable,
        "height": height,
    }
    # The room that it will take, so that nothing below moves when its script has loaded.
    room = st.container(height=min(height, ceil(_ROW_PX * (len(table) + 1)) + 2) + 2, border=False)
    with room:
        # In a list: Streamlit looks for data frames in an object, and imports pandas for that.
        result = _component(key=key, data=[data], on_opened_change=lambda: None)
    row = result.get("opened")
    return row if isinstance(row, int) and 0 <= row < len(table) else None


def _cell(cell: Cell) -> str | int | float | dict[str, str | int] | None:
    return cell._asdict() if isinstance(cell, Bar) else cell
