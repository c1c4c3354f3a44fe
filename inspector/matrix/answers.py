"""What the matrix says of one server's releases on one endpoint, as values for `--json` and as lines."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from inspector.capture.capture import Endpoint
from inspector.capture.errors import LabError
from inspector.capture.formats import clip, listed
from inspector.matrix.headline import complete_since, matrix_headline, not_served, server_name
from inspector.matrix.results import (
    UNSTREAMED,
    MatrixRun,
    ScriptOutcome,
    every_run,
    unique_runs,
    version_key,
)
from inspector.matrix.scripts import load
from inspector.matrix.servers import SERVERS
from inspector.matrix.table import matrix_table, totals

STEPS: Final = ("1", "3", "ragged", UNSTREAMED)
FRONT_ENDS: Final = ("python", "rust", *SERVERS)
_RELEASE_AT_MOST: Final = 40


def matrix_answer(
    endpoint: Endpoint, *, release: str = "", steps: str = "3", server: str = "python"
) -> dict[str, Any]:
    """How the releases of a server deliver the scripts, newest first, and the first of them by class.

    `release` may be a minor one (0.24). Raises LabError, which says what was measured.
    """
    recorded = [
        run
        for run in reversed(unique_runs(every_run(), endpoint))
        if run.front_end == server and run.asks(endpoint)
    ]
    runs = [run for run in recorded if run.step == steps]
    if absent := not_served(server, endpoint):
        raise LabError(absent.rstrip("."))
    if not runs:
        others = listed(sorted({run.step for run in recorded})) or "other endpoints only"
        raise LabError(f"the matrix has no {server} on {endpoint} with steps {steps}; it has {others}")
    asked = version_key(release.partition("+")[0][:_RELEASE_AT_MOST])
    chosen = [
        run for run in runs if version_key(run.version)[: len(asked)] == asked and (asked or not release)
    ]
    if not chosen:
        raise LabError(_unmeasured(release, asked, runs))
    scripts = load()
    table = matrix_table(chosen, scripts, endpoint)
    headline = matrix_headline(table, chosen)
    of_all = {group.script_class: group.rows for group in matrix_table(runs, scripts, endpoint)}
    return {
        "server": server_name(runs[0]),
        "endpoint": str(endpoint),
        "steps": steps,
        "sentence": headline.sentence,
        "beside": "" if release else headline.beside,
        "releases": [
            {"release": run.version, "engine": run.engine, **_counts(counter)}
            for run, counter in zip(
                chosen, totals([row for group in table for row in group.rows]), strict=True
            )
        ],
        "classes": [
            {
                "class": group.script_class.words,
                "release": chosen[0].version,
                **_counts(totals(group.rows)[0]),
                "complete_since": complete_since(of_all[group.script_class], runs),
            }
            for group in table
        ],
    }


def matrix_lines(answer: Mapping[str, Any]) -> Iterator[str]:
    """The same as lines of a terminal."""
    yield answer["sentence"]
    if answer["beside"]:
        yield answer["beside"]
    counted = f"{'complete':>10}{'error reported':>16}{'silent loss':>13}"
    yield f"  {answer['releases'][0]['release']:<18}{counted}   complete since"
    for row in answer["classes"]:
        yield f"  {row['class']:<18}{_cells(row)}   {row['complete_since'] or '-'}"
    if len(answer["releases"]) > 1:
        yield f"  {'release':<18}{counted}"
        yield from (f"  {row['release']:<18}{_cells(row)}" for row in answer["releases"])


def _counts(counter: Counter[ScriptOutcome]) -> dict[str, int]:
    return {"scripts": counter.total(), **{str(outcome): counter[outcome] for outcome in ScriptOutcome}}


def _cells(row: Mapping[str, Any]) -> str:
    return f"{row['whole']:>10}{row['told']:>16}{row['silent']:>13}"


def _unmeasured(release: str, asked: list[int], runs: list[MatrixRun]) -> str:
    measured = [run.version for run in reversed(runs)]
    older = [version for version in measured if version_key(version) < asked]
    near = f"; the nearest older one is {older[-1]}" if older else ""
    name = f"{server_name(runs[0])} {clip(release, _RELEASE_AT_MOST)}"
    return f"the matrix has no {name}{near}; it has {listed(measured)}"
