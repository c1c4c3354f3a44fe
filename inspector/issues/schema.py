"""Types of the catalogue's fields that are not plain words."""

import re
from enum import StrEnum
from functools import cached_property
from typing import Annotated, ClassVar, Final, Literal

import msgspec

from inspector.files.tables import one_of
from inspector.issues.prefilter import LEAST, needed_literal
from inspector.issues.versions import VERSION
from inspector.protocol.engines import ENGINES
from inspector.protocol.harmony.violations import Violation

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
