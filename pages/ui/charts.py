"""Plots of a reading: tokens over time by channel, and the waits between events."""

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Final

import plotly.graph_objects as go
import streamlit as st
from plotly.subplots import make_subplots

from inspector import Inspection, Reading
from inspector.analysis.audit.kinds import kind_label
from inspector.analysis.reading import ChoiceReading
from pages.ui.palette import channel_hue, shade

_POINTS_AT_MOST: Final = 1500
_FINDINGS_AT_MOST: Final = 400
_BOUNDARIES_AT_MOST: Final = 120
_NAMED_AT_MOST: Final = 8
_ALIKE: Final = {"reasoning": "analysis", "content": "final"}
_SIDES: Final = ("tool", "right-side")
_LINES: Final = ("solid", "dash")
_MARKS: Final = ("circle", "diamond-open")
_DASHES: Final = {"analysis": "solid", "final": "dash", "commentary": "dot"}


def draw_timeline(digest: str, choice: int, inspection: Inspection, *, key: str) -> None:
    """Draw the timeline in the current theme, or say that the capture has no times."""
    figure = timeline(digest, choice, "dark" if st.context.theme.type == "dark" else "light", inspection)
    if figure is None:
        st.info("This capture has no arrival times, so there is nothing to plot.")
    else:
        st.plotly_chart(figure, key=key, alt="Tokens over time by channel, and the gaps between events")


@st.cache_resource(max_entries=16, show_spinner=False)
def timeline(digest: str, choice: int, theme: str, _inspection: Inspection) -> go.Figure | None:
    """Tokens over time by channel, above the gap before each event; None for a capture without times."""
    del digest
    choice_reading = _inspection.reading.choices[choice]
    series = _series(_inspection.reading, choice_reading)
    last = max((times[-1] for times in series.values()), default=None)
    if last is None:
        return None
    unit, scale = ("ms", 1000.0) if last < 10 else ("s", 1.0)
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, row_heights=[0.7, 0.3], vertical_spacing=0.06)
    for name, times in series.items():
        _staircase(figure, name, [at * scale for at in times], last * scale, theme)
    if choice_reading.has_ids:
        _boundaries(figure, _inspection.reading, choice_reading, scale)
    _findings(figure, _inspection, choice_reading, last=last, scale=scale, theme=theme)
    moments = sorted({at for times in series.values() for at in times})
    _waits(figure, moments, scale, theme)
    figure.update_yaxes(
        title_text="tokens" if choice_reading.has_ids else "deltas", rangemode="tozero", row=1, col=1
    )
    figure.update_yaxes(title_text="gap, ms", rangemode="tozero", row=2, col=1)
    figure.update_xaxes(title_text=f"time since the request, {unit}", rangemode="tozero", row=2, col=1)
    figure.update_layout(
        height=420,
        margin={"l": 8, "r": 8, "t": 40, "b": 8},
        legend={"orientation": "h", "y": 1.16, "x": 0},
        hovermode="x unified",
    )
    return figure


def _findings(
    figure: go.Figure, inspection: Inspection, choice: ChoiceReading, *, last: float, scale: float, theme: str
) -> None:
    """A mark at the arrival of the first token or event of each finding."""
    places: dict[float, list[str]] = {}
    for finding in inspection.findings:
        event = finding.event_start
        if finding.token_start is not None and finding.token_start < len(choice.tokens.events):
            event = choice.tokens.events[finding.token_start]
        at = None if finding.choice != choice.index or event is None else inspection.reading.arrival_s(event)
        if at is not None:
            token = "" if finding.token_start is None else f", token {finding.token_start:,}"
            words = f"{kind_label(finding.kind)}{token}"
            places.setdefault(min(at, last) * scale, []).append(words)
    marks = sorted(places.items())[:_FINDINGS_AT_MOST]
    if marks:
        figure.add_scatter(
            x=[at for at, _ in marks],
            y=[0] * len(marks),
            name="findings",
            mode="markers",
            marker={"symbol": "triangle-up", "size": 11, "color": shade("loss", theme)},
            text=["<br>".join(words[:_NAMED_AT_MOST]) for _, words in marks],
            hovertemplate="%{text}",
            cliponaxis=False,
            row=1,
            col=1,
        )


def _series(reading: Reading, choice: ChoiceReading) -> dict[str, list[float]]:
    """Arrivals by channel, or by field where no token is known; empty when an arrival is unknown."""
    if choice.has_ids:
        events = {
            channel: [choice.tokens.events[at] for at in places]
            for channel, places in _channels(choice).items()
        }
    else:
        events = {}
        for delta in choice.deltas:
            events.setdefault(delta.field, []).append(delta.event)
    series: dict[str, list[float]] = {}
    for name, numbers in events.items():
        times = [at for number in numbers if (at := reading.arrival_s(number)) is not None]
        if len(times) != len(numbers):
            return {}
        series[name] = times
    return series


def _channels(choice: ChoiceReading) -> dict[str, list[int]]:
    """Tokens of each channel's bodies, in order; `framing` and `refused` hold the others."""
    by_channel: dict[str, list[int]] = {}
    framing: list[int] = []
    at = 0
    spans = [
        *((m.body, m.body_end, m.header.channel or "none") for m in choice.transcript.messages if m.in_body),
        *(
            (rejected_run.start, rejected_run.end, "refused")
            for rejected_run in choice.transcript.rejected_runs
        ),
    ]
    for start, end, channel in sorted(spans):
        framing.extend(range(at, start))
        by_channel.setdefault(channel, []).extend(range(start, end))
        at = end
    framing.extend(range(at, len(choice.tokens)))
    return {channel: places for channel, places in {**by_channel, "framing": framing}.items() if places}


