"""`python -m tools.make_rules` prints the tables of docs/lint.md: rules of `lint`, causes of `rollout`."""

import sys
from collections.abc import Iterable, Sequence

from inspector.data.lint.rules import RULES
from inspector.data.rollout.causes import CAUSES


def rules_table() -> str:
    """Rule, severity and what it is about, as a Markdown table; `lint` prints the fix."""
    rows = ((rule, str(info.severity), info.what) for rule, info in RULES.items())
    return _table(("rule", "severity", "what"), rows)


def causes_table() -> str:
    """Cause, severity and what happened, as a Markdown table; `rollout` prints the fix."""
    rows = ((cause, str(info.severity), info.what) for cause, info in CAUSES.items())
    return _table(("cause", "severity", "what"), rows)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for name, *cells in rows:
        lines.append(f"| `{name}` | {' | '.join(map(_cell, cells))} |")
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "\\<")


if __name__ == "__main__":
    sys.stdout.write(f"{rules_table()}\n\n{causes_table()}\n")
