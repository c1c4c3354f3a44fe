"""Results of the lab as rows and lines: what `--json` and the terminal show."""

from collections.abc import Sequence
from typing import Any

from inspector.lab.bisect import Change
from inspector.lab.matrix import ENDPOINTS
from inspector.lab.results import Run
from inspector.lab.score import Outcome
from inspector.lab.scripts import Script

__all__ = ["change_row", "change_sentence", "score_rows", "script_row", "summary"]


def score_rows(run: Run) -> list[dict[str, Any]]:
    """One row a cell of the matrix."""
    return [
        {
            "package": run.package,
            "version": run.version,
            "stream_interval": run.stream_interval,
            "endpoint": endpoint.value,
            "script": script,
            "outcome": score.outcome.value,
            "kinds": list(score.kinds),
            "differences": list(score.differences),
        }
        for (endpoint, script), score in sorted(run.scores.items())
    ]


def summary(runs: Sequence[Run]) -> list[str]:
    """Counts of outcomes, one line a release, interval and endpoint."""
    lines = [f"{'release':10}{'a step':>8}  {'endpoint':14}{'whole':>7}{'told':>7}{'silent':>8}"]
    for run in runs:
        for endpoint in ENDPOINTS:
            words = [score.outcome.value for key, score in run.scores.items() if key[0] is endpoint]
            if words:
                counts = [words.count(word) for word in ("whole", "told", "silent")]
                lines.append(
                    f"{run.version:10}{run.stream_interval:>8}  {endpoint.value:14}"
                    f"{counts[0]:>7}{counts[1]:>7}{counts[2]:>8}"
                )
    return lines


def change_row(change: Change) -> dict[str, Any]:
    """The result of a search."""
    return {
        "first": change.first.version,
        "last": change.last.version,
        "visits": [
            {
                "version": visit.version,
                "outcome": visit.score.outcome.value,
                "differences": list(visit.score.differences),
            }
            for visit in change.visits
        ],
    }


def change_sentence(change: Change, what: str) -> str:
    """The result of a search in one sentence."""
    first, last = change.first, change.last
    return (
        f"{first.version} is the first release where {what} {_verb(first.score.outcome)}; "
        f"in {last.version} it {_verb(last.score.outcome)}"
    )


def _verb(outcome: Outcome) -> str:
    match outcome:
        case Outcome.WHOLE:
            return "is delivered whole"
        case Outcome.TOLD:
            return "fails and the client is told"
        case Outcome.SILENT:
            return "is damaged silently"


def script_row(script: Script) -> dict[str, Any]:
    """One script, with its token ids."""
    return {
        "name": script.name,
        "sentence": script.sentence,
        "well_formed": script.well_formed,
        "endpoints": [endpoint.value for endpoint in script.endpoints],
        "issues": list(script.issues),
        "tokens": [list(turn) for turn in script.turns],
    }
