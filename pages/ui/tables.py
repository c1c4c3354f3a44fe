"""What the tables of the pages have in common: their height, and how numbers are written."""

from math import ceil
from typing import TYPE_CHECKING, Any, Final

import streamlit as st

if TYPE_CHECKING:  # a third of the first page's time, and the first page needs only a height
    import pandas as pd


_ROW_PX: Final = ceil(2.1875 * 14)
"""Streamlit's height of a row and of the header in whole pixels, at the font size of our configuration."""
_BORDER_PX: Final = 2


def table_height(rows: int, limit_px: int | None = None) -> int:
    """Pixels of a table with a header and that many rows; with more than fit into `limit_px`, it scrolls."""
    height = _ROW_PX * (rows + 1) + _BORDER_PX
    return height if limit_px is None else min(height, limit_px)


def counts(frame: "pd.DataFrame") -> dict[str, Any]:
    """Column settings by which numbers are written with separators, as in the sentences above a table."""
    numbers = frame.select_dtypes("number").columns
    return {str(name): st.column_config.NumberColumn(format="localized") for name in numbers}
