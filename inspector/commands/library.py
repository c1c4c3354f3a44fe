"""`library`: filter, group and list the captures of a scan, with the rows of the Library page."""

from typing import Any, Final

from inspector.capture.errors import InspectorError
from inspector.commands.options import Command, Options, flag, option
from inspector.commands.progress import progress
from inspector.commands.scan import scan_folder
from inspector.commands.shared import Number, as_json, write_text
from inspector.commands.terminal import Heading, Verdict, print_json, say
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


class Query(Options):
    """Filter, group and list the captures in the tables that `scan` wrote."""

    folder: str | None = option(
        "the folder of a scan (default: the default of `scan`)", None, "DIR", positional=True
    )
    filter: str = option("only these captures", "", "FILTER")
    group_by: str = option(
        f"count captures by {', '.join(GROUPS)}", "version", "COLUMN", choices=list(GROUPS)
    )
    rows: Number | None = option("also list the first N captures", None)
    sort: str = option("order of the rows (default: worst first)", "", "COLUMN", choices=SORTS)
    descending: bool = flag("largest first")
    json: bool = as_json()
    csv: str | None = option(
        "also write the rows as CSV (all, unless --rows limits them); - for standard output", None, "FILE"
    )


def run(options: Query) -> int:
    """Query and print."""
    if options.json and options.csv == "-":
        raise InspectorError("only one of --json and --csv - can go to standard output; give --csv a file")
    folder = scan_folder(options.folder)
    with progress() as step, Library(folder) as library, library.within():
        step(f"reading {folder}")
        summary = summarise(library, options.filter)
        groups = (options.group_by, library.groups(options.group_by, options.filter))
        rows = library.rows(
            options.filter,
            sort=options.sort,
            descending=options.descending,
            limit=None if options.rows is None and options.csv is not None else options.rows or 0,
        )
        listed = rows[: options.rows or 0]
        findings: dict[str, list[dict[str, Any]]] = {}
        for finding in library.findings([row["id"] for row in listed]):
            findings.setdefault(finding["capture"], []).append(finding)
    if options.csv is not None:
        write_text(options.csv, csv_text(list(rows[0]), rows) if rows else "")
    if options.json:
        capture_rows = [{**row, "finding_rows": findings.get(row["id"], [])} for row in listed]
        print_json({**summary_row(summary, groups=groups), "filter": options.filter, "rows": capture_rows})
    elif options.csv != "-":
        say(summary_lines(summary, groups=groups))
        for row in listed:
            place, *lines = row_lines(row, findings.get(row["id"], []))
            say(["", Heading(place), *map(Verdict, lines)])
    return 0


COMMAND: Final = Command(Query, run, _EXAMPLE)
