"""`lab hop`: what gateways make of the recorded responses."""

from collections.abc import Sequence
from typing import Any, Final

from harmony_lab.commands.options import Results, lab_command
from harmony_lab.gateways import GATEWAYS
from harmony_lab.hop import record
from harmony_lab.reporting import score_rows
from inspector.capture.errors import LabError
from inspector.capture.formats import listed
from inspector.commands.options import flag, option
from inspector.commands.shared import as_json
from inspector.commands.terminal import print_json, say, tell
from inspector.matrix.receivers import FILES, Receivers, load_gateways
from inspector.matrix.results import MatrixRun, Receiver, ScriptOutcome, every_run, load_runs


class Hop(Results):
    """Show what gateways make of the recorded responses: passed on, changed, turned into an error."""

    record: bool = flag(
        "install the gateways (pip) and play the recorded responses of --out to them; no engine is started"
    )
    gateway: tuple[str, ...] = option(
        f"only these: {listed([gateway.label for gateway in GATEWAYS])}, or a name without its version",
        (),
        "NAME",
    )
    run: tuple[str, ...] = option("only these runs, such as vllm-frontend-0.33.0-si1", (), "NAME")
    json: bool = as_json("one row per gateway and response as JSON")


def _hop(options: Hop) -> int:
    chosen = [gateway for gateway in GATEWAYS if _selected(gateway.label, options.gateway)]
    if not chosen:
        known = listed([gateway.label for gateway in GATEWAYS])
        raise LabError(f"--gateway {' '.join(options.gateway)}: no such gateway; the gateways are {known}")
    if options.record:
        runs = _runs(load_runs(options.folder), options)
        for gateway in chosen:
            record(options.paths, gateway, runs, folder=options.folder, say=tell)
        say(f"{options.folder / FILES[Receiver.GATEWAY]}: {listed([gateway.label for gateway in chosen])}")
        return 0
    runs = _runs(load_runs(options.out) if options.out else every_run(), options)
    gateways = load_gateways(options.out)
    names = [name for name in gateways.by_name if _selected(name, options.gateway)]
    if not names:
        raise LabError("no gateway has been measured with these responses; run lab hop --record")
    if options.json:
        print_json([row for name in names for run in runs for row in _rows(gateways, name, run)])
    else:
        say([line for name in names for line in _lines(gateways, name, runs)])
    return 0


def _selected(label: str, names: Sequence[str]) -> bool:
    return not names or label in names or label.partition(" ")[0] in names


def _runs(runs: Sequence[MatrixRun], options: Hop) -> list[MatrixRun]:
    chosen = [run for run in runs if not options.run or run.name in options.run]
    if not chosen:
        raise LabError(f"no results of lab matrix{f' named {listed(options.run)}' if options.run else ''}")
    return chosen


def _rows(gateways: Receivers, name: str, run: MatrixRun) -> list[dict[str, Any]]:
    return [
        {"gateway": name, **{key: value for key, value in row.items() if key != "kinds"}}
        for row in score_rows(gateways.view(name, run))
    ]


def _lines(gateways: Receivers, name: str, runs: Sequence[MatrixRun]) -> list[str]:
    """A gateway's counts, one line per run and endpoint, and below it what differs."""
    lines = [name]
    for run in runs:
        view = gateways.view(name, run)
        for endpoint in dict.fromkeys(key[0] for key in sorted(view.scores)):
            scores = {script: score for (at, script), score in view.scores.items() if at is endpoint}
            outcomes = [score.outcome for score in scores.values()]
            counts = ", ".join(
                f"{outcomes.count(outcome)} {view.words(outcome)}"
                for outcome in ScriptOutcome
                if outcome in outcomes
            )
            lines.append(f"  {run.name:34}{endpoint.value:12}{counts}")
            lines += [
                f"    {score.outcome.sign} {script}: {'; '.join(score.differences)}"
                for script, score in sorted(scores.items())
                if score.outcome is not ScriptOutcome.COMPLETE
            ]
    return [*lines, ""]


HOP: Final = lab_command(Hop, _hop, "hop --gateway agentic-api")
