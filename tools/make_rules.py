"""The rules of `lint`: `python -m tools.make_rules` prints the table of docs/lint.md."""

import sys

from inspector.lint.rules import RULES

__all__ = ["rules_table"]


def rules_table() -> str:
    """Rule, severity, what was found and what to change, as a Markdown table."""
    rows = (
        f"| `{rule}` | {info.severity} | {_cell(info.what)} | {_cell(info.remedy)} |"
        for rule, info in RULES.items()
    )
    return "\n".join(["| rule | severity | what | fix |", "|---|---|---|---|", *rows])


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "\\<")


if __name__ == "__main__":
    sys.stdout.write(rules_table() + "\n")
