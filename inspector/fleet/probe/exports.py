"""A probe in formats of other programs: CSV for tables, JUnit for test reports, SARIF for code scanning."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from inspector.analysis.audit.kinds import Kind
from inspector.capture.formats import count
from inspector.fleet.probe.reporting import worst_rows
from inspector.fleet.probe.rows import ProbeRow, Result
from inspector.views.junit import Fate, JUnitCase, junit
from inspector.views.sarif import RuleText, SourceLine, kind_text, rank, sarif, sarif_result
from inspector.views.spreadsheets import csv_text as spreadsheet

COLUMNS: Final = (
    "request",
    "side",
    "level",
    "endpoint",
    "prompt",
    "streamed",
    "control",
    "started_s",
    "in_flight",
    "deferred",
    "result",
    "failure",
    "status",
    "kinds",
    "cause",
    "evidence",
    "tokens",
    "events",
    "tokens_per_event",
    "first_token_s",
    "duration_s",
    "capture",
    "sentence",
)
"""The columns of the CSV: added to at the end, never renamed."""

_TOOL: Final = "Harmony Inspector probe"
_FATES: Final[dict[Result, Fate | None]] = {
    Result.OK: None,
    Result.DAMAGED: "failure",
    Result.FAILED: "error",
    Result.UNKNOWN: "skipped",
}


def csv_text(rows: Sequence[ProbeRow], _folder: Path | None = None) -> str:
    """One line per request, in the order in which they ended."""
    return spreadsheet(COLUMNS, map(_values, rows))


def _values(row: ProbeRow) -> dict[str, object]:
    values = {
        **{name: getattr(row, name, None) for name in COLUMNS},
        **{name: getattr(row.response, name) for name in COLUMNS if hasattr(row.response, name)},
        "request": row.number + 1,
        "endpoint": row.endpoint.value,
        "result": row.result.value,
        "kinds": " ".join(row.response.kinds),
    }
    return {name: f"{value:.6f}" if isinstance(value, float) else value for name, value in values.items()}


def junit_text(rows: Sequence[ProbeRow], folder: Path | None = None) -> str:
    """A test suite for each endpoint, a test case for each request."""
    return junit(_TOOL, (_case(row, folder) for row in rows))


def _case(row: ProbeRow, folder: Path | None) -> JUnitCase:
    return JUnitCase(
        f"{row.endpoint.value}{' on ' + row.side if row.side else ''}",
        f"request {row.number + 1}: {row.prompt}",
        _FATES[row.result],
        ", ".join(row.response.kinds) or row.response.failure,
        row.response.sentence,
        _capture(row, folder),
        row.response.duration_s or 0.0,
    )


def _capture(row: ProbeRow, folder: Path | None) -> str:
    """The file of its capture, as seen from where the program runs."""
    return str(folder / row.capture) if folder is not None and row.capture else row.capture


def sarif_text(rows: Sequence[ProbeRow], folder: Path | None = None) -> str:
    """SARIF 2.1.0: a result for each cause and prompt of damaged or failed requests.

    It points at the request's line of `rows.jsonl`: captures are called otherwise in each run.
    """
    lines = {id(row): line for line, row in enumerate(rows, 1)}
    groups: dict[tuple[str, ...], list[ProbeRow]] = {}
    for row in worst_rows(rows):
        if row.result is not Result.UNKNOWN:
            group_key: tuple[str, ...] = (
                row.response.cause or _rule(row),
                row.endpoint.value,
                row.side,
                row.prompt,
            )
            groups.setdefault(group_key, []).append(row)
    results = []
    for group_key, members in groups.items():
        first = members[0]
        captures = [_capture(row, folder) for row in members if row.capture]
        row_line = SourceLine(
            "rows.jsonl" if folder is None else str(folder / "rows.jsonl"), lines[id(first)]
        )
        results.append(
            sarif_result(
                _rule(first),
                "error",
                f"{first.endpoint.value}, {first.prompt}: {first.response.sentence} "
                f"{count(len(members), 'request')} with this prompt and cause."
                + (f" Capture: {captures[0]}" if captures else ""),
                [row_line, *map(SourceLine, captures)],
                same=group_key,
                times=len(members),
                result=first.result.value,
                side=first.side,
                kinds=list(dict.fromkeys(kind for row in members for kind in row.response.kinds)),
                cause=first.response.cause,
            )
        )
    return sarif(_TOOL, results, _rule_text)


def _rule(row: ProbeRow) -> str:
    return min(
        row.response.kinds, key=rank, default=row.response.failure.lower().replace(" ", "_") or "failed"
    )


def _rule_text(rule: str) -> RuleText:
    return (
        kind_text(rule)
        if rule in set(Kind)
        else RuleText(rule.replace("_", " "), f"The request failed: {rule}.")
    )


class Export(NamedTuple):
    """A format: the command's option for it, and the file that the page offers."""

    option: str
    title: str
    ending: str
    mime: str
    make: Callable[[Sequence[ProbeRow], Path | None], str]
    """The text for rows, and the folder that they and their captures are in."""


EXPORTS: Final = (
    Export("csv", "Requests (CSV)", "csv", "text/csv", csv_text),
    Export("junit", "Test report (JUnit)", "xml", "application/xml", junit_text),
    Export("sarif", "Code scanning (SARIF)", "sarif", "application/sarif+json", sarif_text),
)
