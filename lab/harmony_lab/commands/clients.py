"""`lab clients`: which official SDK reads the responses of which release."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from harmony_lab.clients import CLIENTS, read_runs, reader, write
from harmony_lab.commands.options import Results, lab_command
from harmony_lab.reporting import score_rows
from inspector.capture.errors import LabError
from inspector.capture.formats import listed
from inspector.commands.options import flag, option
from inspector.commands.shared import as_json
from inspector.commands.terminal import print_json, say, tell
from inspector.matrix.receivers import FILES, Receivers, load_clients
from inspector.matrix.results import MatrixRun, Receiver, ScriptOutcome, every_run, load_runs
from inspector.protocol.wire.endpoints import asked_endpoints


class Clients(Results):
    """Show which official SDK reads the responses of which release."""

    read: bool = flag(
        "install the SDKs (npm and pip) and let them read the recorded captures; no server is started"
    )
    client: tuple[str, ...] = option(
        f"only these: {listed([client.label for client in CLIENTS])}, or a name without its version",
        (),
        "NAME",
    )
    json: bool = as_json("one row per client and response as JSON")


def _clients(options: Clients) -> int:
    chosen = [client for client in CLIENTS if _selected(client.label, options.client)]
    if not chosen:
        known = listed([client.label for client in CLIENTS])
        raise LabError(f"--client {' '.join(options.client)}: no such client; the clients are {known}")
    paths = options.paths
    if options.read:
        folder = options.folder
        runs = _runs_in(folder)
        rows = {}
        for client in chosen:
            with reader(paths, client, say=tell) as client_reader:
                rows[client] = read_runs(client_reader, client.endpoints, runs, say=tell)
        write(folder / FILES[Receiver.CLIENT], rows)
        labels = listed([client.label for client in chosen])
        say(f"{folder / FILES[Receiver.CLIENT]}: {labels}, {len(runs)} runs")
        return 0
    runs = _runs_in(options.out) if options.out else every_run()
    matrix = load_clients(options.out)
    names = [name for name in matrix.by_name if _selected(name, options.client)]
    if not names:
        raise LabError("no client has read these responses yet; run lab clients --read")
    if options.json:
        print_json([row for name in names for run in runs for row in client_rows(matrix, name, run)])
    else:
        say(client_lines(matrix, names, runs))
    return 0


def _selected(label: str, names: Sequence[str]) -> bool:
    return not names or label in names or label.partition(" ")[0] in names


def _runs_in(folder: Path) -> list[MatrixRun]:
    runs = load_runs(folder)
    if not runs:
        raise LabError(f"{folder}: no results of lab matrix; record some, for example: lab matrix 0.32.0")
    return runs


def client_rows(matrix: Receivers, client: str, run: MatrixRun) -> list[dict[str, Any]]:
    """One row per response of a run that the client read."""
    return [
        {"client": client, **{name: value for name, value in row.items() if name != "kinds"}}
        for row in score_rows(matrix.view(client, run))
    ]


def client_lines(matrix: Receivers, clients: Sequence[str], runs: Sequence[MatrixRun]) -> list[str]:
    """How many responses each client does not read, one line per run and endpoint."""
    width = max(map(len, clients)) + 2
    head = f"{'release':10}{'front end':20}{'tokens/step':>11}  {'endpoint':12}{'responses':>9}"
    lines = [head + "".join(f"{name:>{width}}" for name in clients), ""]
    for run in runs:
        server = f"{run.version:10}{f'{run.front_end}, {run.engine}':20}{run.step:>11}"
        views = [matrix.view(name, run) for name in clients]
        for endpoint in asked_endpoints():
            scores = [
                [score.outcome for key, score in view.scores.items() if key[0] is endpoint] for view in views
            ]
            if any(scores):
                lines.append(
                    f"{server}  {endpoint.value:12}{max(map(len, scores)):>9}"
                    + "".join(
                        f"{outcomes.count(ScriptOutcome.SILENT) or '-':>{width}}" for outcomes in scores
                    )
                )
    return [
        *lines,
        "",
        "The numbers are responses that the client does not read, or reads without delivered text.",
    ]


CLIENTS_COMMAND: Final = lab_command(Clients, _clients, "clients --read --out captures")
