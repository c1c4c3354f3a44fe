"""Test reports in the JUnit format, which CI systems show."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final, Literal, NamedTuple

from inspector.analysis.audit import explain
from inspector.analysis.audit.kinds import kind_label
from inspector.analysis.audit.verdict import Level
from inspector.inspection.inspection import Inspection

Fate = Literal["failure", "error", "skipped"]

_COUNTS: Final[dict[Fate, str]] = {"failure": "failures", "error": "errors", "skipped": "skipped"}


class JUnitCase(NamedTuple):
    """A test case; `fate` is None where it passed."""

    suite: str
    name: str
    fate: Fate | None = None
    kind: str = ""
    message: str = ""
    text: str = ""
    seconds: float = 0.0


def junit(tool: str, cases: Iterable[JUnitCase]) -> str:
    """A suite for each name of one, with its cases in order."""
    suites: dict[str, list[JUnitCase]] = {}
    for case in cases:
        suites.setdefault(case.suite, []).append(case)
    lines = ['<?xml version="1.0" encoding="utf-8"?>', f"<testsuites name={_attribute(tool)}>"]
    for name, members in suites.items():
        fates = [case.fate for case in members]
        counts = " ".join(f'{plural}="{fates.count(fate)}"' for fate, plural in _COUNTS.items())
        took = sum(case.seconds for case in members)
        lines.append(
            f'  <testsuite name={_attribute(name)} tests="{len(members)}" {counts} time="{took:.3f}">'
        )
        for case in members:
            lines += _lines(case)
        lines.append("  </testsuite>")
    return "\n".join([*lines, "</testsuites>", ""])


def audit_junit(
    inspections: Sequence[Inspection],
    failing: Sequence[str | None],
    unread: Iterable[tuple[str, str]] = (),
) -> str:
    """A case for each capture: failed for the reason in `failing`, skipped without evidence.

    `unread` are files that could not be read, and why.
    """
    cases = [
        JUnitCase(
            str(inspection.capture.header.endpoint),
            inspection.name,
            "failure" if reason else "skipped" if inspection.verdict.level is Level.UNKNOWN else None,
            ", ".join(dict.fromkeys(str(finding.kind) for finding in inspection.findings)),
            reason or inspection.verdict.sentence,
            "\n".join(
                f"{finding.severity} {kind_label(finding.kind)}: {explain(finding)}"
                for finding in inspection.findings
            ),
        )
        for inspection, reason in zip(inspections, failing, strict=True)
    ]
    cases += [JUnitCase("files", file, "error", "unreadable", sentence) for file, sentence in unread]
    return junit("Harmony Inspector", cases)


def _lines(case: JUnitCase) -> list[str]:
    head = (
        f"    <testcase classname={_attribute(case.suite)} name={_attribute(case.name)} "
        f'time="{case.seconds:.3f}"'
    )
    if case.fate is None:
        return [f"{head}/>"]
    kind = f" type={_attribute(case.kind)}" if case.fate != "skipped" else ""
    text = escape(_plain(case.text), quote=False)
    inner = f"<{case.fate}{kind} message={_attribute(case.message)}>{text}</{case.fate}>"
    return [f"{head}>", f"      {inner}", "    </testcase>"]


def _attribute(text: str) -> str:
    return f'"{escape(_plain(text)).replace(chr(10), "&#10;").replace(chr(9), "&#9;")}"'


def _plain(text: str) -> str:
    """Text without the characters that XML cannot hold."""
    return "".join(char if char.isprintable() or char in "\t\n" else "\ufffd" for char in text)
