"""The conformance matrix on a page: a grid of releases by scripts, and the details of one cell."""

from collections.abc import Sequence
from typing import Final

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler

from inspector import Capture, Endpoint, dashboard
from inspector.dashboard import MatrixRun, Outcome, Script
from pages.ui import pickers, state
from pages.ui.palette import shade

__all__ = ["Cell", "choice", "comparing", "details", "frame", "grid", "headline", "legend", "picked"]

SHAPES: Final = {Outcome.WHOLE: "●", Outcome.TOLD: "▲", Outcome.SILENT: "✕"}
"""Readable without colour: a disc, a triangle, a cross; the words are next to them."""

WORDS: Final = {
    Outcome.WHOLE: "everything was delivered in its field",
    Outcome.TOLD: "the client could see the failure",
    Outcome.SILENT: "text was lost, changed or misfiled without any error",
}


ENDPOINTS: Final = (Endpoint.CHAT, Endpoint.RESPONSES, Endpoint.COMPLETIONS)

NOT_RECORDED: Final = "– not recorded"

Cell = tuple[str, str]
"""A script's name and a release."""


def choice(runs: Sequence[MatrixRun]) -> tuple[Endpoint, int]:
    """Pickers of endpoint and stream interval; kept in the URL."""
    # Set here and not by the widgets' own binding, which prevents leaving the page by a button.
    kept = st.query_params
    endpoint = _pick("Endpoint", [one.value for one in ENDPOINTS], kept.get("endpoint"), first=0)
    steps = [str(step) for step in sorted({run.stream_interval for run in runs})]
    interval = _pick("Tokens per step", steps, kept.get("interval"), first=-1)
    kept.update({"endpoint": endpoint, "interval": interval})
    return Endpoint(endpoint), int(interval)


def _pick(label: str, options: list[str], kept: str | None, *, first: int) -> str:
    default = kept if kept in options else options[first]
    chosen: str = st.segmented_control(label, options, default=default, required=True, key=f"matrix {label}")
    return chosen


def frame(
    runs: Sequence[MatrixRun],
    scripts: Sequence[Script],
    endpoint: Endpoint,
    *,
    words: str = "",
    only_differing: bool = False,
) -> pd.DataFrame:
    """Scripts down, releases across; a cell is a shape and its word."""
    rows: dict[str, list[str]] = {}
    for script in scripts:
        if (
            endpoint not in script.endpoints
            or words.casefold() not in f"{script.name} {script.sentence}".casefold()
        ):
            continue
        cells = [_cell(run, endpoint, script.name) for run in runs]
        if not only_differing or len(set(cells)) > 1:
            rows[script.name] = cells
    return pd.DataFrame.from_dict(rows, orient="index", columns=[run.version for run in runs]).rename_axis(
        "script"
    )


def headline(runs: Sequence[MatrixRun], scripts: Sequence[Script], endpoint: Endpoint) -> str:
    """What the matrix says about one endpoint: the release that delivers most, and what it hides."""
    well_formed = {script.name for script in scripts if script.well_formed}
    counted = [
        (run, [(key[1], score.outcome) for key, score in run.scores.items() if key[0] is endpoint])
        for run in runs
    ]
    counted = [(run, outcomes) for run, outcomes in counted if outcomes]
    if not counted:
        return "Nothing was recorded for this selection."
    # Newest first, so that it wins among equals.
    best, outcomes = max(
        reversed(counted), key=lambda one: sum(outcome is Outcome.WHOLE for _, outcome in one[1])
    )
    if all(outcome is Outcome.WHOLE for _, outcome in outcomes):
        return f"vLLM {best.version} delivers all {len(outcomes)} streams completely."
    fine = [outcome for name, outcome in outcomes if name in well_formed]
    broken = [outcome for name, outcome in outcomes if name not in well_formed]
    return (
        f"vLLM {best.version} has the best result: it delivers {fine.count(Outcome.WHOLE)} of {len(fine)} "
        "well-formed streams completely. "
        f"It silently loses text of {broken.count(Outcome.SILENT)} of the {len(broken)} malformed streams."
    )


