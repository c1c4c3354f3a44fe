"""`library`: filter, group and list the captures of a scan, with the rows of the Library page."""

from argparse import Namespace, RawDescriptionHelpFormatter
from typing import Any, Final

from inspector.capture.errors import InspectorError
from inspector.commands.scan import scan_folder
from inspector.commands.shared import whole_number, write_text
from inspector.commands.terminal import Commands, print_json, say
from inspector.data.scan import GROUPS, SORTS, Library, row_lines, summarise, summary_lines, summary_row
from inspector.views.spreadsheets import csv_text

_EXAMPLE: Final = """example:
  python -m inspector library scans/evals
  python -m inspector library scans/evals --filter "kind = 'dropped' AND tokens > 500" --rows 20
  python -m inspector library scans/evals --filter "verdict = 'error'" --group-by day
  python -m inspector library scans/evals --filter "tool call leak"

A filter is an SQL expression over the columns of both tables (docs/scan.md); other text is searched as words.
A condition on a column of findings matches captures that have such a finding. Tables show a kind's label and,
where that differs, its key in parentheses; filters take the key.
"""


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "library",
        description="Filter, group and list the captures in the tables that `scan` wrote.",
        epilog=_EXAMPLE,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "folder", nargs="?", metavar="DIR", help="the folder of a scan (default: the default of `scan`)"
    )
    parser.add_argument("--filter", default="", metavar="FILTER", help="only these captures")
    parser.add_argument(
        "--group-by",
        default="version",
        choices=list(GROUPS),
        metavar="COLUMN",
        help=f"count captures by {', '.join(GROUPS)} (default: version)",
    )
    parser.add_argument("--rows", type=whole_number, metavar="N", help="also list the first N captures")
    parser.add_argument(
        "--sort", default="", choices=SORTS, metavar="COLUMN", help="order of the rows (default: worst first)"
    )
    parser.add_argument("--descending", action="store_true", help="largest first")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument(
        "--csv",
        metavar="FILE",
        help="also write the rows as CSV (all, unless --rows limits them); - for standard output",
    )
    parser.set_defaults(run=run)


def run(arguments: Namespace) -> int:
    """Query and print."""
    if arguments.json and arguments.csv == "-":
        raise InspectorError("only one of --json and --csv - can go to standard output; give --csv a file")
    with Library(scan_folder(arguments.folder)) as library, library.within():
        summary = summarise(library, arguments.filter)
        groups = (arguments.group_by, library.groups(arguments.group_by, arguments.filter))
        rows = library.rows(
            arguments.filter,
            sort=arguments.sort,
            descending=arguments.descending,
            limit=None if arguments.rows is None and arguments.csv is not None else arguments.rows or 0,
        )
        listed = rows[: arguments.rows or 0]
        findings: dict[str, list[dict[str, Any]]] = {}
        for finding in library.findings([row["id"] for row in listed]):
            findings.setdefault(finding["capture"], []).append(finding)
    if arguments.csv is not None:
        write_text(arguments.csv, csv_text(list(rows[0]), rows) if rows else "")
    if arguments.json:
        capture_rows = [{**row, "finding_rows": findings.get(row["id"], [])} for row in listed]
        print_json({**summary_row(summary, groups=groups), "filter": arguments.filter, "rows": capture_rows})
    elif arguments.csv != "-":
        say(summary_lines(summary, groups=groups))
        for row in listed:
            say(["", *row_lines(row, findings.get(row["id"], []))])
    return 0
