"""A probe in formats of other programs: CSV for tables, JUnit for test reports, SARIF for code scanning."""

import csv
import io
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple, assert_never
from xml.sax.saxutils import escape, quoteattr

from inspector.analysis.audit.kinds import KINDS, FindingSide, Kind, Severity
from inspector.fleet.probe.reporting import worst_rows
from inspector.fleet.probe.rows import ProbeRow, Result
from inspector.views.sarif import RESULTS_AT_MOST, kind_words, sarif, sarif_result

_SIDES: Final = (FindingSide.ABORT, FindingSide.TEXT, FindingSide.MODEL, FindingSide.STREAM)

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
_RISKY: Final = ("=", "+", "-", "@", "\t", "\r")


def csv_text(rows: Sequence[ProbeRow]) -> str:
    """One line per request, in the order in which they ended."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        values = {
            **{name: getattr(row, name, None) for name in COLUMNS},
            **{name: getattr(row.response, name) for name in COLUMNS if hasattr(row.response, name)},
            "request": row.number + 1,
            "endpoint": row.endpoint.value,
            "result": row.result.value,
            "kinds": " ".join(row.response.kinds),
        }
        writer.writerow([_cell(values[name]) for name in COLUMNS])
    return out.getvalue()


def _cell(value: object) -> str:
    """A value as text; a spreadsheet takes a text that begins so for a formula."""
    if isinstance(value, float):
        return f"{value:.6f}"
    text = "" if value is None else str(value)
    return f"'{text}" if isinstance(value, str) and text.startswith(_RISKY) else text


def junit_text(rows: Sequence[ProbeRow]) -> str:
    """A test suite for each endpoint, a test case for each request."""
    suites: dict[str, list[ProbeRow]] = {}
    for row in rows:
        suites.setdefault(f"{row.endpoint.value}{' on ' + row.side if row.side else ''}", []).append(row)
    lines = ['<?xml version="1.0" encoding="utf-8"?>', f"<testsuites name={quoteattr(_TOOL)}>"]
    for name, suite_rows in suites.items():
        results = [row.result for row in suite_rows]
        took = sum(row.response.duration_s or 0.0 for row in suite_rows)
        lines.append(
            f'  <testsuite name={quoteattr(name)} tests="{len(suite_rows)}" '
            f'failures="{results.count(Result.DAMAGED)}" errors="{results.count(Result.FAILED)}" '
            f'skipped="{results.count(Result.UNKNOWN)}" time="{took:.3f}">'
        )
        for row in suite_rows:
            lines += _case(row, name)
        lines.append("  </testsuite>")
    return "\n".join([*lines, "</testsuites>", ""])


def _case(row: ProbeRow, suite: str) -> list[str]:
    label = f"request {row.number + 1}: {row.prompt}"
    head = (
        f"    <testcase classname={_attribute(suite)} name={_attribute(label)} "
        f'time="{row.response.duration_s or 0.0:.3f}"'
    )
    kind, message = (
        _attribute(", ".join(row.response.kinds) or row.response.failure),
        _attribute(row.response.sentence),
    )
    place = escape(_plain(row.capture))
    match row.result:
        case Result.OK:
            return [f"{head}/>"]
        case Result.DAMAGED:
            inner = f"<failure type={kind} message={message}>{place}</failure>"
        case Result.FAILED:
            inner = f"<error type={kind} message={message}>{place}</error>"
        case Result.UNKNOWN:
            inner = f"<skipped message={message}/>"
        case _:
            assert_never(row.result)
    return [f"{head}>", f"      {inner}", "    </testcase>"]


def _attribute(text: str) -> str:
    return quoteattr(_plain(text))


def _plain(text: str) -> str:
    """Text without the characters that XML cannot hold."""
    return "".join(char if char.isprintable() or char in "\t\n" else "\ufffd" for char in text)


def sarif_text(rows: Sequence[ProbeRow]) -> str:
    """SARIF 2.1.0: a result for each damaged or failed request, under the worst kind of its findings."""
    bad = (row for row in worst_rows(rows) if row.result is not Result.UNKNOWN)
    return sarif(_TOOL, [_result(row) for row in islice(bad, RESULTS_AT_MOST)], _rule_words)


def _result(row: ProbeRow) -> dict[str, Any]:
    return sarif_result(
        min(row.response.kinds, key=_rank, default=_slug(row.response.failure)),
        "error",
        f"{row.endpoint.value}, {row.prompt}: {row.response.sentence}",
        row.capture or f"request-{row.number + 1}",
        result=row.result.value,
        side=row.side,
        kinds=list(row.response.kinds),
        cause=row.response.cause,
    )


def _rank(kind: str) -> tuple[bool, int]:
    """Kinds in the order in which a verdict speaks of them: errors first, the server's before the model's."""
    if kind not in set(Kind):  # of a later version of the program, whose probe is resumed here
        return True, len(_SIDES)
    info = KINDS[Kind(kind)]
    return info.severity is not Severity.ERROR, _SIDES.index(info.side)


def _rule_words(rule: str) -> str:
    return kind_words(rule) or f"The request failed: {rule}."


def _slug(words: str) -> str:
    return words.lower().replace(" ", "_") or "failed"


class Export(NamedTuple):
    """A format: the command's option for it, and the file that the page offers."""

    option: str
    title: str
    ending: str
    mime: str
    make: Callable[[Sequence[ProbeRow]], str]


EXPORTS: Final = (
    Export("csv", "Requests (CSV)", "csv", "text/csv", csv_text),
    Export("junit", "Test report (JUnit)", "xml", "application/xml", junit_text),
    Export("sarif", "Code scanning (SARIF)", "sarif", "application/sarif+json", sarif_text),
)
