"""Types of the catalogue's fields that are not plain words."""

import re
from enum import StrEnum
from functools import cached_property
from typing import Annotated, ClassVar, Final, Literal

import msgspec

from inspector.files.tables import one_of
from inspector.issues.catalogue.versions import VERSION
from inspector.protocol.engines import ENGINES
from inspector.protocol.harmony.violations import Violation

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


_SERVERS: Final = tuple(engine.program for engine in ENGINES if engine.program)
Program = Annotated[str, one_of((*_SERVERS, "openai-harmony", "oss-harmony", "llamafactory"))]
"""A program that `affected` and `fixed_in` may name."""
EngineName = Annotated[str, one_of(engine.name for engine in ENGINES)]
ViolationName = Annotated[str, one_of(violation.name.lower() for violation in Violation)]
Version = Annotated[str, msgspec.Meta(pattern=rf"\A(?:{VERSION.pattern})\Z")]
MessagePart = Literal["role", "channel", "recipient", "content_type", "body", "name", "header", "stop"]


class Edge(StrEnum):
    """An end of a message's body."""

    START = "start"
    END = "end"


class Expression:
    """A regular expression; its dot matches line feeds too."""

    FLAGS: ClassVar = re.DOTALL

    def __init__(self, text: str) -> None:
        if not text:
            raise ValueError("an empty expression matches everything")
        self.text: Final = text

    @cached_property
    def expression(self) -> re.Pattern[str]:
        """Compiled when first used: to read one stream takes few of the catalogue's; tests compile all."""
        return re.compile(self.text, self.FLAGS)


class AnyCase(Expression):
    """A regular expression on the words of a whole text, in any case."""

    FLAGS = re.DOTALL | re.IGNORECASE


class Pattern(Expression):
    """A regular expression on a line, and a text that every match contains, which is quick to look for."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        literal = needed_literal(text)
        if literal is None:
            raise ValueError(
                f"{text!r} has no run of {LEAST} plain characters outside brackets that every match "
                "contains; logs are searched for that run first"
            )
        self.literal = literal


class Hint(Pattern):
    """A regular expression on the text around a failure, in any case; the literal is in lower case."""

    FLAGS = re.IGNORECASE

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.literal = self.literal.lower()
