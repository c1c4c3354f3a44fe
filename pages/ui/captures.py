"""Captures for the pages: the built-in ones and uploads, read once, kept by the hash of their content."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import streamlit as st

import inspector
from inspector import Capture, Inspection, InspectorError, Kind, Level, Severity, dashboard
from inspector.dashboard import CaptureError, LiveRun, Prompt, RunState, Shelf, Upload
from pages.ui.banner import facts
from pages.ui.fields import parts
from pages.ui.state import Opened, Place, Session
from pages.ui.strip import Payload, pack

SIGNS: Final = {Level.ERROR: "✕", Level.WARNING: "!", Level.CLEAN: "✓", Level.UNKNOWN: "?"}
"""Verdicts in lists, where a word would take the room of the name."""

_JUDGED_AT_MOST: Final = 20_000
"""Events up to which the captures of a file are audited when it is opened: a tenth of a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The capture that a page shows."""

    name: str
    shows: str
    """What it shows, one line; empty for an upload."""
    digest: str
    seen: Inspection


def names(session: Session) -> list[str]:
    """Names of all available captures: uploads, then recent runs, newest first, then the built-in ones."""
    runs = [name for name in _runs() if name not in session.opened]
    return [*reversed(session.opened), *runs, *_builtins()]


def opening(known: Sequence[str]) -> str | None:
    """The capture that a page opens with by default; None if there is none."""
    return next((name for name in _builtins() if name in known), known[0] if known else None)


def is_built_in(name: str) -> bool:
    """True for a name of a built-in capture."""
    return name in _builtins()


def title(name: str) -> str:
    """A capture's line in a picker, plain text: its title and what it shows, or the file's name."""
    built_in = _builtins().get(name)
    if built_in is None:
        run = _runs().get(name)
        return f"{name} · your file" if run is None else _run_title(run)
    return f"{built_in.title} · {built_in.server_label} · {built_in.shows}"


def labels(session: Session) -> Callable[[str], str]:
    """Lines for a picker: the sign of the verdict, where it is known without an audit, before the title."""

    def label(name: str) -> str:
        level = _known_level(session, name)
        return title(name) if level is None else f"{SIGNS[level]} {title(name)}"

    return label


def _known_level(session: Session, name: str) -> Level | None:
    if (opened := session.opened.get(name)) is not None:
        return opened.level
    if (built_in := _builtins().get(name)) is not None:
        return built_in.verdict
    run = _runs().get(name)
    return None if run is None or run.look is None or not run.look.final else run.look.examined.verdict.level


def chosen(session: Session, name: str | None = None) -> Chosen | None:
    """The chosen capture, or the one of that name, inspected; None when there is none."""
    name = session.capture if name is None else name
    if name is None:
        return None
    if (opened := session.opened.get(name)) is not None:
        return Chosen(name=name, shows="", digest=opened.digest, seen=_seen(opened))
    if (built_in := _builtins().get(name)) is not None:
        stamp = built_in.path.stat()
        digest = f"{name} {stamp.st_mtime_ns} {stamp.st_size}"
        return Chosen(
            name=name, shows=built_in.shows, digest=digest, seen=_built_in(digest, name, built_in.path)
        )
    run = _runs().get(name)
    return None if run is None else of_run(run)


def summary(session: Session, name: str) -> dict[str, Any]:
    """A capture in one row: where it is from, its verdict and its size; kept when the capture is not."""
    if (opened := session.opened.get(name)) is not None:
        origin, digest = "yours", opened.digest
    elif name in _builtins():
        origin, digest = "built-in", name
    else:
        run = _runs().get(name)
        origin, digest = "run", name if run is None else f"{run.id} {len(run.events)}"
    return {**_summary(f"{name} {digest}", session, name), "origin": origin}


@st.cache_data(max_entries=1024, show_spinner=False)
def _summary(digest: str, _session: Session, name: str) -> dict[str, Any]:
    del digest
    one = chosen(_session, name)
    if one is None:
        return {
            "level": "unknown",
            "version": None,
            "endpoint": "",
            "tokens": None,
            "findings": 0,
            "shows": "",
        }
    reading = one.seen.reading
    return {
        "level": str(one.seen.verdict.level),
        "version": reading.server_version,
        "endpoint": str(reading.header.endpoint),
        "tokens": sum(len(choice.tokens) for choice in reading.choices) or None,
        "findings": len(one.seen.findings),
        "shows": one.shows or one.seen.verdict.sentence,
    }


def of_run(run: LiveRun) -> Chosen:
    """What came of a run that has ended."""
    name, digest = _run_name(run), f"{run.id} {len(run.events)}"
    return Chosen(name=name, shows="", digest=digest, seen=_of_run(digest, name, run))


def open_file(session: Session, file: str, content: bytes) -> str:
    """Read an uploaded file into the session; a sentence when it cannot be read, else empty."""
    digest = hashlib.sha256(content).hexdigest()
    try:
        captures = inspector.loads(content, file)
    except InspectorError as error:
        return error.problem if isinstance(error, CaptureError) else str(error)
    found = []
    for number, capture in enumerate(captures, 1):
        name = file if len(captures) == 1 else f"{file} #{number}"
        taken = session.opened.get(name)
        if name in _builtins() or (taken is not None and not taken.digest.startswith(digest)):
            name = f"{name} ({digest[:6]})"
        found.append(Opened(name=name, digest=f"{digest} {number}", capture=capture))
    take(session, found)
    _keep(session, found, content)
    return ""


def take(session: Session, found: Sequence[Opened]) -> None:
    """Keep captures in the session, with their verdicts unless they are long, and choose the first."""
    if sum(len(one.capture.events) for one in found) <= _JUDGED_AT_MOST:
        found = [replace(one, level=_seen(one).verdict.level) for one in found]
    session.open(found)


def _seen(opened: Opened) -> Inspection:
    truth = opened.capture.header.script if opened.vouched else None
    return inspected(opened.digest, opened.name, opened.capture, truth)


def restore(session: Session) -> None:
    """Open again what the URL of a reloaded page names; once a session."""
    if session.restored:
        return
    session.restored = True
    name = st.query_params.get("uploads")
    if name is None or session.kept is not None:
        return
    shown = session.capture, session.choice, session.place, session.fresh
    kept = _shelf().kept(name)
    if kept:
        session.kept = name
        found = [
            Opened(name=one.name, digest=one.digest, capture=one.capture, vouched=one.vouched) for one in kept
        ]
        take(session, found)
        session.capture, session.choice, session.place, session.fresh = shown


def _keep(session: Session, found: Sequence[Opened], content: bytes) -> None:
    """Uploads are to be kept for a reload of the page."""
    lines = content if len(found) == 1 and content.startswith(b'{"harmony_capture"') else None
    session.kept = session.kept or _shelf().session()
    _shelf().hold(
        session.kept,
        [
            Upload(name=one.name, digest=one.digest, capture=one.capture, vouched=one.vouched, lines=lines)
            for one in found
        ],
    )


def keep() -> None:
    """Write the new uploads to disk; once the page is drawn, as nobody waits for that."""
    _shelf().keep()


def _shelf() -> Shelf:
    return _shelf_in(dashboard.registry().folder)


@st.cache_resource(show_spinner=False)
def _shelf_in(folder: Path | None) -> Shelf:
    return Shelf(None if folder is None else folder / "uploads")


def first_place(seen: Inspection, choice: int) -> Place:
    """Where to begin: at the first error that has tokens, a cause before what follows from it."""
    index = seen.reading.choices[choice].index
    mine = [finding for finding in seen.findings if finding.choice == index]
    wrong = [
        n for n, one in enumerate(mine) if one.severity is Severity.ERROR and one.token_start is not None
    ]
    if (rejected := dashboard.rejected(mine)) is not None:
        return Place(None, rejected)
    causes = [number for number in wrong if mine[number].kind is not Kind.INVALID_TOOL_ARGUMENTS]
    wrong = causes or wrong
    number = wrong[0] if wrong else 0 if mine else None
    return Place(None if number is None else mine[number].token_start, number)


@st.cache_resource(max_entries=16, show_spinner=False)
def inspected(digest: str, name: str, _capture: Capture, _truth: Sequence[int] | None = None) -> Inspection:
    """A capture read, audited and judged; `digest` is the hash of its content."""
    del digest
    return inspector.inspect(_capture, name=name, truth=_truth)


@st.cache_resource(max_entries=16, show_spinner=False)
def payload(digest: str, choice: int, _seen: Inspection) -> Payload:
    """The strip payload of one choice, as bytes."""
    chosen_one = _seen.reading.choices[choice]
    key = f"{digest} {choice}"
    return pack(dashboard.strip(_seen, key=key, choice=chosen_one), digest=key)


@st.cache_resource(max_entries=16, show_spinner=False)
def fact_row(digest: str, choice: int, _seen: Inspection) -> Sequence[tuple[str, str, str]]:
    """The facts of one choice, for the chips under the verdict."""
    del digest
    return facts(_seen, choice)


@st.cache_resource(max_entries=16, show_spinner=False)
def field_parts(digest: str, choice: int, _seen: Inspection) -> list[dict[str, Any]]:
    """Generated against delivered text of one choice, a row a field, with what to mark."""
    del digest
    return parts(dashboard.field_rows(_seen, _seen.reading.choices[choice]))


@st.cache_resource(max_entries=16, show_spinner=False)
def prompt(digest: str, _seen: Inspection) -> Prompt | None:
    """The prompt of a capture; None when its tokens are unknown."""
    del digest
    return dashboard.prompt_of(_seen.reading)


@st.cache_resource(max_entries=64, show_spinner=False)
def _built_in(digest: str, name: str, _path: Path) -> Inspection:
    del digest
    return inspector.inspect(inspector.load(_path)[0], name=name)


@st.cache_resource(max_entries=16, show_spinner=False)
def _of_run(digest: str, name: str, _run: LiveRun) -> Inspection:
    del digest
    return inspector.inspect(_run.capture(), name=name)


def _runs() -> dict[str, LiveRun]:
    """Runs of this process that brought something, newest first."""
    ended = (run for run in dashboard.registry().runs() if run.state is RunState.ENDED and len(run.events))
    return {_run_name(run): run for run in ended}


def _run_name(run: LiveRun) -> str:
    return f"{run.id}.jsonl"


def _run_title(run: LiveRun) -> str:
    words = [f"run of {started(run)}", run.header.model or "model unknown", str(run.header.endpoint)]
    return " · ".join([*words, size(run)])


def started(run: LiveRun) -> str:
    """When a run began, by the clock of the browser, else in UTC."""
    told = run.header.started_at or ""
    try:
        moment = datetime.fromisoformat(told)
        zone = st.context.timezone
        return moment.astimezone(ZoneInfo(zone)).strftime("%H:%M:%S") if zone else f"{told[11:19]} UTC"
    except (ValueError, OSError, ZoneInfoNotFoundError):
        return f"{told[11:19]} UTC"


def size(run: LiveRun) -> str:
    """How much a run brought: tokens, or events where no token ID was sent."""
    tokens = run.pace().tokens
    amount, word = (tokens, "token") if tokens else (len(run.events), "event")
    return f"{amount:,} {dashboard.plural(amount, word)}"


@st.cache_resource(show_spinner=False)
def _builtins() -> dict[str, dashboard.Builtin]:
    return {one.name: one for one in dashboard.builtin()}
