"""The columns of a scan: `python -m tools.make_columns` prints the tables of docs/scan.md."""

import sys
from collections.abc import Sequence

from inspector.data.scan.columns import CAPTURES, FINDINGS, Column


def columns_table(columns: Sequence[Column]) -> str:
    """Column, type and meaning, as a Markdown table."""
    rows = (f"| `{column.name}` | {column.type} | {column.meaning} |" for column in columns)
    return "\n".join(["| column | type | meaning |", "|---|---|---|", *rows])


if __name__ == "__main__":
    sys.stdout.write(f"{columns_table(CAPTURES)}\n\n{columns_table(FINDINGS)}\n")
