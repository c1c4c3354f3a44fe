"""Captures for the pages: built-in ones, uploads and runs, each inspected once per content hash."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import streamlit as st

import inspector
from inspector import Capture, Inspection, InspectorError, Kind, Level, Severity
from inspector.analysis.audit.rejection import rejected
from inspector.capture.errors import CaptureError
from inspector.capture.formats import plural
from inspector.capture.replay_only import replay_only
from inspector.files.store import Builtin, builtin
from inspector.files.uploads import Shelf, Upload
from inspector.inspection.inspection import of_choice
from inspector.matrix.results import named_capture as matrix_capture
from inspector.matrix.scripts import load as lab_scripts
from inspector.net.client.outcome import OutcomeKind
from inspector.net.reference_clients import ClientReading, python_reading
from inspector.net.runs.registry import registry
from inspector.net.runs.run import LiveRun, RunState
from inspector.protocol.wire.endpoints import spec_of
from inspector.views.audit_result import AuditResult
from inspector.views.differences import Differences, differences
from inspector.views.strip import strip
from pages.ui.fields import parts
from pages.ui.state import HANDFUL, Opened, Selection, Session
from pages.ui.strip import Payload, pack

SIGNS: Final = {Level.ERROR: "✕", Level.WARNING: "!", Level.CLEAN: "✓", Level.UNKNOWN: "?"}
"""Verdicts in lists, where a word would leave no room for the name."""

_AUDITED_AT_MOST: Final = 20_000
"""Events up to which the captures of a file are audited when it is opened: a tenth of a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The capture that a page shows."""

    name: str
    shows: str
    """What it shows, one line; empty for an upload."""
    digest: str
    inspection: Inspection


def names(session: Session) -> list[str]:
    """Names of all available captures: uploads, then recent runs, newest first, then the built-in ones."""
    runs = [name for name in _runs() if name not in session.opened]
    return [*reversed(session.opened), *runs, *_builtins()]


def opening(available: Sequence[str]) -> str | None:
    """The capture that a page opens with by default; None if there is none."""
    return next((name for name in _builtins() if name in available), available[0] if available else None)


def is_built_in(name: str) -> bool:
    """True for a name of a built-in capture."""
    return name in _builtins()


def is_of_matrix(name: str) -> bool:
    """True for a name of a capture of the matrix."""
    return "/" in name


def title(session: Session, name: str) -> str:
    """A capture's line in a picker, plain text: its title, its name and what it shows."""
    if (built_in := _builtins().get(name)) is not None:
        return f"{built_in.title} · {name} · {built_in.shows}"
    if (run := _runs().get(name)) is not None:
        return _run_title(run)
    opened = session.opened.get(name)
    return name if opened is None else f"{name} · {_origin(opened)}"


def _origin(opened: Opened) -> str:
    return "matrix" if opened.from_matrix else "your file"


def labels(session: Session) -> Callable[[str], str]:
    """Lines for a picker: the sign of the verdict, where it is known without an audit, before the title."""

    def label(name: str) -> str:
        level = _known_level(session, name)
        return title(session, name) if level is None else f"{SIGNS[level]} {title(session, name)}"

    return label


def _known_level(session: Session, name: str) -> Level | None:
    if (opened := session.opened.get(name)) is not None:
        return opened.level
    if (built_in := _builtins().get(name)) is not None:
        return built_in.verdict
    run = _runs().get(name)
    if run is None or run.look is None or run.outcome.kind is OutcomeKind.STOPPED_BY_USER:
        return None
    return run.look.examined.verdict.level if run.look.final else None


def chosen(session: Session, name: str | None = None) -> Chosen | None:
    """The chosen capture, or the one of that name, inspected; None when there is none."""
    name = session.capture if name is None else name
    if name is None:
        return None
    if (opened := session.opened.get(name)) is not None:
        inspection = _inspection_of(opened)
        if opened.level is None:  # a long one, which was not audited when it was opened
            session.opened[name] = replace(opened, level=inspection.verdict.level)
        return Chosen(name=name, shows="", digest=opened.digest, inspection=inspection)
    if (built_in := _builtins().get(name)) is not None:
        stamp = built_in.path.stat()
        digest = f"{name} {stamp.st_mtime_ns} {stamp.st_size}"
        return Chosen(
            name=name, shows=built_in.shows, digest=digest, inspection=_built_in(digest, name, built_in.path)
        )
    run = _runs().get(name)
    return None if run is None else of_run(run)


def summary(session: Session, name: str) -> dict[str, Any]:
    """A capture in one row: origin, verdict and size; cached longer than the capture."""
    if (opened := session.opened.get(name)) is not None:
        origin, digest = _origin(opened), opened.digest
    elif name in _builtins():
        origin, digest = "built-in", name
    else:
        run = _runs().get(name)
        origin, digest = "run", name if run is None else f"{run.id} {len(run.events)}"
    return {**_summary(f"{name} {digest}", session, name), "origin": origin}


