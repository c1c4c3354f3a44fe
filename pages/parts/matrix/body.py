"""The conformance matrix on a page: a grid of releases by scripts, and the details of one cell."""

from collections.abc import Mapping, Sequence
from typing import Final

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler

from inspector import Capture, Endpoint, dashboard
from inspector.dashboard import MatrixRun, Script, ScriptClass, ScriptOutcome
from pages.ui import captures, pickers, state
from pages.ui.palette import shade
from pages.ui.tables import table_height

SHAPES: Final = {ScriptOutcome.COMPLETE: "●", ScriptOutcome.REPORTED: "▲", ScriptOutcome.SILENT: "✕"}
"""Readable without colour: a disc, a triangle, a cross; the words are next to them."""

WORDS: Final = {
    ScriptOutcome.COMPLETE: "everything was delivered in its field",
    ScriptOutcome.REPORTED: "the client could see the failure",
    ScriptOutcome.SILENT: "text was lost, changed or misfiled without any error",
}


NOT_RECORDED: Final = "– not recorded"

_ENGINES: Final = {
    "cpu": "Measured with the release's own engine, on the CPU.",
    "gpu": "Measured with the release's own engine, on a GPU.",
    "stand-in": "Measured with the release's own front end on the lab's stand-in engine.",
}

Cell = tuple[str, str]
"""A script's name and the title of a column."""

_CHARACTER_PX: Final = 8
_INDEX_PX: Final = 200
"""The widest column of scripts: on a phone the releases need the room."""

_NARROW_FROM: Final = 9
"""From this many columns, a cell shows only its shape, so that more releases fit on a page."""


def frame(
    columns: Mapping[str, MatrixRun],
    scripts: Sequence[Script],
    endpoint: Endpoint,
    *,
    words: str = "",
    only_differing: bool = False,
    example_of: ScriptClass | None = None,
) -> pd.DataFrame:
    """Scripts down, releases across; a cell is a shape and its word."""
    rows: dict[str, list[str]] = {}
    for script in scripts:
        if (
            endpoint not in script.endpoints
            or example_of not in (None, script.example_of)
            or words.casefold() not in f"{script.name} {script.sentence}".casefold()
        ):
            continue
        cells = [_cell(run, endpoint, script.name) for run in columns.values()]
        if not only_differing or len(set(cells)) > 1:
            rows[script.name] = cells
    return pd.DataFrame.from_dict(rows, orient="index", columns=list(columns)).rename_axis("script")


def legend() -> str:
    """What a row is, and what the three shapes mean."""
    shapes = " · ".join(f"{SHAPES[outcome]} {outcome.words}: {words}" for outcome, words in WORDS.items())
    return f"Each row is a script: one sequence of tokens, given to every release. {shapes}"


def grid(table: pd.DataFrame) -> Cell | None:
    """Draw the grid; returns the selected cell."""
    dark = st.context.theme.type == "dark"
    styled = _coloured(table, "dark" if dark else "light")
    widths = None
    if len(table.columns) >= _NARROW_FROM:
        styled = styled.format(lambda cell: str(cell)[:1])
        widths = {name: st.column_config.TextColumn(width=_width(name)) for name in table.columns}
        widths["_index"] = st.column_config.TextColumn(
            width=min(max(map(_width, map(str, table.index))), _INDEX_PX)
        )
    chosen = st.dataframe(
        styled,
        key="matrix_grid",
        column_config=widths,
        on_select="rerun",
        selection_mode="single-cell",
        height=table_height(len(table), 720),
        alt="One row per script, one column per vLLM release: complete, error reported or silent loss.",
    )
    # The selection keeps row numbers of an earlier table when the choice above changes.
    cells = [(row, column) for row, column in chosen["selection"]["cells"] if row < len(table)]
    return picked(table, *cells[0]) if cells else None


def picked(table: pd.DataFrame, row: int, column: str) -> Cell | None:
    """The script and release of a cell; None outside the releases."""
    return (str(table.index[row]), column) if column in table.columns else None


