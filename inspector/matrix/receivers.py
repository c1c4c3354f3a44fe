"""What gateways and client libraries made of recorded responses, by `lab hop` and `lab clients`.

They are in `gateways.json.gz` and `clients.json.gz` beside the runs:

    {"format": 1, "clients": {"openai-node 7.57.0": {
        "packages": {"openai": "7.57.0", ...},
        "runs": {"vllm-frontend-0.33.0-si1": {"responses": {
            "read": ["plain", ...], "unreadable: OpenAIError: Duplicate ...": ["turn_browser"]}}}}}}

A capture that is identical to another run's is read there only. The endpoint is that of the capture; a
gateway may have served another one to its client. What it sent on, where that differs, is in `gateways.zip`.
"""

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from inspector.capture.capture import Endpoint
from inspector.capture.errors import LabError
from inspector.files.store import replacing
from inspector.inspection.compare.passing import PassingOutcome
from inspector.matrix.results import (
    MatrixRun,
    Receiver,
    Score,
    ScriptOutcome,
    result_folders,
    sent_on_name,
)
from inspector.net.reference_clients import ClientOutcome

FORMAT: Final = 1
FILES: Final = {Receiver.GATEWAY: "gateways.json.gz", Receiver.CLIENT: "clients.json.gz"}
OUTCOMES: Final[Mapping[str, ScriptOutcome]] = {
    ClientOutcome.READ: ScriptOutcome.COMPLETE,
    ClientOutcome.NO_OBJECT: ScriptOutcome.REPORTED,
    ClientOutcome.REPORTED: ScriptOutcome.REPORTED,
    ClientOutcome.DIFFERENT: ScriptOutcome.SILENT,
    ClientOutcome.UNREADABLE: ScriptOutcome.SILENT,
    PassingOutcome.SAME: ScriptOutcome.COMPLETE,
    PassingOutcome.REJECTED: ScriptOutcome.REPORTED,
    PassingOutcome.ERROR: ScriptOutcome.REPORTED,
    PassingOutcome.LOST: ScriptOutcome.SILENT,
    PassingOutcome.CHANGED: ScriptOutcome.SILENT,
}
"""A receiver's outcome as one of the three of the matrix."""

Rows = dict[tuple[str, Endpoint, str], str]
"""Run, endpoint and script to an outcome, with its error or fields."""


@dataclass(frozen=True, slots=True)
class ReceiverRows:
    """What one gateway or client made of the recorded responses."""

    receiver: Receiver
    rows: Rows


class Received(NamedTuple):
    """What a gateway or client made of a capture."""

    name: str
    receiver: Receiver
    score: Score
    sent_on: str
    """The name of the capture of what a gateway sent on; empty where it is the same."""

    @property
    def words(self) -> str:
        """In one line."""
        outcome = self.score.outcome
        details = "".join(f" ({words})" for words in self.score.differences)
        return f"{outcome.sign} {self.name}: {self.receiver.words(outcome)}{details}"


@dataclass(frozen=True, slots=True)
class Receivers:
    """What gateways and clients made of the recorded responses."""

    by_name: Mapping[str, ReceiverRows]
    """By name and version."""

    def view(self, name: str, run: MatrixRun) -> MatrixRun:
        """A run with what a receiver made of its responses as scores; those without one are left out."""
        receiver_rows = self.by_name[name]
        scores = {}
        for endpoint, script in run.scores:
            run_name = run.kept_in.get((endpoint, script), run.name)
            if (row := receiver_rows.rows.get((run_name, endpoint, script))) is not None:
                outcome, _, words = row.partition(": ")
                scores[endpoint, script] = Score(
                    outcome=OUTCOMES[outcome], differences=(words,) if words else (), kinds=()
                )
        return replace(run, scores=scores, received_by=name, receiver=receiver_rows.receiver)

    def of(self, name: str, runs: Iterable[MatrixRun], endpoint: Endpoint) -> list[MatrixRun]:
        """The runs of which a receiver got every response of an endpoint."""
        return [
            run
            for run in runs
            if {key for key in run.scores if key[0] is endpoint} <= self.view(name, run).scores.keys()
        ]

    def of_capture(self, name: str, runs: Iterable[MatrixRun]) -> Iterator[Received]:
        """What each made of a capture, by the name that `results.capture_name` gives it."""
        run_name, _, member = name.partition("/")
        run = next((run for run in runs if run.name == run_name), None)
        keys = run.scores if run is not None else ()
        key = next((key for key in keys if f"{key[0].value}-{key[1]}" == member), None)
        if run is None or key is None:
            return
        for receiver_name, own in self.by_name.items():
            score = self.view(receiver_name, run).scores.get(key)
            if score is not None:
                changed = own.receiver is Receiver.GATEWAY and score.outcome is not ScriptOutcome.COMPLETE
                kept_in = run.kept_in.get(key, run.name)
                sent_on = sent_on_name(receiver_name, kept_in, *key) if changed else ""
                yield Received(receiver_name, own.receiver, score, sent_on)


