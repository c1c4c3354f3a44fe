"""Versions and ranges of versions, as the catalogue writes them (`>=0.10.0,<0.14.0 or ==0.16.0`).

Knows release numbers, release candidates and development builds of the programs in question; it is
not an implementation of PEP 440 and rejects what it does not know.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from operator import eq, ge, gt, le, lt
from typing import Final, NamedTuple

VERSION: Final = re.compile(r"v?(\d{1,6}(?:\.\d{1,6}){1,3})(?:\.?(rc|dev|a|b|post)\.?(\d{0,6}))?(?:[+-].*)?")
_ORDER: Final = {"dev": -4, "a": -3, "b": -2, "rc": -1, None: 0, "post": 1}
_OPERATORS: Final[dict[str, Callable[[tuple[int, ...], tuple[int, ...]], bool]]] = {
    ">=": ge,
    "<=": le,
    "==": eq,
    ">": gt,
    "<": lt,
}
_CLAUSE: Final = re.compile(r"(>=|<=|==|>|<)\s*(\S+)")


@lru_cache(maxsize=1024)
def as_version(text: str) -> tuple[int, ...] | None:
    """A version as numbers that compare in order; None for what is no version.

    Four parts of the number, then the kind of build and its count; a local part (`+cpu`) is ignored.
    """
    match = VERSION.fullmatch(text.strip())
    if match is None:
        return None
    parts = [int(part) for part in match[1].split(".")]
    return (*parts, *[0] * (4 - len(parts)), _ORDER[match[2]], int(match[3] or 0))


class ReportedVersion(NamedTuple):
    """A server version that a line reports."""

    version: str
    source: str
    """Where it was found: start-up line, system_fingerprint, /version, the text."""
    line: int
    """Line number, from 1."""


class Range:
    """Versions that fulfil all clauses of one alternative; ValueError for what is no range."""

    def __init__(self, text: str) -> None:
        self.text: Final = text
        """As written: clauses joined by commas, alternatives by ` or `."""
        self._alternatives: Final = [
            [_clause(clause.strip()) for clause in part.split(",")] for part in text.split(" or ")
        ]

    def __contains__(self, version: str) -> bool:
        """True when the version is inside; ValueError for what is no version."""
        number = as_version(version)
        if number is None:
            raise ValueError(f"{version!r} is not a version")
        # A release candidate of the first good release may still be bad: `<0.14.0` holds for 0.14.0rc1.
        return any(
            all(_OPERATORS[operator](number, bound) for operator, bound in clauses)
            for clauses in self._alternatives
        )


def _clause(text: str) -> tuple[str, tuple[int, ...]]:
    match = _CLAUSE.fullmatch(text)
    number = as_version(match[2]) if match else None
    if match is None or number is None:
        raise ValueError(f"{text!r} is not an operator (>= <= == > <) and a version")
    return match[1], number