def details(run: MatrixRun, endpoint: Endpoint, script: Script, runs: Sequence[MatrixRun]) -> None:
    """The outcome of a script on a release, with a button to its capture; `runs` are the whole matrix."""
    score = run.scores.get((endpoint, script.name))
    st.header(f"{script.name} on vLLM {dashboard.column_label(run)}", anchor=False)
    st.text(script.sentence)
    st.caption(_ENGINES[run.engine])
    if score is None:
        st.text("Not recorded.")
        return
    st.text(f"{SHAPES[score.outcome]} {score.outcome.words}: {WORDS[score.outcome]}")
    for difference in score.differences:
        st.code(difference, language=None, wrap_lines=True)
    twin = dashboard.twin_of(run, runs)
    twin_score = twin.scores.get((endpoint, script.name)) if twin is not None else None
    if twin_score is not None:
        what = "The same request, not streamed" if run.streamed else "The same request, streamed"
        st.text(f"{what}: {SHAPES[twin_score.outcome]} {twin_score.outcome.words}.")
    if score.kinds:
        st.caption(f"Findings: {', '.join(map(dashboard.kind_label, score.kinds))}")
    capture = dashboard.matrix_capture(run, endpoint, script.name)
    if capture is None:
        st.caption(dashboard.NO_CAPTURE.capitalize() + ".")
        return
    if st.button("Open in Replay", icon=":material/play_circle:", type="primary"):
        captures.take(state.current(), [_opened(run, endpoint, script, capture)])
        st.switch_page("replay.py")


def comparing(label: str, columns: Mapping[str, MatrixRun], endpoint: Endpoint, script: Script) -> None:
    """Offer another column's capture of the same script, and open both on the Compare page."""
    run = columns[label]
    left = dashboard.matrix_capture(run, endpoint, script.name)
    candidates = {name: column for name, column in columns.items() if name != label}
    if left is None or not candidates:
        return
    chosen = st.selectbox(
        "Compare with",
        list(candidates)[::-1],
        index=None,
        format_func=lambda name: f"vLLM {name}: {_cell(candidates[name], endpoint, script.name)}",
        placeholder="another release",
        key=f"matrix_compare_{endpoint.value}_{script.name}_{run.name}",
    )
    if chosen is None:
        return
    right = dashboard.matrix_capture(candidates[chosen], endpoint, script.name)
    if right is None:
        st.caption(dashboard.NO_CAPTURE.capitalize() + ".")
        return
    sides = _opened(run, endpoint, script, left), _opened(candidates[chosen], endpoint, script, right)
    state.current().open(sides)
    pickers.compare(*(opened.name for opened in sides))


def changes(columns: Mapping[str, MatrixRun], endpoint: Endpoint) -> None:
    """What changed from one release to another, as a sentence, with the scripts behind it."""
    names = list(columns)
    if len(names) < 2:
        return
    st.header("What changed", anchor=False)
    with st.container(horizontal=True, key="matrix_changes"):
        # The keys name the columns: another choice above has another default.
        key = f"{endpoint.value} {names[0]} {names[-1]} {len(names)}"
        first = _last_change(columns, endpoint)
        before = st.selectbox("From", names, index=first, key=f"matrix from {key}", width=120)
        after = st.selectbox("To", names, index=first + 1, key=f"matrix to {key}", width=120)
    shifts = dashboard.shifts(columns[before], columns[after], endpoint)
    st.text(dashboard.change_sentence(columns[before], columns[after], shifts))
    for shift in shifts:
        with st.expander(f"{'↑' if shift.better else '↓'} {shift}"):
            st.text(", ".join(shift.scripts))


def _last_change(columns: Mapping[str, MatrixRun], endpoint: Endpoint) -> int:
    """The place of the newest column after which an outcome changed; of the last but one where none did."""
    runs = list(columns.values())
    pairs = range(len(runs) - 2, -1, -1)
    changed = (place for place in pairs if dashboard.shifts(runs[place], runs[place + 1], endpoint))
    return next(changed, len(runs) - 2)


def _width(title: str) -> int:
    """Pixels of a column that shows shapes alone, by its title."""
    return 16 + _CHARACTER_PX * len(title)


def _opened(run: MatrixRun, endpoint: Endpoint, script: Script, capture: Capture) -> state.Opened:
    name = f"{run.name}/{endpoint.value}-{script.name}"
    # Responses carries no token ids; of several turns the script is not the whole stream.
    vouched = endpoint is Endpoint.RESPONSES and len(script.turns) == 1
    return state.Opened(name=name, digest=f"matrix {name}", capture=capture, vouched=vouched)


def _cell(run: MatrixRun, endpoint: Endpoint, script: str) -> str:
    score = run.scores.get((endpoint, script))
    return f"{SHAPES[score.outcome]} {score.outcome.words}" if score else NOT_RECORDED


def _coloured(table: pd.DataFrame, theme: str) -> Styler:
    outcomes = {outcome.words: outcome for outcome in ScriptOutcome}

    def css(cell: object) -> str:
        name = outcomes.get(str(cell).partition(" ")[2])
        if name is None:
            return ""
        return f"color: {shade(f'{name}-text', theme)}; background-color: {shade(f'{name}-ground', theme)}"

    return table.style.map(css)
