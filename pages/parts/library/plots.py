"""The plot of the Library page: captures of each group, by verdict."""

from collections.abc import Sequence
from typing import Final

import plotly.graph_objects as go

from inspector import dashboard
from inspector.dashboard import LibraryGroup
from pages.ui.palette import shade

__all__ = ["SHOWN", "verdicts"]

_LEVELS: Final = ("error", "warning", "unknown", "clean")
SHOWN: Final = 40
"""Groups that are drawn."""
_LABEL: Final = 28
_PATTERNS: Final = {"error": "/", "warning": ".", "unknown": "x", "clean": ""}
"""Readable without colour."""


def verdicts(by: str, groups: Sequence[LibraryGroup], theme: str) -> go.Figure | None:
    """Stacked bars, a bar for each group; None where there is nothing to compare."""
    shown = [group for group in groups if group.counts.captures][:SHOWN]
    if len(shown) < 2:
        return None
    names = _labels([dashboard.value_words(group.value) for group in shown])
    figure = go.Figure()
    for level in _LEVELS:
        amounts = [getattr(group.counts, level) for group in shown]
        if any(amounts):
            figure.add_bar(
                x=names,
                y=amounts,
                name=level,
                marker={
                    "color": shade(f"level-{level}", theme),
                    "pattern": {"shape": _PATTERNS[level], "solidity": 0.2, "fillmode": "overlay"},
                },
                hovertemplate="%{y:,} " + level,
            )
    figure.update_layout(
        barmode="stack",
        height=300,
        margin={"l": 8, "r": 8, "t": 24, "b": 8},
        legend={"orientation": "h", "y": 1.12, "x": 0, "traceorder": "normal"},
        hovermode="x unified",
    )
    figure.update_xaxes(title_text=dashboard.column_words(by), type="category")
    figure.update_yaxes(title_text="captures", rangemode="tozero")
    return figure


def _labels(values: Sequence[str]) -> list[str]:
    """Values as Plotly may show them, each another one: bars with one label would be one bar."""
    found: dict[str, None] = {}
    for value in values:
        label, number = _plain(value), 1
        while (told := label if number == 1 else f"{label} ({number})") in found:
            number += 1
        found[told] = None
    return list(found)


def _plain(value: str) -> str:
    """A value without what Plotly reads as tags and entities: a model's name may be anything."""
    plain = "".join(char for char in value if char.isprintable() and char not in "<>&")
    half = _LABEL // 2
    return (plain if len(plain) <= _LABEL else f"{plain[:half]}…{plain[-half:]}") or "?"
