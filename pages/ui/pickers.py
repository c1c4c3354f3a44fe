"""Choosing a capture: the list at the top of a page, files to open in the sidebar, what to download."""

import csv
import io
import json
import re
from collections.abc import Callable, Sequence

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

import inspector
from inspector import Inspection, dashboard
from pages.ui import captures
from pages.ui.state import Place, Session, went_back

REPORT_WARNING = "API keys are removed; prompts and responses are not. Read it before you publish it."

_FORMATS = (
    f"{dashboard.FORMATS[0].upper()}{dashboard.FORMATS[1:]}; also gzip or zstd. "
    "Files stay in this session, on this machine."
)
_ADDRESS = re.compile(r"((?:https?://|www\.)[^\s`]*[^\s`.,;:!?'\")\]])", re.IGNORECASE)
_LIMIT_MB = 256
_MARKDOWN = set("\\`*_{}[]()<>#+-.!|~$:&=^/@\"'")


def plain(text: str) -> str:
    """Text as Markdown that shows it as it is: a file's name is not ours, and st.error reads Markdown."""
    parts = _ADDRESS.split(" ".join(text.split()))
    # Addresses become links however they are escaped, except as code.
    return "".join(f"`{part}`" if place % 2 else _escaped(part) for place, part in enumerate(parts))


def _escaped(text: str) -> str:
    return "".join("\\" + char if char in _MARKDOWN else char for char in text)


def _itself(file: UploadedFile, memo: object) -> UploadedFile:
    del memo
    return file


# Streamlit deep-copies a widget's value in each run of a page, lest the page change it: an upload's bytes
# twice, 0.1 s for 37 MB. The pages only read uploads.
setattr(UploadedFile, "__deepcopy__", _itself)  # noqa: B010 -- the class does not declare it


def uploads(session: Session) -> list[str]:
    """The file upload in the sidebar; the names of captures opened by it just now.

    A file that cannot be read gets one sentence.
    """
    captures.restore(session)
    before = dict(session.opened)
    with st.sidebar:
        files = st.file_uploader(
            "Open captures",
            accept_multiple_files=True,
            max_upload_size=_LIMIT_MB,
            key="replay_files",
            help=_FORMATS,
        )
    known = session.refused
    session.refused = {
        file.file_id: known[file.file_id]
        if file.file_id in known
        else captures.open_file(session, file.name, file.getvalue())
        for file in files
    }
    for file in files:
        if sentence := session.refused[file.file_id]:
            st.error(plain(sentence), icon=":material/block:")
            diagnosable(session, file.name, file.getvalue(), key=f"replay_log_{file.file_id}")
    return [name for name, one in session.opened.items() if before.get(name) is not one]


def diagnosable(session: Session, name: str, content: bytes, *, key: str) -> None:
    """A button that reads a log on the Diagnose page; nothing for what is no log."""
    if dashboard.is_log(content, name) and st.button(
        f"Diagnose {plain(name)}", icon=":material/troubleshoot:", key=key
    ):
        diagnose_log(session, name, content)


def diagnose_log(session: Session, name: str, content: bytes) -> None:
    """Open a log on the Diagnose page."""
    session.log, session.logs = (name, content), {}
    st.session_state["diagnose_kind"] = "Log"
    st.switch_page("diagnose.py")


def compare_with(session: Session, name: str) -> None:
    """The way to the Compare page: this capture on the left, the one picked here on the right."""
    with st.popover("Compare with", icon=":material/compare_arrows:", width="content"):
        other = st.selectbox(
            "Right side",
            [one for one in captures.names(session) if one != name],
            index=None,
            format_func=captures.labels(session),
            placeholder="Select a capture",
            width=480,
            key=f"replay_compare_{name}",
        )
    if other is not None:
        compare(name, other)


def compare(left: str, right: str) -> None:
    """Open the Compare page with two captures."""
    st.switch_page("compare.py", query_params={"left": left, "right": right})