def _staircase(figure: go.Figure, channel: str, times: list[float], last: float, theme: str) -> None:
    step = max(1, len(times) // _POINTS_AT_MOST)
    counts = [*range(1, len(times), step), len(times)]
    framing = channel == "framing"
    alike = _ALIKE.get(channel, channel)
    figure.add_scatter(
        x=[times[0], *(times[count - 1] for count in counts), last],
        y=[0, *counts, len(times)],
        name=_plain(channel),
        mode="lines",
        line={
            "shape": "hv",
            "width": 1 if framing else 2.2,
            "color": channel_hue(alike, theme),
            "dash": _DASHES.get(alike, "solid"),
        },
        opacity=0.6 if framing else 1,
        visible="legendonly" if framing else True,  # special tokens and headers would outnumber the text
        hovertemplate="%{y} tokens",
        row=1,
        col=1,
    )


def _boundaries(figure: go.Figure, reading: Reading, choice: ChoiceReading, scale: float) -> None:
    """A dotted line where a message begins; with its channel while there are few."""
    messages = [message for message in choice.transcript.messages if message.start < len(choice.tokens)]
    named = len(messages) <= _NAMED_AT_MOST
    for message in messages[:_BOUNDARIES_AT_MOST]:
        at = reading.arrival_s(choice.tokens.events[message.start])
        figure.add_vline(
            x=(at or 0.0) * scale,
            line={"width": 1, "color": "rgba(128,134,150,0.5)", "dash": "dot"},
            annotation={"text": _plain(message.header.channel or "header"), "font": {"size": 11}}
            if named
            else None,
            annotation_position="top right",
            row=1,
            col=1,
        )


def _plain(channel: str) -> str:
    """A channel or field without HTML, which Plotly would interpret; a channel may be any text."""
    return "".join(char for char in channel if char.isalnum() or char in "-_ []().")[:32]


def _waits(figure: go.Figure, moments: list[float], scale: float, theme: str) -> None:
    """The gap before each arrival; in a long stream the longest gap of each bin."""
    waits = [(later * scale, (later - earlier) * 1000) for earlier, later in pairwise([0.0, *moments])]
    step = max(1, len(waits) // _POINTS_AT_MOST)
    bins = (waits[start : start + step] for start in range(0, len(waits), step))
    longest = [max(bin_waits, key=lambda wait: wait[1]) for bin_waits in bins]
    figure.add_bar(
        x=[at for at, _ in longest],
        y=[wait for _, wait in longest],
        width=max(moments[-1] * scale / 300, 1e-6),
        name="wait",
        marker={"color": shade("other", theme)},
        hovertemplate="%{y:.1f} ms",
        showlegend=False,
        row=2,
        col=1,
    )


def both_over_time(sides: Sequence[tuple[str, Reading]], theme: str) -> go.Figure | None:
    """Two sides on one time axis: tokens, the gap before each event, tokens per event.

    None where neither side has times. Deltas take the place of tokens where none is known.
    """
    figure = make_subplots(
        rows=3, cols=1, shared_xaxes=True, row_heights=[0.5, 0.25, 0.25], vertical_spacing=0.05
    )
    for number, (name, reading) in enumerate(sides):
        arrivals = sorted(Counter(_arrivals(reading)).items())
        if not arrivals:
            continue
        hue, times = shade(_SIDES[number], theme), [at * 1000 for at, _ in arrivals]
        counts = [count for _, count in arrivals]
        totals = list(accumulate(counts))
        waits = [0.0, *(later - earlier for earlier, later in pairwise(times))]
        step = -(-len(times) // _POINTS_AT_MOST)
        shared = {"legendgroup": name, "name": name}
        figure.add_scatter(
            x=times[::step],
            y=totals[::step],
            line={"shape": "hv", "color": hue, "dash": _LINES[number]},
            row=1,
            col=1,
            **shared,
        )
        for row, values in ((2, waits), (3, counts)):
            figure.add_scatter(
                x=times[::step],
                y=values[::step],
                mode="markers",
                marker={"color": hue, "size": 6, "symbol": _MARKS[number]},
                showlegend=False,
                row=row,
                col=1,
                **shared,
            )
    if not figure.data:
        return None
    figure.update_yaxes(title_text="tokens", rangemode="tozero", row=1, col=1)
    figure.update_yaxes(title_text="gap, ms", rangemode="tozero", row=2, col=1)
    figure.update_yaxes(title_text="per event", rangemode="tozero", row=3, col=1)
    figure.update_xaxes(title_text="time since the request, ms", rangemode="tozero", row=3, col=1)
    figure.update_layout(
        height=480,
        margin={"l": 8, "r": 8, "t": 40, "b": 8},
        legend={"orientation": "h", "y": 1.1, "x": 0},
        hovermode="x unified",
    )
    return figure


def _arrivals(reading: Reading) -> list[float]:
    """Arrivals of the first choice's tokens; of its deltas where no token is known."""
    choice = reading.choice
    events = choice.tokens.events or [delta.event for delta in choice.deltas]
    return [at for event in events if (at := reading.arrival_s(event)) is not None]
