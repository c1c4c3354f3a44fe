"""The supported files: `python -m tools.make_importers` prints what README.md and capture-format.md list."""

import sys

from inspector.files.importers import IMPORTERS


def importers_list() -> str:
    """The formats as a Markdown list, without variants."""
    return "\n".join(f"- {row.files}" for row in IMPORTERS if row.label)


def importers_table() -> str:
    """The formats, their usual suffixes, and what they become, as a Markdown table."""
    rows = (
        f"| {row.files} | {' '.join(f'`{suffix}`' for suffix in row.suffixes)} | {row.becomes} |"
        for row in IMPORTERS
    )
    return "\n".join(["| file | usual suffixes | becomes |", "|---|---|---|", *rows])


if __name__ == "__main__":
    sys.stdout.write(f"{importers_list()}\n\n{importers_table()}\n")
