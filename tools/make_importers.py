"""The supported files: `python -m tools.make_importers` prints the table of docs/capture-format.md."""

import sys

from inspector.files.importers import IMPORTERS


def importers_table() -> str:
    """The formats and what they become, as a Markdown table."""
    rows = (f"| {row.files} | {row.becomes} |" for row in IMPORTERS)
    return "\n".join(["| file | becomes |", "|---|---|", *rows])


if __name__ == "__main__":
    sys.stdout.write(f"{importers_table()}\n")
