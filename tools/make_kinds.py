"""The kinds of finding: `python -m tools.make_kinds` prints the table of docs/architecture.md."""

import sys

from inspector.analysis.audit.kinds import KINDS


def kinds_table() -> str:
    """Key, label, usual severity and when it is found, as a Markdown table."""
    rows = (
        f"| `{kind}` | {info.label} | {info.severity} | {info.when.replace('|', chr(92) + '|')} |"
        for kind, info in KINDS.items()
    )
    return "\n".join(["| kind | label | severity | when |", "|---|---|---|---|", *rows])


if __name__ == "__main__":
    sys.stdout.write(kinds_table() + "\n")
