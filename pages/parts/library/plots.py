"""The plot of the Library page: captures of each group, by verdict."""

from collections.abc import Sequence
from typing import Final

import plotly.graph_objects as go

from inspector import dashboard
from inspector.dashboard import LibraryGroup
from pages.ui.palette import shade

_LEVELS: Final = ("error", "warning", "unknown", "clean")
_STANDING: Final = 40
_LYING: Final = 14
"""Bars that are drawn, standing and lying."""
_SHORT: Final = 12
_LABEL: Final = 32
"""Characters of a name below a bar that stands, and of any name."""
_PATTERNS: Final = {"error": "/", "warning": ".", "unknown": "x", "clean": ""}
"""Readable without colour."""


def verdicts(by: str, groups: Sequence[LibraryGroup], theme: str) -> go.Figure | None:
    """Stacked bars, a bar for each of the first groups; None where there is nothing to compare.

    Bars lie where the names of the groups are too long to be read below bars that stand.
    """
    shown = [group for group in groups if group.counts.captures][:_STANDING]
    if len(shown) < 2:
        return None
    names = _labels([dashboard.value_words(group.value, by) for group in shown])
    lying = max(map(len, names)) > _SHORT
    if lying:
        names, shown = names[:_LYING], shown[:_LYING]
    figure = go.Figure()
    for level in _LEVELS:
        amounts = [getattr(group.counts, level) for group in shown]
        if any(amounts):
            figure.add_bar(
                x=amounts if lying else names,
                y=names if lying else amounts,
                orientation="h" if lying else "v",
                name=level,
                marker={
                    "color": shade(f"level-{level}", theme),
                    "pattern": {"shape": _PATTERNS[level], "solidity": 0.2, "fillmode": "overlay"},
                },
                hovertemplate=f"%{{{'x' if lying else 'y'}:,}} {level}",
            )
    figure.update_layout(
        barmode="stack",
        height=340 if lying else 300,
        margin={"l": 8, "r": 8, "t": 24, "b": 8},
        legend={"orientation": "h", "y": 1.12, "x": 0, "traceorder": "normal"},
        hovermode="y unified" if lying else "x unified",
    )
    groups_axis, amounts_axis = (figure.layout.yaxis, figure.layout.xaxis)[:: 1 if lying else -1]
    groups_axis.update(title_text=dashboard.column_words(by), type="category")
    amounts_axis.update(title_text="captures", rangemode="tozero", tickformat=",~f")
    if lying:
        groups_axis.update(autorange="reversed", automargin=True, title_text="")
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
