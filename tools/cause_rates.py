"""The first cause that the audit names for the lab's captures, beside the right one of `causes`.

Each capture is read in three modes: as recorded, without its release, and as a `curl` dump of its events,
which is what people have of a broken stream. `bench/causes.py` counts agreements.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from inspector.analysis.audit import Severity
from inspector.analysis.audit.verdict import Level
from inspector.capture.capture import Capture, Event, EventKind
from inspector.capture.errors import CaptureError
from inspector.files.importers import sniff_and_read
from inspector.files.store import load
from inspector.inspection.inspection import Inspection, inspect
from inspector.matrix.results import STAND_IN, MatrixRun, captures_of, load_runs
from inspector.protocol.wire.endpoints import spec_of
from tools.causes import NONE, CauseTable, Right


class Mode(StrEnum):
    """How much of a capture is read."""

    FULL = "version and request"
    UNVERSIONED = "without version"
    DUMP = "curl dump"


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedCauses:
    """One capture in one mode, with its right cause and the named ones."""

    place: str
    """Run, endpoint and script, or a file of fixtures/."""
    mode: Mode
    right: Right | None
    """None if no rule of the table applies."""
    level: Level
    sentence: str
    by_finding: str
    """First cause of the first finding of the worst severity."""
    by_verdict: str
    """The cause in the verdict's last line."""


def matrix_names(folder: Path, table: CauseTable, mode: Mode) -> Iterator[NamedCauses]:
    """Every capture of the matrix in one mode whose verdict is an error or a warning."""
    return _names_of(load_runs(folder), table, mode)


def unstreamed_names(
    folder: Path, table: CauseTable, mode: Mode, *, each_once: bool = False
) -> Iterator[NamedCauses]:
    """The same for unstreamed responses on the stand-in engine.

    With `each_once` without those that equal another release's.
    """
    runs = [run for run in load_runs(folder / STAND_IN) if not run.streamed]
    if each_once:
        runs = [
            replace(run, scores={key: score for key, score in run.scores.items() if key not in run.kept_in})
            for run in runs
        ]
    return _names_of(runs, table, mode)


def _names_of(runs: Iterable[MatrixRun], table: CauseTable, mode: Mode) -> Iterator[NamedCauses]:
    for run in runs:
        for endpoint, script, capture in captures_of(run):
            if not spec_of(endpoint).evidence_key:
                continue  # Messages: no token IDs, and the table names no causes for what it alone loses
            right = table.right(
                script,
                run.version,
                endpoint,
                run.stream_interval if run.streamed else None,
                front_end=run.front_end,
                version=mode is Mode.FULL,
                request=mode is not Mode.DUMP,
            )
            yield from _named(f"{run.name}/{endpoint.value}-{script}", mode, right, capture)


def fixture_names(folder: Path, table: CauseTable, mode: Mode) -> Iterator[NamedCauses]:
    """The same for the captures of fixtures/."""
    for path in sorted(folder.glob("*.jsonl*")):
        right = table.right_of_fixture(path.name, version=mode is Mode.FULL, request=mode is not Mode.DUMP)
        yield from _named(path.name, mode, right, load(path))


def _named(place: str, mode: Mode, right: Right | None, capture: Capture) -> Iterator[NamedCauses]:
    try:
        inspection = inspect(as_mode(capture, mode))
    except CaptureError:
        return  # an error before the first event: the dump is empty
    if inspection.verdict.level in {Level.ERROR, Level.WARNING}:
        yield NamedCauses(
            place=place,
            mode=mode,
            right=right,
            level=inspection.verdict.level,
            sentence=inspection.verdict.sentence,
            by_finding=first_finding(inspection),
            by_verdict=cause_of_verdict(inspection),
        )


def as_mode(capture: Capture, mode: Mode) -> Capture:
    """The capture as the mode reads it; raises CaptureError if the dump is empty."""
    match mode:
        case Mode.FULL:
            return capture
        case Mode.UNVERSIONED:
            return replace(capture, header=replace(capture.header, server_version=None))
        case Mode.DUMP:
            return sniff_and_read(dump(capture), "dump")[0]


def dump(capture: Capture) -> bytes:
    """The events as `curl -N` would have written them."""
    return "".join(_lines(event) for event in capture.events).encode()


def _lines(event: Event) -> str:
    if event.kind is EventKind.BODY:
        return event.data
    if event.kind is EventKind.COMMENT:
        return f":{event.data}\n\n"
    name = f"event: {event.name}\n" if event.name else ""
    return name + "".join(f"data: {line}\n" for line in event.data.split("\n")) + "\n"


def first_finding(inspection: Inspection) -> str:
    """The first cause of the first error, or of the first warning if there is no error."""
    errors = [finding for finding in inspection.findings if finding.severity is Severity.ERROR]
    first = next(iter(errors or inspection.findings), None)
    return first.known_issues[0] if first is not None and first.known_issues else NONE


def cause_of_verdict(inspection: Inspection) -> str:
    """The id of the verdict's cause."""
    return NONE if inspection.cause is None else inspection.cause.id
