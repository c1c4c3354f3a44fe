"""The matrix as one shareable HTML page without scripts or links.

Everything that came from a server or a script file is escaped.
"""

from collections.abc import Sequence
from html import escape
from typing import Final

from inspector.capture.capture import Endpoint
from inspector.lab.results import STAND_IN, Run
from inspector.lab.score import Outcome, Score
from inspector.lab.scripts import Script

SHAPES: Final = {Outcome.WHOLE: "●", Outcome.TOLD: "▲", Outcome.SILENT: "✕"}
"""Readable without colour: a disc, a triangle, a cross."""

STYLE: Final = """
body{font:14px/1.45 system-ui,sans-serif;margin:2rem;color:#1c1c1c;background:#fff}
table{border-collapse:collapse;margin:1rem 0 2rem}
th,td{border:1px solid #ddd;padding:.2rem .5rem;text-align:left;vertical-align:top}
thead th{position:sticky;top:0;background:#f6f6f6}
td.whole{color:#00805E}td.told{color:#8A6100;background:#fff8e6}td.silent{color:#A63508;background:#fdeee8}
td.none{color:#888}td{text-align:center}th+td,tbody th{text-align:left}small{color:#555}
@media (prefers-color-scheme:dark){body{background:#121212;color:#e8e8e8}th,td{border-color:#333}
thead th{background:#1d1d1d}td.told{background:#2b2410;color:#e0b04a}
td.silent{background:#2e1710;color:#ff9a75}
td.whole{color:#4fc9a4}small{color:#aaa}}
"""


def page(runs: Sequence[Run], scripts: Sequence[Script]) -> str:
    """The whole page: one table per endpoint, releases and intervals as columns, scripts as rows."""
    endpoints = [one for one in Endpoint if any(key[0] is one for run in runs for key in run.scores)]
    tables = "".join(_table(endpoint, runs, scripts) for endpoint in endpoints)
    legend = ", ".join(
        f"{SHAPES[outcome]} {words}"
        for outcome, words in (
            (Outcome.WHOLE, "complete"),
            (Outcome.TOLD, "error reported to the client"),
            (Outcome.SILENT, "silent loss: text lost, changed or misfiled without an error"),
        )
    )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        "<title>Harmony conformance of vLLM releases</title>"
        f"<style>{STYLE}</style><h1>Harmony conformance of vLLM releases</h1>"
        "<p>Real vLLM servers emitted exactly the tokens of each script; "
        "a cell shows what the client received. "
        f"{legend}.</p>{tables}</html>\n"
    )


def _table(endpoint: Endpoint, runs: Sequence[Run], scripts: Sequence[Script]) -> str:
    head = "".join(
        f"<th>{escape(run.version)}<br><small>{escape(_condition(run))}</small></th>" for run in runs
    )
    rows = "".join(
        f'<tr><th scope="row">{escape(script.name)}<br><small>{escape(script.sentence)}</small></th>'
        + "".join(_cell(run.scores.get((endpoint, script.name))) for run in runs)
        + "</tr>"
        for script in scripts
        if any((endpoint, script.name) in run.scores for run in runs)
    )
    return (
        f"<h2>{escape(endpoint.value)}</h2><table><thead><tr><th>script</th>{head}</tr></thead>"
        f"<tbody>{rows}</tbody></table>"
    )


def _condition(run: Run) -> str:
    steps = run.step_words
    return steps if run.engine != STAND_IN else f"{steps}, {run.front_end}, stand-in engine"


def _cell(score: Score | None) -> str:
    if score is None:
        return '<td class="none" title="not recorded">–</td>'
    title = escape("; ".join((*score.differences, *score.kinds)) or "complete", quote=True)
    words = f"{SHAPES[score.outcome]}<br><small>{score.outcome.words}</small>"
    return f'<td class="{score.outcome.value}" title="{title}">{words}</td>'
