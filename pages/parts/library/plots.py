"""The plot of the Library page: the share of each verdict in each group."""

from collections.abc import Sequence
from typing import Final

import plotly.graph_objects as go

from inspector.data.scan import Group as LibraryGroup
from inspector.data.scan import column_words, value_words
from pages.ui.palette import shade

_LEVELS: Final = ("error", "warning", "unknown", "clean")
_VERTICAL: Final = 40
_HORIZONTAL: Final = 14
"""Bars that are drawn, vertical and horizontal."""
_SHORT: Final = 12
_LABEL: Final = 32
"""Characters of a name below a vertical bar, and of any name."""
_PATTERNS: Final = {"error": "/", "warning": ".", "unknown": "x", "clean": ""}
"""Readable without colour."""


def verdicts(by: str, groups: Sequence[LibraryGroup], theme: str) -> go.Figure:
    """Stacked shares, a bar for each of the first groups that have captures.

    A group with few captures counts as much as one with many, so the words of a bar give both numbers.
    Bars are horizontal where the names of the groups are too long for vertical ones.
    """
    plotted = [group for group in groups if group.counts.captures][:_VERTICAL]
    names = _labels([value_words(group.value, by) for group in plotted])
    horizontal = max(map(len, names)) > _SHORT
    if horizontal:
        names, plotted = names[:_HORIZONTAL], plotted[:_HORIZONTAL]
    figure = go.Figure()
    for level in _LEVELS:
        amounts = [getattr(group.counts, level) for group in plotted]
        shares = [amount / group.counts.captures for amount, group in zip(amounts, plotted, strict=True)]
        if any(amounts):
            figure.add_bar(
                x=shares if horizontal else names,
                y=names if horizontal else shares,
                customdata=[
                    f"{amount:,} of {group.counts.captures:,}"
                    for amount, group in zip(amounts, plotted, strict=True)
                ],
                orientation="h" if horizontal else "v",
                name=level,
                marker={
                    "color": shade(f"level-{level}", theme),
                    "pattern": {"shape": _PATTERNS[level], "solidity": 0.2, "fillmode": "overlay"},
                },
                hovertemplate=f"%{{customdata}} {level}",
            )
    figure.update_layout(
        barmode="stack",
        clickmode="event+select",
        dragmode=False,
        height=340 if horizontal else 300,
        margin={"l": 8, "r": 8, "t": 24, "b": 8},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "traceorder": "normal"},
        hovermode="y unified" if horizontal else "x unified",
    )
    groups_axis, shares_axis = (figure.layout.yaxis, figure.layout.xaxis)[:: 1 if horizontal else -1]
    groups_axis.update(title_text=column_words(by), type="category")
    shares_axis.update(title_text="share of captures", range=[0, 1], tickformat=".0%")
    if horizontal:
        groups_axis.update(autorange="reversed", automargin=True, title_text="")
    return figure


def _labels(values: Sequence[str]) -> list[str]:
    """Distinct labels for Plotly, which would merge bars with equal labels."""
    labels: dict[str, None] = {}
    for value in values:
        label, number = _plain(value), 1
        while (unique := label if number == 1 else f"{label} ({number})") in labels:
            number += 1
        labels[unique] = None
    return list(labels)


def _plain(value: str) -> str:
    """A value without HTML, which Plotly would interpret: the name of a model may be any text."""
    plain = "".join(char for char in value if char.isprintable() and char not in "<>&")
    half = _LABEL // 2
    return (plain if len(plain) <= _LABEL else f"{plain[:half]}…{plain[-half:]}") or "?"