def legend() -> str:
    """The three shapes and what they mean."""
    return " · ".join(f"{SHAPES[outcome]} {outcome.words}: {words}" for outcome, words in WORDS.items())


def grid(table: pd.DataFrame) -> Cell | None:
    """Draw the grid; returns the selected cell."""
    dark = st.context.theme.type == "dark"
    chosen = st.dataframe(
        _coloured(table, "dark" if dark else "light"),
        key="matrix_grid",
        on_select="rerun",
        selection_mode="single-cell",
        height=min(38 + 35 * len(table), 720),
        alt="One row per script, one column per vLLM release: complete, error reported or silent loss.",
    )
    # The selection keeps row numbers of an earlier table when the choice above changes.
    cells = [(row, column) for row, column in chosen["selection"]["cells"] if row < len(table)]
    return picked(table, *cells[0]) if cells else None


def picked(table: pd.DataFrame, row: int, column: str) -> Cell | None:
    """The script and release of a cell; None outside the releases."""
    return (str(table.index[row]), column) if column in table.columns else None


def details(run: MatrixRun, endpoint: Endpoint, script: Script) -> None:
    """What one release did with one script, and the way to its capture."""
    score = run.scores.get((endpoint, script.name))
    st.subheader(f"{script.name} on vLLM {run.version}", anchor=False)
    st.text(script.sentence)
    if score is None:
        st.text("Not recorded.")
        return
    st.text(f"{SHAPES[score.outcome]} {score.outcome.words}: {WORDS[score.outcome]}")
    for difference in score.differences:
        st.code(difference, language=None, wrap_lines=True)
    if score.kinds:
        st.caption(f"Findings: {', '.join(score.kinds)}")
    capture = dashboard.matrix_capture(run, endpoint, script.name)
    if capture is None:
        st.caption("Its capture was not stored.")
        return
    if st.button("Open in Replay", icon=":material/play_circle:", type="primary"):
        state.current().open([_opened(run, endpoint, script, capture)])
        st.switch_page("replay.py")


def comparing(run: MatrixRun, others: Sequence[MatrixRun], endpoint: Endpoint, script: Script) -> None:
    """The way from a cell to the Compare page, with another release's capture of the same script."""
    left = dashboard.matrix_capture(run, endpoint, script.name)
    releases = {one.version: one for one in others if one.version != run.version}
    if left is None or not releases:
        return
    version = st.selectbox(
        "Compare with",
        list(releases),
        index=None,
        format_func=lambda version: f"vLLM {version}: {_cell(releases[version], endpoint, script.name)}",
        placeholder="another release",
        key=f"matrix_compare_{endpoint.value}_{script.name}_{run.version}",
    )
    if version is None:
        return
    right = dashboard.matrix_capture(releases[version], endpoint, script.name)
    if right is None:
        st.caption("Its capture was not stored.")
        return
    sides = _opened(run, endpoint, script, left), _opened(releases[version], endpoint, script, right)
    state.current().open(sides)
    pickers.compare(*(one.name for one in sides))


def _opened(run: MatrixRun, endpoint: Endpoint, script: Script, capture: Capture) -> state.Opened:
    name = f"{run.name}/{endpoint.value}-{script.name}"
    # Responses carries no token ids; of several turns the script is not the whole stream.
    vouched = endpoint is Endpoint.RESPONSES and len(script.turns) == 1
    return state.Opened(name=name, digest=f"matrix {name}", capture=capture, vouched=vouched)


def _cell(run: MatrixRun, endpoint: Endpoint, script: str) -> str:
    score = run.scores.get((endpoint, script))
    return f"{SHAPES[score.outcome]} {score.outcome.words}" if score else NOT_RECORDED


def _coloured(table: pd.DataFrame, theme: str) -> Styler:
    outcomes = {one.words: one for one in Outcome}

    def css(cell: object) -> str:
        name = outcomes.get(str(cell).partition(" ")[2])
        if name is None:
            return ""
        return f"color: {shade(f'{name}-text', theme)}; background-color: {shade(f'{name}-ground', theme)}"

    return table.style.map(css)
