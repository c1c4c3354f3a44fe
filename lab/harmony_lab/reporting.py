"""The matrix and the scripts as rows for `--json` and as lines for the terminal."""

from collections.abc import Sequence
from typing import Any

from inspector.capture.capture import Endpoint
from inspector.matrix.changes import change_sentence, neighbours, shifts, twins
from inspector.matrix.results import MatrixRun, ScriptOutcome, unique_runs
from inspector.matrix.scripts import ENDPOINTS, Script


def score_rows(run: MatrixRun) -> list[dict[str, Any]]:
    """One row per cell of the matrix."""
    return [
        {
            "package": run.package,
            "version": run.version,
            "stream_interval": run.stream_interval,
            "steps": run.step,
            "front_end": run.front_end,
            "engine": run.engine,
            "endpoint": endpoint.value,
            "script": script,
            "outcome": score.outcome.value,
            "kinds": list(score.kinds),
            "differences": list(score.differences),
            **({"sampler": score.sampler} if score.sampler else {}),
        }
        for (endpoint, script), score in sorted(run.scores.items())
    ]


def summary(runs: Sequence[MatrixRun]) -> list[str]:
    """Counts of outcomes, one line per release, interval and endpoint."""
    several = len({(run.front_end, run.engine) for run in runs}) > 1
    head = f"{'release':10}{'front end':27}" if several else f"{'release':10}"
    head += f"{'tokens/step':>11}  {'endpoint':12}"
    lines = [head + "".join(f"{outcome.words:>16}" for outcome in ScriptOutcome)]
    for run in runs:
        for endpoint in ENDPOINTS:
            outcomes = [score.outcome for key, score in run.scores.items() if key[0] is endpoint]
            if outcomes:
                names = f"{f'{run.front_end}, {run.engine}':27}" if several else ""
                lines.append(
                    f"{run.version:10}{names}{run.step:>11}  {endpoint.value:12}"
                    + "".join(f"{outcomes.count(outcome):>16}" for outcome in ScriptOutcome)
                )
    return lines


def change_lines(runs: Sequence[MatrixRun], endpoints: Sequence[Endpoint]) -> list[str]:
    """Changes from each release to the next, a line per front end, endpoint and step."""
    lines: list[str] = []
    for older, newer in neighbours(unique_runs(runs)):
        for endpoint in endpoints:
            if moves := shifts(older, newer, endpoint):
                steps = newer.step_words
                where = f"{newer.front_end}, {endpoint.value}, {steps}"
                lines.append(f"{where}: {change_sentence(older, newer, moves)}")
    return lines or ["No outcome changed between these releases."]


def twin_lines(runs: Sequence[MatrixRun], endpoints: Sequence[Endpoint]) -> list[str]:
    """Scripts whose stream and unstreamed response have different outcomes, by release."""
    lines: list[str] = []
    for streamed, unstreamed in twins(runs):
        for endpoint in endpoints:
            for shift in shifts(streamed, unstreamed, endpoint):
                names = ", ".join(shift.scripts)
                outcomes = f"streamed {shift.before.words}, not streamed {shift.after.words}"
                lines.append(
                    f"{unstreamed.version} ({unstreamed.front_end}), {endpoint.value}: {outcomes}: {names}"
                )
    return lines or ["No stream differs from its twin that is not streamed."]


def script_row(script: Script) -> dict[str, Any]:
    """One script with its token IDs."""
    return {
        "name": script.name,
        "sentence": script.sentence,
        "class": script.example_of.value,
        "well_formed": script.well_formed,
        "endpoints": [endpoint.value for endpoint in script.endpoints],
        "issues": list(script.issues),
        "tokens": [list(turn) for turn in script.turns],
    }
