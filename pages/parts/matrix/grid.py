"""The grid of the Matrix page: releases across, classes of scripts and their scripts down, with totals."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import streamlit as st

from inspector.matrix.results import MatrixRun, Receiver, ScriptOutcome
from inspector.matrix.table import ClassRows, ScriptRow
from inspector.matrix.table import totals as matrix_totals
from pages.ui.assets import sheet
from pages.ui.modules import loader

_LETTERS: Final = {
    ScriptOutcome.COMPLETE: "c",
    ScriptOutcome.REPORTED: "r",
    ScriptOutcome.SILENT: "s",
    None: "-",
}
"""Outcomes in a row's string, as grid.js reads them."""

_component = st.components.v2.component(
    "inspector_matrix",
    html='<div class="matrix"></div>',
    css=sheet("matrix/grid.css"),
    js=loader("parts/matrix/grid.js"),
)


def grid(
    columns: Mapping[str, MatrixRun],
    table: Sequence[ClassRows],
    *,
    server: str,
    beside: int,
    release: str | None,
    script: str | None,
    opened: Sequence[str],
    on_pick: Callable[[str, str], None],
    on_open: Callable[[Sequence[str]], None],
) -> None:
    """Draw the table, whose outcomes are those of `columns`, by title.

    They begin with the releases of a `server` and end with those of others, so many as `beside` says.
    `release` and `script` are selected, and the classes `opened` show their scripts. `on_pick` is called with
    the title of a column and the name of a script, of which one may be empty; `on_open` with the classes.
    """
    key = "matrix_grid"

    def picked() -> None:
        if isinstance(picked := st.session_state[key].get("picked"), list) and len(picked) == 2:
            on_pick(*map(str, picked))

    def opens() -> None:
        if isinstance(classes := st.session_state[key].get("opened"), list):
            on_open([str(name) for name in classes])

    every_row = [row for group in table for row in group.rows]
    _component(
        key=key,
        # In a list: Streamlit looks for data frames in an object, and imports pandas for that.
        data=[
            {
                "columns": list(columns),
                "server": server,
                "beside": beside,
                "release": release,
                "script": script,
                "opened": list(opened),
                "signs": _signs(next(iter(columns.values())).receiver),
                "totals": _totals(every_row),
                "groups": [
                    {
                        "name": group.script_class.value,
                        "words": group.script_class.words,
                        "totals": _totals(group.rows),
                        "rows": [
                            [
                                row.script.name,
                                row.script.sentence,
                                "".join(map(_letter, row.outcomes, row.replaced)),
                            ]
                            for row in group.rows
                        ],
                    }
                    for group in table
                ],
            }
        ],
        on_picked_change=picked,
        on_opened_change=opens,
    )


def _letter(outcome: ScriptOutcome | None, replaced: bool) -> str:
    return _LETTERS[outcome].upper() if replaced else _LETTERS[outcome]


def _signs(receiver: Receiver) -> dict[str, tuple[str, str, str]]:
    """By letter: outcome, sign and words; in upper case of tokens that are not the script's."""
    signs: dict[str, tuple[str, str, str]] = {}
    for outcome, letter in _LETTERS.items():
        if outcome:
            words = receiver.words(outcome)
            signs[letter] = (outcome.name.lower(), outcome.sign, words)
            words = f"{words}; the server's grammar chose other tokens than the script's"
            signs[letter.upper()] = (outcome.name.lower(), f"{outcome.sign}*", words)
    return signs


def _totals(rows: Sequence[ScriptRow]) -> list[list[int]]:
    """For each column the counts of complete streams, reported errors and silent losses."""
    return [[counts[outcome] for outcome in ScriptOutcome] for counts in matrix_totals(rows)]
