"""What client libraries made of the recorded responses: the results of `lab clients`.

They are in `clients.json.gz` beside the runs:

    {"format": 1, "clients": {"openai-node 7.57.0": {
        "packages": {"openai": "7.57.0", ...},
        "runs": {"vllm-frontend-0.33.0-si1": {"responses": {
            "read": ["plain", ...], "unreadable: OpenAIError: Duplicate ...": ["turn_browser"]}}}}}}

A capture that is identical to another run's is read there only.
"""

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from inspector.capture.capture import Endpoint
from inspector.capture.errors import LabError
from inspector.matrix.results import MatrixRun, Score, ScriptOutcome, result_folders
from inspector.net.reference_clients import ClientOutcome

FORMAT: Final = 1
FILE: Final = "clients.json.gz"

OUTCOMES: Final = {
    ClientOutcome.READ: ScriptOutcome.COMPLETE,
    ClientOutcome.NO_OBJECT: ScriptOutcome.REPORTED,
    ClientOutcome.REPORTED: ScriptOutcome.REPORTED,
    ClientOutcome.DIFFERENT: ScriptOutcome.SILENT,
    ClientOutcome.UNREADABLE: ScriptOutcome.SILENT,
}
"""A client's outcome as one of the three of the matrix."""

Rows = dict[tuple[str, Endpoint, str], str]
"""Run, endpoint and script to `read`, or an outcome with its error or fields."""


@dataclass(frozen=True, slots=True)
class ClientMatrix:
    """What clients made of the recorded streams."""

    rows: Mapping[str, Rows]
    """By a client's name and version."""

    def view(self, client: str, run: MatrixRun) -> MatrixRun:
        """A run with what a client made of its responses as scores; those without one are left out."""
        rows = self.rows.get(client, {})
        scores = {}
        for endpoint, script in run.scores:
            name = run.kept_in.get((endpoint, script), run.name)
            if (row := rows.get((name, endpoint, script))) is not None:
                outcome, _, words = row.partition(": ")
                scores[endpoint, script] = Score(
                    outcome=OUTCOMES[ClientOutcome(outcome)], differences=(words,) if words else (), kinds=()
                )
        return replace(run, scores=scores, client=client)

    def of_capture(self, name: str, runs: Iterable[MatrixRun]) -> Iterator[tuple[str, Score]]:
        """What each client made of a capture, by the name that `results.capture_name` gives it."""
        run_name, _, member = name.partition("/")
        endpoint, _, script = member.partition("-")
        for matrix_run in (matrix_run for matrix_run in runs if matrix_run.name == run_name):
            for client in self.rows:
                for key, score in self.view(client, matrix_run).scores.items():
                    if key == (endpoint, script):
                        yield client, score


NO_CLIENTS: Final = ClientMatrix({})


def load_clients(folder: Path | None = None) -> ClientMatrix:
    """The results in a folder; without one, the shipped ones and those of this machine's lab."""
    paths = [results / FILE for results in (result_folders() if folder is None else (folder,))]
    return _loaded(tuple((path, path.stat().st_mtime_ns) for path in paths if path.exists()))


@lru_cache(
    maxsize=2
)  # the Matrix page loads them on each rerun, and each of its sessions keeps what it loaded
def _loaded(files: tuple[tuple[Path, int], ...]) -> ClientMatrix:
    rows: dict[str, Rows] = {}
    for path, _ in files:
        for client, own in _read(path).items():
            rows.setdefault(client, {}).update(own)
    return ClientMatrix(rows)


def _read(path: Path) -> dict[str, Rows]:
    try:
        return {client: dict(_flat(row["runs"])) for client, row in read_record(path)["clients"].items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _damaged(path, error) from error


def read_record(path: Path) -> dict[str, Any]:
    """The content of a results file, its format checked; raises LabError."""
    try:
        record: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
        if record["format"] != FORMAT:
            raise LabError(f"{path}: unsupported format {record['format']!r}; run lab clients --read again")
        return record
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError) as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> LabError:
    return LabError(
        f"{path}: not a results file of lab clients ({error!r}); delete it and run lab clients --read again"
    )


def _flat(nested: Mapping[str, Any]) -> Iterator[tuple[tuple[str, Endpoint, str], str]]:
    for name, endpoints in nested.items():
        for endpoint, scripts_by_row in endpoints.items():
            for row, scripts in scripts_by_row.items():
                for script in scripts:
                    yield (name, Endpoint(endpoint), script), row