def capture(session: Session) -> str | None:
    """The list of captures; the name of the one chosen."""
    known = captures.names(session)
    if session.capture is None or went_back():
        follow_link(session, known)
    if not known:
        return session.capture
    picked = st.selectbox(
        "Capture",
        known,
        index=known.index(session.capture) if session.capture in known else None,
        format_func=captures.labels(session),
        placeholder="Select a capture",
        label_visibility="collapsed",
        key=f"replay_capture_{session.capture}",
    )
    if picked is not None and picked != session.capture:
        session.choose(picked)
        st.rerun()
    return session.capture


def follow_link(session: Session, known: Sequence[str]) -> None:
    """Show the capture and the place that the address names; without one, the capture that all begin with."""
    linked = st.query_params.get("capture")
    if linked is not None:
        session.choose(linked, session.choice if linked == session.capture else 0)
        token, to = (_number(st.query_params.get(name)) for name in ("token", "to"))
        view = "client" if st.query_params.get("view") == "client" else None
        session.point(Place(token, to=to, view=view))
    elif session.capture is None and (first := captures.opening(known)) is not None:
        session.choose(first)


def choice(session: Session, seen: Inspection) -> int:
    """Which completion to show, if the request asked for several."""
    count = len(seen.reading.choices)
    session.choice = min(session.choice, count - 1)
    if count > 1:
        picked = st.segmented_control(
            "Choice",
            range(count),
            default=session.choice,
            format_func=lambda place: f"choice {seen.reading.choices[place].index}",
            key=f"replay_choice_{session.capture}",
            label_visibility="collapsed",
        )
        if picked is not None and picked != session.choice and session.capture is not None:
            session.choose(session.capture, picked)
    return session.choice


def downloads(seen: Inspection) -> None:
    """Downloads: the capture, its findings, and reports; created on request."""
    stem = "".join(char if char.isalnum() or char in "-_." else "-" for char in seen.name)
    stem = stem.removesuffix(".jsonl")
    offers: tuple[tuple[str, str, str, Callable[[], str | bytes]], ...] = (
        ("Report (HTML)", "-report.html", "text/html", lambda: report_page(seen)),
        ("Bug report (Markdown)", "-bug-report.md", "text/markdown", lambda: bug_report(seen)),
        ("Capture (JSON lines)", ".jsonl", "application/jsonl", lambda: capture_lines(seen)),
        ("Findings (JSON)", "-findings.json", "application/json", lambda: findings_json(seen)),
        ("Findings (CSV)", "-findings.csv", "text/csv", lambda: findings_csv(seen)),
    )
    with st.popover("Download", icon=":material/download:", width="content"):
        for label, ending, mime, make in offers:
            st.download_button(
                label,
                make,
                stem + ending,
                mime,
                on_click="ignore",
                type="tertiary",
                key=f"replay_download_{mime}",
            )
        st.caption(REPORT_WARNING)


def report_page(seen: Inspection) -> bytes:
    """What `report --html` writes for the capture."""
    # Lone surrogates come from JSON escapes in a stream; they are no text that a file can hold.
    return inspector.html_report(seen).encode("utf-8", "replace")


def bug_report(seen: Inspection) -> bytes:
    """What `report --markdown` writes for the capture."""
    return inspector.markdown_report(seen).encode("utf-8", "replace")


def capture_lines(seen: Inspection) -> str:
    """The capture in the form that it is kept in, whatever file it came from."""
    return "".join(f"{line}\n" for line in dashboard.render(seen.capture))


def findings_json(seen: Inspection) -> str:
    """What `audit --json` prints for the capture."""
    row = dashboard.audit_row(seen.name, seen)
    return json.dumps(row, indent=2) + "\n"


def findings_csv(seen: Inspection) -> str:
    """One row per finding. Cells that a spreadsheet would run as a formula get a leading apostrophe."""
    rows = [dashboard.finding_row(finding) for finding in seen.findings]
    sheet = io.StringIO()
    columns = list(rows[0]) if rows else ["kind", "severity", "explanation"]
    writer = csv.DictWriter(sheet, columns)
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return sheet.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, list):
        return " ".join(map(str, value))
    if isinstance(value, str) and value[:1] in {"=", "+", "-", "@", "\t", "\r"}:
        return "'" + value
    return value


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 10 else None
