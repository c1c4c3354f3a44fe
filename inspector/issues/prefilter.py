"""The longest text that every match of a regular expression contains, so that lines can be passed over fast.

Looks only at plain characters outside brackets; it may miss a text, and never names one that a match
can lack.
"""

import re
from typing import Final

LEAST: Final = 4
"""Shorter runs would be found in nearly every line."""

_ATOM: Final = re.compile(
    r"""\\(?P<escaped>[^A-Za-z0-9]) | \\.        # a character that is meant as it is; a class like \d
    | \[\^?\]?(?:\\.|[^\]\\])*\] | \{[^}]*\}      # a set; a count
    | (?P<plain>[^.^$*+?{}()|\[\\]) | .           # a plain character; anything else""",
    re.VERBOSE | re.DOTALL,
)


def needed_literal(expression: str) -> str | None:
    """The longest run of plain characters that any match contains; None when none has `LEAST` of them."""
    if "(?i" in expression or "(?x" in expression or "(?a" in expression:
        return None
    runs = [""]
    depth = 0
    for atom in _ATOM.finditer(expression):
        depth += {"(": 1, ")": -1}.get(atom[0], 0)
        if atom[0] == "|" and depth == 0:
            return None
        plain = atom["plain"] or atom["escaped"]
        optional = expression.startswith(("*", "?", "{0"), atom.end())
        if plain is None or depth or optional:
            runs.append("")
            continue
        runs[-1] += plain
        if expression.startswith(("+", "{"), atom.end()):  # at least once, then perhaps more
            runs.append("")
    longest = max(runs, key=len)
    return longest if len(longest) >= LEAST else None
