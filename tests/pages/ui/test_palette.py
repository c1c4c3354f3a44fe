"""One table of colours: style sheets and page modules name them, and no colour is written anywhere else."""

import re
from pathlib import Path

import pytest

from pages.ui.palette import PALETTE, channel_hue, series, shade, stylesheet

PAGES = Path(__file__).parents[3] / "pages"
HEX = re.compile(r"#[0-9a-fA-F]{3,8}\b")


def test_colours_are_written_in_the_palette_alone() -> None:
    sheets = [*PAGES.rglob("*.css"), *(path for path in PAGES.rglob("*.py") if path.name != "palette.py")]
    assert {path.name: colours for path in sheets if (colours := HEX.findall(path.read_text("utf-8")))} == {}


def test_every_custom_property_of_a_sheet_is_defined_in_its_component_or_in_the_palette() -> None:
    given = {"st-" + name for name in ("background-color", "text-color", "primary-color", "border-color")}
    given |= {"st-font", "st-secondary-background-color", "hue", *PALETTE}
    given |= set(re.findall(r"--([\w-]+):", (PAGES / "ui" / "common.css").read_text("utf-8")))
    texts: dict[tuple[str, ...], str] = {}
    for sheet in PAGES.rglob("*.css"):
        component = sheet.parent.relative_to(PAGES).parts[:2]
        texts[component] = texts.get(component, "") + sheet.read_text("utf-8")
    for component, text in texts.items():
        defined = set(re.findall(r"--([\w-]+):", text))
        assert set(re.findall(r"var\(--([\w-]+)", text)) <= defined | given, component


def test_the_style_sheet_holds_every_shade_and_the_dark_ones_where_they_differ() -> None:
    light, dark = stylesheet().splitlines()
    for name, colour in PALETTE.items():
        assert f"--{name}:{colour.light};" in light
        assert (f"--{name}:{colour.dark};" in dark) is (colour.light != colour.dark)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_plots_take_the_hues_of_the_strip(theme: str) -> None:
    assert channel_hue("analysis", theme) == channel_hue("reasoning", theme) == shade("reasoning", theme)
    assert channel_hue("anything", theme) == shade("other", theme)
    assert len(set(series(theme))) == len(series(theme))