@st.cache_data(max_entries=1024, show_spinner=False)
def _summary(digest: str, _session: Session, name: str) -> dict[str, Any]:
    del digest
    capture = chosen(_session, name)
    if capture is None:
        return {
            "level": "unknown",
            "version": None,
            "endpoint": "",
            "tokens": None,
            "findings": 0,
            "shows": "",
        }
    reading = capture.inspection.reading
    return {
        "level": str(capture.inspection.verdict.level),
        "version": reading.server_version,
        "endpoint": str(reading.header.endpoint),
        "tokens": sum(len(choice.tokens) for choice in reading.choices) or None,
        "findings": len(capture.inspection.findings),
        "shows": capture.shows or capture.inspection.verdict.sentence,
    }


def of_run(run: LiveRun) -> Chosen:
    """The capture of a run that has ended."""
    name, digest = _run_name(run), f"{run.id} {len(run.events)}"
    return Chosen(name=name, shows="", digest=digest, inspection=_of_run(digest, name, run))


class ManyCapturesError(Exception):
    """A file that has more captures than are opened one by one."""


def open_file(session: Session, file: str, content: bytes) -> str:
    """Read an uploaded file into the session; a sentence when it cannot be read, else empty.

    Raises ManyCapturesError for one that has more than a handful.
    """
    digest = hashlib.sha256(content).hexdigest()
    try:
        captures = inspector.loads_all(content, file)
    except InspectorError as error:
        return error.problem if isinstance(error, CaptureError) else str(error)
    if len(captures) > HANDFUL:
        raise ManyCapturesError(file)
    opened = []
    for number, capture in enumerate(captures, 1):
        name = file if len(captures) == 1 else f"{file} #{number}"
        taken = session.opened.get(name)
        if name in _builtins() or (taken is not None and not taken.digest.startswith(digest)):
            name = f"{name} ({digest[:6]})"
        opened.append(Opened(name=name, digest=f"{digest} {number}", capture=capture))
    take(session, opened)
    _keep(session, opened, content)
    return ""


def take(session: Session, opened: Sequence[Opened]) -> None:
    """Keep captures in the session, with their verdicts unless they are long, and choose the first."""
    if sum(len(capture.capture.events) for capture in opened) <= _AUDITED_AT_MOST:
        opened = [replace(capture, level=_inspection_of(capture).verdict.level) for capture in opened]
    session.open(opened)


def _inspection_of(opened: Opened) -> Inspection:
    truth = opened.capture.header.script if opened.vouched else None
    return inspected(opened.digest, opened.name, opened.capture, truth)


def restore(session: Session) -> None:
    """Reopen the uploads that the URL of a reloaded page names; once per session."""
    if session.restored:
        return
    session.restored = True
    name = st.query_params.get("uploads")
    if name is None or session.kept is not None or replay_only():
        return
    before = session.capture, session.choice, session.selection, session.undrawn
    kept, archives = shelf().kept(name), shelf().archives(name)
    if kept or (archives is not None and archives.is_dir()):
        session.kept = name
        opened = [
            Opened(name=upload.name, digest=upload.digest, capture=upload.capture, vouched=upload.vouched)
            for upload in kept
        ]
        take(session, opened)
        session.capture, session.choice, session.selection, session.undrawn = before


def open_linked(session: Session, *, turned: bool) -> None:
    """Open the captures of the matrix that the address names; choose its `capture` on a newly opened page."""
    for parameter in ("left", "right", "capture"):
        name = st.query_params.get(parameter, "")
        if not is_of_matrix(name):
            continue
        if name not in session.opened and (opened := _of_matrix(name)) is not None:
            take(session, [opened])
        elif turned and parameter == "capture" and name in session.opened:
            session.choose(name)


def _of_matrix(name: str) -> Opened | None:
    capture = matrix_capture(name)
    if capture is None:
        return None
    # The script stands in for IDs that the endpoint never sends; that of several turns is not one stream.
    script = name.partition("/")[2].partition("-")[2]
    single_turn = {script.name for script in lab_scripts() if len(script.turns) == 1}
    vouched = not spec_of(capture.header.endpoint).carries_ids and script in single_turn
    return Opened(name=name, digest=f"matrix {name}", capture=capture, vouched=vouched)


def _keep(session: Session, opened: Sequence[Opened], content: bytes) -> None:
    """Queue uploads to be stored for a reload of the page, but those of visitors."""
    if replay_only():
        return
    lines = content if len(opened) == 1 and content.startswith(b'{"harmony_capture"') else None
    session.kept = session.kept or shelf().session()
    shelf().hold(
        session.kept,
        [
            Upload(
                name=capture.name,
                digest=capture.digest,
                capture=capture.capture,
                vouched=capture.vouched,
                lines=lines,
            )
            for capture in opened
        ],
    )


def keep() -> None:
    """Write the new uploads to disk; called after the page is drawn, so that it does not wait."""
    shelf().keep()


