"""`lint`: check training data and evaluation logs."""

from collections.abc import Iterator, Sequence
from typing import Final

from inspector.analysis.audit import Severity
from inspector.capture.errors import InspectorError
from inspector.capture.formats import clip, count, number
from inspector.commands.checks import checks_junit, exit_code, report_lines, say_reports
from inspector.commands.options import Command, flag, option, required
from inspector.commands.progress import in_turn
from inspector.commands.shared import (
    FailOn,
    Number,
    Rows,
    exit_level,
    one_on_standard_output,
    unreadable,
    write_text,
)
from inspector.commands.terminal import tell
from inspector.data.lint import RULES, Column, Form, LintReport, Rule, lint
from inspector.views.sarif import RuleText, SourceLine, sarif, sarif_result

_EXAMPLE = """examples:
  python -m inspector lint samples_ifeval.jsonl.gz --answer filtered_resps --json
  python -m inspector lint train.parquet --ids input_ids --training

exit codes: 0 no findings at the level of --fail-on, 1 findings, 2 a file cannot be read, or nothing in it
was checked
"""
_EXCERPT = 44


_COLUMN: Final = "a column that holds {}; repeatable, dots reach into nested objects"


class Lint(Rows):
    """Check JSON Lines (also .gz and .zst), JSON, Parquet and Inspect logs row by row.

    Columns of rendered text, chat messages, token IDs and scored text are detected unless you name them.
    """

    files: tuple[str, ...] = required(
        "a data set or log; - is standard input", "FILE", positional=True, globs=True
    )
    text: tuple[str, ...] = option(_COLUMN.format("rendered text"), (), "COLUMN", repeatable=True)
    messages: tuple[str, ...] = option(_COLUMN.format("chat messages"), (), "COLUMN", repeatable=True)
    ids: tuple[str, ...] = option(_COLUMN.format("token IDs"), (), "COLUMN", repeatable=True)
    answer: tuple[str, ...] = option(
        _COLUMN.format("scored text of an evaluation"), (), "COLUMN", repeatable=True
    )
    training: bool = flag("require <|return|> at the end of every row whose last message is a final answer")
    max_findings: Number = option("list at most N findings per file; all are counted", 100)
    fail_on: FailOn = exit_level()
    sarif: str | None = option("also write the listed findings for code scanning", None, "FILE")
    junit: str | None = option("also write a test report", None, "FILE")


def run(options: Lint) -> int:
    """Check each file."""
    one_on_standard_output(json=options.for_programs, junit=options.junit, sarif=options.sarif)
    by_form = {
        Form.TEXT: options.text,
        Form.MESSAGES: options.messages,
        Form.IDS: options.ids,
        Form.ANSWER: options.answer,
    }
    columns = [Column(name, form) for form in Form for name in by_form[form]]
    reports: list[LintReport] = []
    unread: list[tuple[str, str]] = []
    for file in in_turn(options.files):
        try:
            reports.append(
                lint(file, columns=columns, training=options.training, max_findings=options.max_findings)
            )
        except InspectorError as error:  # the other files are still read
            tell(f"inspector: {error}")
            unread.append((file, str(error)))
    if options.for_programs:
        rows = [report.as_row for report in reports]
        rows += [unreadable(file, sentence) for file, sentence in unread]
        options.print_rows(rows, several=len(options.files) > 1)
    elif "-" not in {options.sarif, options.junit}:
        say_reports(map(_lines, reports))
    if options.sarif is not None:
        write_text(options.sarif, _sarif(reports))
    if options.junit is not None:
        write_text(options.junit, checks_junit("lint", reports, RULES, options.fail_on, unread))
    if unread or any(report.level == "unknown" for report in reports):
        return 2
    return exit_code((RULES[rule] for report in reports for rule in report.counts), options.fail_on)


def _lines(report: LintReport) -> Iterator[str]:
    rows = [("row", "column", "place", "severity", "rule", "text")]
    rows += [
        (
            number(finding.row),
            finding.path,
            finding.place,
            str(finding.severity),
            str(finding.rule),
            clip(finding.excerpt or finding.note, _EXCERPT),
        )
        for finding in report.findings
    ]
    unlisted = report.found - len(report.findings)
    return report_lines(
        report, rows, count(unlisted, "more finding") if unlisted else "", report.counts, RULES
    )


def _sarif(reports: Sequence[LintReport]) -> str:
    results = [
        sarif_result(
            str(finding.rule),
            "error" if finding.severity is Severity.ERROR else "warning",
            f"{finding.explanation} {finding.remedy}",
            [SourceLine(report.name, finding.row if report.format == "JSON Lines" else 1)],
            row=finding.row,
            column=finding.column,
            at=finding.place,
        )
        for report in reports
        for finding in report.findings
    ]
    return sarif("Harmony Inspector", results, _rule_text)


def _rule_text(rule: str) -> RuleText:
    advice = RULES[Rule(rule)]
    return RuleText(rule.replace("_", " "), advice.what, advice.remedy)


COMMAND: Final = Command(Lint, run, _EXAMPLE)
