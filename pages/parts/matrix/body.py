"""The conformance matrix on a page: a grid of releases by scripts, and what stands behind one cell."""

from collections.abc import Sequence
from typing import Final

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler

from inspector import Capture, Endpoint, dashboard
from inspector.dashboard import MatrixRun, Outcome, Script
from pages.ui import state
from pages.ui.palette import shade

__all__ = ["Cell", "choice", "details", "frame", "grid", "headline", "legend", "picked"]

SHAPES: Final = {Outcome.WHOLE: "●", Outcome.TOLD: "▲", Outcome.SILENT: "✕"}
"""Readable without colour: a disc, a triangle, a cross; the word stands beside them."""

WORDS: Final = {
    Outcome.WHOLE: "delivered whole",
    Outcome.TOLD: "the client was told that it failed",
    Outcome.SILENT: "lost, changed or misfiled, and nothing said so",
}


ENDPOINTS: Final = (Endpoint.CHAT, Endpoint.RESPONSES, Endpoint.COMPLETIONS)

NOT_RECORDED: Final = "– not recorded"

Cell = tuple[str, str]
"""A script's name and a release."""


def choice(runs: Sequence[MatrixRun]) -> tuple[Endpoint, int]:
    """Pickers of endpoint and stream interval; the address bar keeps them."""
    # By hand, not by the widgets' own binding: that one forbids to leave the page by a button.
    kept = st.query_params
    endpoint = _pick("Endpoint", [one.value for one in ENDPOINTS], kept.get("endpoint"), first=0)
    steps = [str(step) for step in sorted({run.stream_interval for run in runs})]
    interval = _pick("Tokens a step", steps, kept.get("interval"), first=-1)
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
        return "Nothing was recorded for this choice."
    # Newest first, so that it wins among equals.
    best, outcomes = max(
        reversed(counted), key=lambda one: sum(outcome is Outcome.WHOLE for _, outcome in one[1])
    )
    if all(outcome is Outcome.WHOLE for _, outcome in outcomes):
        return f"vLLM {best.version} delivers all {len(outcomes)} streams whole."
    fine = [outcome for name, outcome in outcomes if name in well_formed]
    broken = [outcome for name, outcome in outcomes if name not in well_formed]
    return (
        f"vLLM {best.version} delivers most: {fine.count(Outcome.WHOLE)} of {len(fine)} "
        "well-formed streams whole. "
        f"Of {len(broken)} malformed ones it damages {broken.count(Outcome.SILENT)} without a word."
    )


def legend() -> str:
    """The three shapes and what they mean."""
    return " · ".join(f"{SHAPES[outcome]} {outcome.value}: {words}" for outcome, words in WORDS.items())


def grid(table: pd.DataFrame) -> Cell | None:
    """Draw the grid; the chosen cell."""
    dark = st.context.theme.type == "dark"
    chosen = st.dataframe(
        _coloured(table, "dark" if dark else "light"),
        key="matrix_grid",
        on_select="rerun",
        selection_mode="single-cell",
        height=min(38 + 35 * len(table), 720),
        alt="Scripts down, vLLM releases across; each cell says whole, told or silent.",
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
        st.text("This was not recorded.")
        return
    st.text(f"{SHAPES[score.outcome]} {score.outcome.value}: {WORDS[score.outcome]}")
    for difference in score.differences:
        st.code(difference, language=None, wrap_lines=True)
    if score.kinds:
        st.caption(f"Findings: {', '.join(score.kinds)}")
    capture = dashboard.matrix_capture(run, endpoint, script.name)
    if capture is None:
        st.caption("Its capture was not kept.")
    elif st.button("Open in Replay", icon=":material/play_circle:", type="primary"):
        # Responses carries no token ids; of several turns the script is not the whole stream.
        vouched = endpoint is Endpoint.RESPONSES and len(script.turns) == 1
        _open(f"{run.name}/{endpoint.value}-{script.name}", capture, vouched=vouched)


def _open(name: str, capture: Capture, *, vouched: bool) -> None:
    opened = state.Opened(name=name, digest=f"matrix {name}", capture=capture, vouched=vouched)
    state.current().open([opened])
    st.switch_page("replay.py")


def _cell(run: MatrixRun, endpoint: Endpoint, script: str) -> str:
    score = run.scores.get((endpoint, script))
    return f"{SHAPES[score.outcome]} {score.outcome.value}" if score else NOT_RECORDED


def _coloured(table: pd.DataFrame, theme: str) -> Styler:
    outcomes = [str(one) for one in Outcome]

    def css(cell: object) -> str:
        word = str(cell).partition(" ")[2]
        if word not in outcomes:
            return ""
        return f"color: {shade(f'{word}-text', theme)}; background-color: {shade(f'{word}-ground', theme)}"

    return table.style.map(css)
