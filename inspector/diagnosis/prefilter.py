"""The longest text that every match of a regular expression contains, so that lines can be passed over fast.

Looks only at plain characters outside brackets; it may miss a text, and never names one that a match
can lack.
"""

import re
from typing import Final

__all__ = ["LEAST", "needed_literal"]

LEAST: Final = 4
"""Shorter runs would be found in nearly every line."""

_PUNCTUATION: Final = re.compile(r"[^A-Za-z0-9]")


def needed_literal(expression: str) -> str | None:
    """The longest run of plain characters that any match contains; None when none has `LEAST` of them."""
    if "(?i" in expression or "(?x" in expression or "(?a" in expression:
        return None
    runs = [""]
    depth = 0
    place = 0
    while place < len(expression):
        char = expression[place]
        step = 1
        plain: str | None = None
        if char == "\\":
            step = 2
            plain = expression[place + 1] if _PUNCTUATION.match(expression[place + 1]) else None
        elif char == "[":
            step = _set_length(expression[place:])
        elif char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
        elif char == "|" and depth == 0:
            return None
        elif char not in ".^$*+?{}":
            plain = char
        elif char == "{":
            step = expression[place:].find("}") + 1 or 1
        after = expression[place + step : place + step + 1]
        optional = after in ("*", "?") or expression[place + step :].startswith("{0")
        if plain is not None and depth == 0 and not optional:
            runs[-1] += plain
            if after in ("+", "{"):  # at least once, then perhaps more
                runs.append("")
        else:
            runs.append("")
        place += step
    longest = max(runs, key=len)
    return longest if len(longest) >= LEAST else None


def _set_length(expression: str) -> int:
    """Length of the character set that an expression begins with, its brackets included."""
    place = 2 if expression[1:2] == "^" else 1
    if expression[place : place + 1] == "]":
        place += 1
    while place < len(expression) and expression[place] != "]":
        place += 2 if expression[place] == "\\" else 1
    return place + 1
