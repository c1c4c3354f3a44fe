"""The supported files: `python -m tools.make_importers` prints the table of docs/capture-format.md."""

import sys

from inspector.files.importers import IMPORTERS


def importers_table() -> str:
    """The formats, their usual suffixes, and what they become, as a Markdown table."""
    rows = (
        f"| {row.files} | {' '.join(f'`{suffix}`' for suffix in row.suffixes)} | {row.becomes} |"
        for row in IMPORTERS
    )
    return "\n".join(["| file | usual suffixes | becomes |", "|---|---|---|", *rows])


if __name__ == "__main__":
    sys.stdout.write(f"{importers_table()}\n")
