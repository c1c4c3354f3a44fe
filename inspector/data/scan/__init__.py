"""Archives: thousands of captures read into two Parquet tables, filtered with one language, and shown.

    from pathlib import Path
    from inspector.data.scan import Library, scan, summarise

    scan(["captures/"], Path("out"))
    with Library(Path("out")) as library:
        print(summarise(library, "kind = 'dropped'").sentence)

docs/scan.md describes columns and filters. DuckDB, Arrow and fsspec are the extra `scan`, imported where they
are used.
"""

from inspector.data.scan.filters import FilterError
from inspector.data.scan.folder import is_scan
from inspector.data.scan.library import GROUPS, SORTS, Counts, Group, Library, Tally
from inspector.data.scan.reporting import (
    Summary,
    cause_fix,
    cause_title,
    column_words,
    group_cells,
    row_lines,
    summarise,
    summary_lines,
    summary_row,
    value_words,
    version_words,
)
from inspector.data.scan.scanning import Progress, progress_words, scan

__all__ = [
    "GROUPS",
    "SORTS",
    "Counts",
    "FilterError",
    "Group",
    "Library",
    "Progress",
    "Summary",
    "Tally",
    "cause_fix",
    "cause_title",
    "column_words",
    "group_cells",
    "is_scan",
    "progress_words",
    "row_lines",
    "scan",
    "summarise",
    "summary_lines",
    "summary_row",
    "value_words",
    "version_words",
]
