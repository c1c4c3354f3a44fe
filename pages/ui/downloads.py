"""The download menus of the pages: reports, captures and findings, made when they are downloaded."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import streamlit as st

import inspector
from inspector import Comparison, Inspection
from inspector.views.exports import capture_lines, findings_csv, findings_json

REPORT_WARNING: Final = "API keys are removed; prompts and responses are not. Read it before you publish it."


class Download(NamedTuple):
    """One file of a menu."""

    label: str
    file: str
    mime: str
    make: Callable[[], str | bytes]


def menu(downloads: Sequence[Download], *, key: str, caption: str = "") -> None:
    """Draw the menu; `key` begins the keys of its buttons."""
    with st.popover("Download", icon=":material/download:", width="content"):
        for download in downloads:
            st.download_button(
                download.label,
                download.make,
                download.file,
                download.mime,
                on_click="ignore",
                type="tertiary",
                key=f"{key}_{download.mime}",
            )
        if caption:
            st.caption(caption)


def reports(
    inspection: Inspection, *, page: str, bug_report: str, against: Comparison | None = None
) -> list[Download]:
    """The HTML page and the bug report of a capture, under these file names."""
    return [
        Download(
            "Report (HTML)",
            page,
            "text/html",
            lambda: _encoded(inspector.html_report(inspection, against=against)),
        ),
        Download(
            "Bug report (Markdown)",
            bug_report,
            "text/markdown",
            lambda: _encoded(inspector.markdown_report(inspection)),
        ),
    ]


def capture_downloads(inspection: Inspection) -> list[Download]:
    """Everything that a capture can be downloaded as."""
    stem = "".join(char if char.isalnum() or char in "-_." else "-" for char in inspection.name)
    stem = stem.removesuffix(".jsonl")
    return [
        *reports(inspection, page=f"{stem}-report.html", bug_report=f"{stem}-bug-report.md"),
        Download(
            "Capture (JSON lines)",
            f"{stem}.jsonl",
            "application/jsonl",
            lambda: capture_lines(inspection),
        ),
        Download(
            "Findings (JSON)",
            f"{stem}-findings.json",
            "application/json",
            lambda: findings_json(inspection),
        ),
        Download(
            "Findings (CSV)",
            f"{stem}-findings.csv",
            "text/csv",
            lambda: findings_csv(inspection),
        ),
    ]


def _encoded(text: str) -> bytes:
    # Lone surrogates come from JSON escapes in a stream; UTF-8 cannot encode them.
    return text.encode("utf-8", "replace")
