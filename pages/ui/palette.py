"""The palette: one table of colours by meaning, for light and dark, as CSS custom properties and for plots.

Components take `stylesheet()` before their own sheet and name colours as `var(--loss)`. The strip and the
prompt have dark shades of their own; the other components keep one shade for both themes.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple


class Shade(NamedTuple):
    """A colour in both themes."""

    light: str
    dark: str


def _both_themes(colour: str) -> Shade:
    return Shade(colour, colour)


PALETTE: Final[Mapping[str, Shade]] = {
    # What Streamlit's theme gives, where a component stands without it.
    "paper": _both_themes("#fff"),
    "ink": _both_themes("#1c2130"),
    "plain-accent": _both_themes("#4457c4"),
    # Fields, and what went wrong in them.
    "reasoning": Shade("#7a4fbf", "#b79bf2"),
    "content": Shade("#00805e", "#45c49d"),
    "tool": Shade("#0b6fb8", "#66b3f0"),
    "preamble": Shade("#8a6100", "#d6ab52"),
    "other": Shade("#566072", "#9aa5b8"),
    "loss": Shade("#c4410c", "#f0824f"),
    "loss-text": Shade("#a63508", "#ff9e74"),
    "warn": Shade("#8a6100", "#d6ab52"),
    "found": _both_themes("#e0b400"),
    "on-hue": Shade("#fff", "#10141c"),
    # A server, as a bar between what it got and what it sent.
    "bar": Shade("#2b3449", "#39445e"),
    "bar-text": _both_themes("#f2f4f8"),
    # Differences of two texts, on either ground.
    "text-lost": _both_themes("#d2541c"),
    "text-found": _both_themes("#0d9a72"),
    # Verdicts, on either ground.
    "level-unknown": _both_themes("#8a93a5"),
    "level-error": _both_themes("#cf4a14"),
    "level-warning": _both_themes("#b58105"),
    "level-clean": _both_themes("#12926c"),
    "on-level": _both_themes("#fff"),
    # Plots only.
    "right-side": Shade("#8a6100", "#d3a544"),
    # Cells of the matrix: text and ground.
    "complete-text": Shade("#00664B", "#6FD3B4"),
    "complete-ground": Shade("#E8F5F0", "#10241D"),
    "reported-text": Shade("#6E4E00", "#E8BE62"),
    "reported-ground": Shade("#FFF4D6", "#2A2310"),
    "silent-text": Shade("#A63508", "#FF9D7A"),
    "silent-ground": Shade("#FDE9E1", "#331810"),
}
"""Colours by meaning."""

_ROOTS: Final = (".hi", ".fields", ".banner", ".now", ".prompt", ".matrix", ".rows")
"""The outermost elements of the components."""
_THEMED: Final = (".hi", ".prompt", ".matrix")
"""The components with a `data-theme` attribute."""
_CHANNELS: Final = {
    "analysis": "reasoning",
    "reasoning": "reasoning",
    "final": "content",
    "content": "content",
    "commentary": "tool",
    "refused": "loss",
}
_SERIES: Final = ("loss", "reasoning", "tool", "right-side", "content", "other")


def stylesheet() -> str:
    """The palette as custom properties of every component, with dark shades where the theme is known."""
    light = "".join(f"--{name}:{colour.light};" for name, colour in PALETTE.items())
    dark = "".join(
        f"--{name}:{colour.dark};" for name, colour in PALETTE.items() if colour.dark != colour.light
    )
    themed = ",".join(f'{root}[data-theme="dark"]' for root in _THEMED)
    return f"{','.join(_ROOTS)}{{{light}}}\n{themed}{{{dark}}}\n"


def shade(name: str, theme: str) -> str:
    """A colour in a theme, `light` or `dark`."""
    colour = PALETTE[name]
    return colour.dark if theme == "dark" else colour.light


def channel_hue(channel: str, theme: str) -> str:
    """The hue of a channel, or of a field where no channel is known."""
    return shade(_CHANNELS.get(channel, "other"), theme)


def series(theme: str) -> tuple[str, ...]:
    """Hues of the series of a plot, in order."""
    return tuple(shade(name, theme) for name in _SERIES)