def shelf() -> Shelf:
    """Where uploads are kept."""
    return _shelf_in(registry().folder)


@st.cache_resource(show_spinner=False)
def _shelf_in(folder: Path | None) -> Shelf:
    return Shelf(None if folder is None else folder / "uploads")


def first_selection(inspection: Inspection, choice: int) -> Selection:
    """The first selection: the first error that has tokens, a cause before its consequences."""
    index = inspection.reading.choices[choice].index
    findings = [finding for finding in inspection.findings if finding.choice == index]
    wrong = [
        n
        for n, finding in enumerate(findings)
        if finding.severity is Severity.ERROR and finding.token_start is not None
    ]
    if (rejection := rejected(findings)) is not None:
        return Selection(None, rejection)
    causes = [number for number in wrong if findings[number].kind is not Kind.INVALID_TOOL_ARGUMENTS]
    wrong = causes or wrong
    number = wrong[0] if wrong else 0 if findings else None
    return Selection(None if number is None else findings[number].token_start, number)


@st.cache_resource(max_entries=16, show_spinner=False)
def inspected(digest: str, name: str, _capture: Capture, _truth: Sequence[int] | None = None) -> Inspection:
    """Inspect a capture; `digest` is the hash of its content."""
    del digest
    return inspector.inspect(_capture, name=name, truth=_truth)


@st.cache_resource(max_entries=16, show_spinner=False)
def payload(digest: str, choice: int, _inspection: Inspection) -> Payload:
    """The strip payload of one choice, as bytes."""
    chosen_one = _inspection.reading.choices[choice]
    key = f"{digest} {choice}"
    return pack(strip(_inspection, key=key, choice=chosen_one), digest=key)


@st.cache_resource(max_entries=16, show_spinner=False)
def result(digest: str, choice: int, _inspection: Inspection) -> AuditResult:
    """What was found in one choice."""
    del digest
    return AuditResult(_inspection, choice, apart=True)


@st.cache_resource(max_entries=16, show_spinner=False)
def levels(digest: str, _inspection: Inspection) -> Sequence[Level]:
    """How bad each of several choices is."""
    del digest
    return [of_choice(_inspection, choice).verdict.level for choice in _inspection.reading.choices]


@st.cache_resource(max_entries=16, show_spinner="The openai SDK reads the response")
def client_reading(digest: str, _inspection: Inspection) -> ClientReading | None:
    """What the installed SDK makes of the response."""
    del digest
    return python_reading(_inspection.capture)


@st.cache_resource(max_entries=16, show_spinner=False)
def field_parts(digest: str, choice: int, _inspection: Inspection) -> list[dict[str, Any]]:
    """Generated and delivered text of one choice, one row per field, with the differences."""
    return parts(result(digest, choice, _inspection).fields)


@st.cache_resource(max_entries=16, show_spinner=False)
def differences_of(digest: str, choice: int, _inspection: Inspection) -> Differences:
    """Where the texts of one choice differ."""
    return differences(result(digest, choice, _inspection))


@st.cache_resource(max_entries=64, show_spinner=False)
def _built_in(digest: str, name: str, _path: Path) -> Inspection:
    del digest
    return inspector.inspect(inspector.load(_path), name=name)


@st.cache_resource(max_entries=16, show_spinner=False)
def _of_run(digest: str, name: str, _run: LiveRun) -> Inspection:
    del digest
    return inspector.inspect(_run.capture(), name=name)


def _runs() -> dict[str, LiveRun]:
    """Ended runs of this process that received events, newest first."""
    ended = (run for run in registry().runs() if run.state is RunState.ENDED and len(run.events))
    return {_run_name(run): run for run in ended}


def _run_name(run: LiveRun) -> str:
    return f"{run.id}.jsonl"


def _run_title(run: LiveRun) -> str:
    words = [f"run of {started(run)}", run.header.model or "model unknown", str(run.header.endpoint)]
    return " · ".join([*words, size(run)])


def started(run: LiveRun) -> str:
    """When a run began."""
    return clock(run.header.started_at or "")


def clock(started_at: str) -> str:
    """A time in ISO format by the clock of the browser, else in UTC."""
    try:
        moment = datetime.fromisoformat(started_at)
        zone = st.context.timezone
        return moment.astimezone(ZoneInfo(zone)).strftime("%H:%M:%S") if zone else f"{started_at[11:19]} UTC"
    except (ValueError, OSError, ZoneInfoNotFoundError):
        return f"{started_at[11:19]} UTC"


def size(run: LiveRun) -> str:
    """The size of a run in words: tokens, or events where no token ID was sent."""
    tokens = run.pace().tokens
    amount, word = (tokens, "token") if tokens else (len(run.events), "event")
    return f"{amount:,} {plural(amount, word)}"


@st.cache_resource(show_spinner=False)
def _builtins() -> dict[str, Builtin]:
    return {row.name: row for row in builtin()}
