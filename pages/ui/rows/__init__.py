"""A table whose rows open by a click anywhere in them or by Enter; drawn with `textContent` only.

Streamlit's own table opens a row through its check box alone, and where it selects cells, the keyboard cannot
pass a row without opening it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from pages.ui.assets import sheet
from pages.ui.modules import loader

__all__ = ["rows"]

_component = st.components.v2.component(
    "inspector_rows",
    html='<div class="rows"></div>',
    css=sheet("rows/rows.css"),
    js=loader("ui/rows/rows.js"),
)


def rows(
    table: Sequence[Mapping[str, str | int | float | None]],
    *,
    label: str,
    opens: str,
    key: str,
    current: int | None = None,
    sortable: bool = False,
) -> int | None:
    """Draw rows of the same columns; the number of the row that was opened just now.

    `opens` is the column that names a row, whose text is its button; `current` is the row that is open.
    """
    names = list(table[0])
    data: dict[str, Any] = {
        "label": label,
        "names": names,
        "rows": [[row[name] for name in names] for row in table],
        "opens": names.index(opens),
        "current": current,
        "sortable": sortable,
    }
    # In a list: Streamlit looks for data frames in an object, and imports pandas for that.
    result = _component(key=key, data=[data], on_opened_change=lambda: None)
    row = result.get("opened")
    return row if isinstance(row, int) and 0 <= row < len(table) else None