NO_RECEIVERS: Final = Receivers({})


def load_receivers(
    folder: Path | None = None, kinds: Sequence[Receiver] = (Receiver.GATEWAY, Receiver.CLIENT)
) -> Receivers:
    """The results in a folder; without one, the shipped ones and those of this machine's lab."""
    folders = result_folders() if folder is None else (folder,)
    paths = [(receiver, results / FILES[receiver]) for receiver in kinds for results in folders]
    return _loaded(
        tuple((receiver, path, path.stat().st_mtime_ns) for receiver, path in paths if path.exists())
    )


def load_gateways(folder: Path | None = None) -> Receivers:
    """Those of gateways alone."""
    return load_receivers(folder, (Receiver.GATEWAY,))


def load_clients(folder: Path | None = None) -> Receivers:
    """Those of client libraries alone."""
    return load_receivers(folder, (Receiver.CLIENT,))


@lru_cache(
    maxsize=3
)  # the Matrix page loads them on each rerun, and each of its sessions keeps what it loaded
def _loaded(files: tuple[tuple[Receiver, Path, int], ...]) -> Receivers:
    by_name: dict[str, ReceiverRows] = {}
    for receiver, path, _ in files:
        for name, own in _read(receiver, path).items():
            by_name.setdefault(name, ReceiverRows(receiver, {})).rows.update(own)
    return Receivers(by_name)


def _read(receiver: Receiver, path: Path) -> dict[str, Rows]:
    try:
        return {name: dict(_flat(row["runs"])) for name, row in read_record(path)[_key(receiver)].items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _damaged(path, error) from error


def add_record(path: Path, receiver: Receiver, results: Mapping[str, tuple[Mapping[str, str], Rows]]) -> None:
    """Write packages and rows by name, beside those that the file has of others; raises LabError."""
    record: dict[str, Any] = {"format": FORMAT, _key(receiver): {}}
    if path.exists():
        record = read_record(path)
    record[_key(receiver)] |= {
        name: {"packages": dict(packages), "runs": _nested(rows)}
        for name, (packages, rows) in results.items()
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path, private=False) as file:
            # Without a time, the same results are the same bytes.
            file.write(gzip.compress(json.dumps(record, ensure_ascii=False).encode(), mtime=0))
    except OSError as error:
        raise LabError(
            f"{path}: cannot be written ({error.strerror or error}); name another folder"
        ) from error


def _key(receiver: Receiver) -> str:
    return f"{receiver.value}s"


def _nested(rows: Rows) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for (name, endpoint, script), row in sorted(rows.items()):
        nested.setdefault(name, {}).setdefault(endpoint.value, {}).setdefault(row, []).append(script)
    return nested


def read_record(path: Path) -> dict[str, Any]:
    """The content of a results file, its format checked; raises LabError."""
    try:
        record: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
        if record["format"] != FORMAT:
            raise LabError(f"{path}: unsupported format {record['format']!r}; record it again")
        return record
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError) as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> LabError:
    return LabError(
        f"{path}: not a results file of lab clients or lab hop ({error!r}); delete it and record it again"
    )


def _flat(nested: Mapping[str, Any]) -> Iterator[tuple[tuple[str, Endpoint, str], str]]:
    for name, endpoints in nested.items():
        for endpoint, scripts_by_row in endpoints.items():
            for row, scripts in scripts_by_row.items():
                for script in scripts:
                    yield (name, Endpoint(endpoint), script), row
