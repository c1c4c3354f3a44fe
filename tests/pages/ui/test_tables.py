"""The height of tables."""

import tomllib
from pathlib import Path

from pages.ui.tables import table_height

ROOT = Path(__file__).parents[3]


def test_a_table_is_as_tall_as_its_rows() -> None:
    font_px = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text("utf-8"))["theme"]["baseFontSize"]
    assert table_height(2) - table_height(0) in {round(2 * 2.1875 * font_px), round(2 * 2.1875 * font_px) + 1}
    assert table_height(1000, 300) == 300
