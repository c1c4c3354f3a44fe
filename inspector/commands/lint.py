"""`lint`: check training data and evaluation logs."""

from argparse import Namespace, RawDescriptionHelpFormatter
from collections.abc import Iterator, Sequence

from inspector.analysis.audit import Severity
from inspector.capture.errors import InspectorError
from inspector.capture.formats import clip, count, number
from inspector.commands.checks import add_options, exit_code, report_lines, say_reports
from inspector.commands.shared import one_on_standard_output, write_text
from inspector.commands.terminal import Commands, print_json, tell
from inspector.data.lint import RULES, Column, Form, LintReport, Rule, lint
from inspector.views.sarif import Place, RuleText, sarif, sarif_result

_EXAMPLE = """examples:
  python -m inspector lint fixtures/lint/template-teaches-two-terminators.jsonl
  python -m inspector lint samples_ifeval.jsonl.gz --answer filtered_resps --json
  python -m inspector lint train.parquet --ids input_ids --training

exit codes: 0 no findings at the level of --fail-on, 1 findings, 2 a file cannot be read, or nothing in it
  was checked
"""
_EXCERPT = 44


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "lint",
        description="Check JSON Lines (also .gz and .zst), JSON, Parquet and Inspect logs row by row: "
        "rendered text, chat messages, token IDs, scored text. Columns are detected unless you name them.",
        epilog=_EXAMPLE,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="a data set or log; - is standard input")
    for form, what in (
        (Form.TEXT, "rendered text"),
        (Form.MESSAGES, "chat messages"),
        (Form.IDS, "token IDs"),
        (Form.ANSWER, "scored text of an evaluation"),
    ):
        parser.add_argument(
            f"--{form}",
            action="append",
            default=[],
            metavar="COLUMN",
            help=f"a column that holds {what}; repeatable, dots reach into nested objects",
        )
    parser.add_argument(
        "--training",
        action="store_true",
        help="require <|return|> at the end of every row whose last message is a final answer",
    )
    add_options(parser, listed="findings", files="files")
    parser.add_argument("--sarif", metavar="FILE", help="also write the listed findings for code scanning")
    parser.set_defaults(run=run)


def run(arguments: Namespace) -> int:
    """Check each file."""
    columns = [Column(name, form) for form in Form for name in getattr(arguments, str(form))]
    reports: list[LintReport] = []
    for file in arguments.files:
        try:
            reports.append(
                lint(file, columns=columns, training=arguments.training, max_findings=arguments.max_findings)
            )
        except InspectorError as error:  # the other files are still read
            tell(f"inspector: {error}")
    one_on_standard_output(arguments)
    if arguments.json:
        rows = [report.as_row for report in reports]
        if reports or len(arguments.files) > 1:
            print_json(rows[0] if len(rows) == 1 and len(arguments.files) == 1 else rows)
    elif arguments.sarif != "-":
        say_reports(map(_lines, reports))
    if arguments.sarif is not None:
        write_text(arguments.sarif, _sarif(reports))
    if len(reports) < len(arguments.files) or any(report.level == "unknown" for report in reports):
        return 2
    return exit_code((RULES[rule] for report in reports for rule in report.counts), arguments.fail_on)


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
    more = report.found - len(report.findings)
    return report_lines(report, rows, count(more, "more finding") if more else "", report.counts, RULES)


def _sarif(reports: Sequence[LintReport]) -> str:
    results = [
        sarif_result(
            str(finding.rule),
            "error" if finding.severity is Severity.ERROR else "warning",
            f"{finding.explanation} {finding.remedy}",
            [Place(report.name, finding.row if report.format == "JSON Lines" else 1)],
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
