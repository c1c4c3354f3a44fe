"""The plots of a probe: damaged responses by load with their intervals, and percentiles of times."""

from collections import Counter
from collections.abc import Sequence

import plotly.graph_objects as go

from inspector.fleet.probe import ProbeRow, ProbeSummary, RequestGroup, Result
from inspector.fleet.probe.reporting import time_name
from pages.ui.palette import channel_hue, shade

RESULT_WORDS = {
    Result.DAMAGED: "silently damaged",
    Result.FAILED: "failed",
    Result.UNKNOWN: "unknown",
    Result.OK: "ok",
}
_MARKS = {"p50": "circle", "p90": "diamond", "p99": "triangle-up"}


_BINS = 24
_SHADES = {
    Result.DAMAGED: "level-error",
    Result.FAILED: "level-warning",
    Result.UNKNOWN: "level-unknown",
    Result.OK: "level-clean",
}


def over_time(rows: Sequence[ProbeRow], theme: str) -> go.Figure:
    """The requests of each span of time by result, the damaged ones at the ground."""
    last = max((row.started_s for row in rows), default=0.0)
    span = last / _BINS or 1.0
    places = [min(_BINS - 1, int(row.started_s / span)) for row in rows]
    figure = go.Figure()
    for result, shade_name in _SHADES.items():
        amounts = Counter(place for place, row in zip(places, rows, strict=True) if row.result is result)
        if amounts:
            figure.add_bar(
                x=[(place + 0.5) * span for place in range(_BINS)],
                y=[amounts[place] for place in range(_BINS)],
                name=RESULT_WORDS[result],
                marker={"color": shade(shade_name, theme)},
                hovertemplate="%{y}",
            )
    figure.update_layout(barmode="stack", bargap=0.08, hovermode="x unified")
    figure.update_xaxes(title_text="seconds", rangemode="tozero")
    figure.update_yaxes(title_text="requests", rangemode="tozero")
    return _framed(figure)


def losses(groups: Sequence[RequestGroup], title: str, theme: str) -> go.Figure | None:
    """The share of damaged responses of each group with its interval; None for fewer than two groups."""
    groups = [group for group in groups if group.loss.of]
    if len(groups) < 2:
        return None
    shares = [100 * (group.loss.share or 0.0) for group in groups]
    figure = go.Figure()
    figure.add_scatter(
        x=[group.label for group in groups],
        y=shares,
        mode="markers",
        marker={"color": shade("loss", theme), "size": 9},
        error_y={
            "type": "data",
            "symmetric": False,
            "array": [100 * group.loss.high - share for group, share in zip(groups, shares, strict=True)],
            "arrayminus": [share - 100 * group.loss.low for group, share in zip(groups, shares, strict=True)],
            "thickness": 1.5,
            "width": 6,
        },
        text=[f"{group.damaged:,} of {group.loss.of:,}" for group in groups],
        hovertemplate="%{text}<br>%{y:.2f}%<extra></extra>",
    )
    figure.update_xaxes(title_text=title, type="category")
    figure.update_yaxes(title_text="damaged, %", rangemode="tozero")
    return _framed(figure)


def times(summary: ProbeSummary, theme: str) -> go.Figure | None:
    """Percentiles on a logarithmic axis, a line for each time; None without any."""
    rows = [row for row in summary.times if row.p50 is not None][::-1]
    if not rows:
        return None
    names = [time_name(row) for row in rows]
    figure = go.Figure()
    for name, mark in _MARKS.items():
        values = [getattr(row, name) for row in rows]
        places = [place for place, value in enumerate(values) if value is not None]
        figure.add_scatter(
            x=[1000 * values[place] for place in places],
            y=[_plain(names[place]) for place in places],
            name=name,
            mode="markers",
            marker={
                "symbol": mark,
                "size": 10,
                "color": [channel_hue(rows[place].name, theme) for place in places],
            },
            hovertemplate="%{x:,.1f} ms",
        )
    figure.update_xaxes(title_text="ms", type="log")
    return _framed(figure)


def _plain(channel: str) -> str:
    """A channel without characters that Plotly would read as tags; a channel may be any text."""
    return "".join(char for char in channel if char.isalnum() or char in "-_ [](),.")[:32]


def _framed(figure: go.Figure) -> go.Figure:
    figure.update_layout(
        height=300,
        margin={"l": 8, "r": 8, "t": 24, "b": 8},
        legend={"orientation": "h", "y": 1.12, "x": 0},
    )
    return figure
