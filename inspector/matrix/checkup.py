"""A server check as rows for the page and the command, with the lab's results for the release."""

from typing import Any, NamedTuple

from inspector.capture.formats import count
from inspector.fleet.doctor import CheckState, Checkup
from inspector.matrix.results import UNSTREAMED, ScriptOutcome, every_run, unique_runs
from inspector.matrix.servers import VLLM_FRONT_ENDS
from inspector.protocol.engines import DEFAULT, Engine


def release_rows(version: str | None, engine: Engine = DEFAULT) -> list[dict[str, Any]]:
    """One row per endpoint and stream interval: number of scripts, and how many had each outcome.

    `version` as a server reports it, with or without a local part (`0.14.1+cpu`); no rows for an
    untested release or front end.
    """
    front_end = next((name for name, each in VLLM_FRONT_ENDS.items() if each is engine), None)
    release = (version or "").split("+")[0]
    runs = [run for run in every_run() if run.version == release and run.front_end == front_end]
    rows: dict[tuple[int, str], dict[str, Any]] = {}
    for endpoint in {endpoint for run in runs for endpoint, _ in run.scores}:
        for place, run in enumerate(unique_runs(runs, endpoint)):
            outcomes = [score.outcome for (at, _), score in run.scores.items() if at is endpoint]
            if not outcomes:
                continue  # a front end or condition without it
            rows[place, str(endpoint)] = {
                "endpoint": str(endpoint),
                "stream_interval": run.stream_interval,
                "steps": run.step,
                "front_end": run.front_end,
                "engine": run.engine,
                "scripts": len(outcomes),
                **{str(outcome): outcomes.count(outcome) for outcome in ScriptOutcome},
            }
    return [row for _, row in sorted(rows.items())]


def release_words(row: dict[str, Any]) -> str:
    """A row as a line."""
    return (
        f"{row['endpoint']}, {_step(row['steps'])}, {row['scripts']} scripts: "
        f"{row['whole']} complete, {row['told']} error reported, {row['silent']} silent loss"
    )


def _step(step: str) -> str:
    if step == UNSTREAMED:
        return "not streamed"
    return f"{count(int(step), 'token')} per step" if step.isdigit() else f"{step} steps"


class CheckupRow(NamedTuple):
    """One line of a server check, the same on the page and in the command."""

    state: CheckState | None
    """None for facts about the release that were not checked on the server."""
    name: str
    says: str
    change: str = ""


def checkup_rows(checkup: Checkup) -> list[CheckupRow]:
    """The checks, the number of known faults that they leave open, and the lab's results for the release."""
    rows = [CheckupRow(check.state, check.name, check.says, check.change) for check in checkup.checks]
    if checkup.faults:
        rows.append(CheckupRow(None, "known faults", checkup.faults_sentence))
    rows += [
        CheckupRow(None, "lab", release_words(row)) for row in release_rows(checkup.version, checkup.engine)
    ]
    return rows


def fault_rows(checkup: Checkup) -> list[CheckupRow]:
    """A row for each known fault that the checks leave open."""
    return [CheckupRow(None, fault.id, f"{fault.title}.", fault.step) for fault in checkup.faults]
