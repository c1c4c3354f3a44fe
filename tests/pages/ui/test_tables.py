"""What tables have in common."""

import tomllib
from math import ceil
from pathlib import Path

import pandas as pd

from pages.ui.tables import counts, table_height

ROOT = Path(__file__).parents[3]


def test_a_table_is_as_tall_as_its_rows() -> None:
    font_px = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text("utf-8"))["theme"]["baseFontSize"]
    # The table draws rows of whole pixels; with a fraction less for each, the last of many is cut off.
    assert table_height(25) - table_height(0) == 25 * ceil(2.1875 * font_px)
    assert table_height(1000, 300) == 300


def test_numbers_have_separators_and_words_do_not() -> None:
    table = pd.DataFrame(
        [{"version": "0.33.0", "captures": 1133, "tokens": None}, {"captures": 7, "tokens": 4096}]
    )
    assert {name: column["type_config"]["format"] for name, column in counts(table).items()} == {
        "captures": "localized",
        "tokens": "localized",
    }
