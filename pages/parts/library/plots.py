"""The plot of the Library page: captures of each group, by verdict."""

from collections.abc import Sequence
from typing import Final

import plotly.graph_objects as go

from inspector import dashboard
from inspector.dashboard import LibraryGroup
from pages.ui.palette import shade

__all__ = ["verdicts"]

_LEVELS: Final = ("error", "warning", "unknown", "clean")
_SHOWN: Final = 40
_PATTERNS: Final = {"error": "/", "warning": ".", "unknown": "x", "clean": ""}
"""Readable without colour."""


def verdicts(by: str, groups: Sequence[LibraryGroup], theme: str) -> go.Figure | None:
    """Stacked bars, a bar for each group; None where there is nothing to compare."""
    shown = [group for group in groups if group.counts.captures][:_SHOWN]
    if len(shown) < 2:
        return None
    names = [_plain(dashboard.value_words(group.value)) for group in shown]
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


def _plain(value: str) -> str:
    """A value as Plotly may show it: it reads tags in texts, and a model's name may be anything."""
    return "".join(char for char in value if char.isalnum() or char in "-_. /()[],:")[:40] or "?"
