"""How tall a table is, so that no empty row is drawn below the last one."""

from math import ceil
from typing import Final

__all__ = ["table_height"]

_ROW_PX: Final = ceil(2.1875 * 14)
"""Streamlit's height of a row and of the header in whole pixels, at the font size of our configuration."""
_BORDER_PX: Final = 2


def table_height(rows: int, most: int | None = None) -> int:
    """Pixels of a table with a header and that many rows; with more than fit into `most`, it scrolls."""
    height = _ROW_PX * (rows + 1) + _BORDER_PX
    return height if most is None else min(height, most)
