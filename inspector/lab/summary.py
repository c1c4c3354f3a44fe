"""A server check as rows for the page and the command, with the lab's results for the release."""

from typing import Any, Final, NamedTuple

from inspector.capture.formats import count
from inspector.fleet.doctor import CheckState, Checkup
from inspector.lab.results import every_run, one_each
from inspector.lab.score import Outcome
from inspector.lab.standin.steps import UNSTREAMED
from inspector.protocol.engines import DEFAULT, Engine
from inspector.protocol.engines.vllm_rust import VLLM_RUST

_FRONT_ENDS: Final = {DEFAULT.name: "python", VLLM_RUST.name: "rust"}
"""The front ends that the lab tests, by the name of their engine."""


def release_rows(version: str | None, engine: Engine = DEFAULT) -> list[dict[str, Any]]:
    """One row per endpoint and stream interval: number of scripts, and how many had each outcome.

    `version` as a server reports it, with or without a local part (`0.14.1+cpu`); no rows for a release
    or a front end that the lab has not tested.
    """
    front_end = _FRONT_ENDS.get(engine.name)
    rows: list[dict[str, Any]] = []
    for one in one_each(every_run()):
        if one.version != (version or "").split("+")[0] or one.front_end != front_end:
            continue
        for endpoint in sorted({endpoint for endpoint, _ in one.scores}):
            outcomes = [score.outcome for (at, _), score in one.scores.items() if at is endpoint]
            rows.append(
                {
                    "endpoint": str(endpoint),
                    "stream_interval": one.stream_interval,
                    "steps": one.step,
                    "front_end": one.front_end,
                    "engine": one.engine,
                    "scripts": len(outcomes),
                    **{str(outcome): outcomes.count(outcome) for outcome in Outcome},
                }
            )
    return rows


def release_words(row: dict[str, Any]) -> str:
    """One row as a line."""
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
    """None for what is known of the release and was not tested."""
    name: str
    says: str
    change: str = ""


def checkup_rows(found: Checkup) -> list[CheckupRow]:
    """The checks, the number of known faults that they leave open, and the lab's results for the release."""
    rows = [CheckupRow(one.state, one.name, one.says, one.change) for one in found.checks]
    if found.faults:
        rows.append(CheckupRow(None, "known faults", found.faults_sentence))
    rows += [CheckupRow(None, "lab", release_words(row)) for row in release_rows(found.version, found.engine)]
    return rows


def fault_rows(found: Checkup) -> list[CheckupRow]:
    """A row for each known fault that the checks leave open."""
    return [CheckupRow(None, one.id, f"{one.title}.", one.step) for one in found.faults]
