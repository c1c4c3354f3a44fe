"""`python -m tools.make_rules` prints the tables of docs/lint.md: rules of `lint`, causes of `rollout`."""

import sys
from collections.abc import Iterable, Sequence

from inspector.data.lint.rules import RULES
from inspector.data.rollout.causes import CAUSES


def rules_table() -> str:
    """Rule, severity, what was found and what to change, as a Markdown table."""
    rows = ((rule, str(info.severity), info.what, info.remedy) for rule, info in RULES.items())
    return _table(("rule", "severity", "what", "fix"), rows)


def causes_table() -> str:
    """Cause, whether it is expected, what happened and what to change, as a Markdown table."""
    rows = ((cause, str(info.severity), info.what, info.remedy) for cause, info in CAUSES.items())
    return _table(("cause", "severity", "what", "fix"), rows)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for name, *cells in rows:
        lines.append(f"| `{name}` | {' | '.join(map(_cell, cells))} |")
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "\\<")


if __name__ == "__main__":
    sys.stdout.write(f"{rules_table()}\n\n{causes_table()}\n")
