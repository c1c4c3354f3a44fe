"""Readers of the catalogue's fields: each takes a value of the YAML file and returns ours, or refuses it.

A reader refuses by raising `Wrong` with half a sentence; `catalogue` adds the entry and the field.
"""

import re
from collections.abc import Callable
from typing import Any, Final

from inspector.issues.issue import Pattern
from inspector.issues.prefilter import needed_literal
from inspector.issues.versions import Range, as_version
from inspector.protocol.engines import ENGINES
from inspector.protocol.harmony.violations import Violation

PROGRAMS: Final = (*(engine.program for engine in ENGINES), "openai-harmony", "oss-harmony", "llamafactory")
"""Programs that `affected` and `fixed_in` may name."""

_ID: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_MESSAGE_PARTS: Final = ("role", "channel", "recipient", "content_type", "body", "name")


class Wrong(Exception):
    """A field is not as the schema says; the text is the sentence without the entry."""


class Fields:
    """The keys of one mapping, each taken once."""

    def __init__(self, mapping: object, what: str) -> None:
        if not isinstance(mapping, dict) or not all(isinstance(key, str) for key in mapping):
            raise Wrong(f"{what} must be a mapping with words as keys")
        self.left: dict[str, Any] = dict(mapping)
        self.what = what

    def take(
        self, key: str, read: Callable[[Any], Any], default: Any = ..., *, one_is_enough: bool = False
    ) -> Any:
        """The value of a key as `read` makes it; the default when the key is absent."""
        if key not in self.left:
            if default is ...:
                raise Wrong(f"{key} is missing")
            return default
        value = self.left.pop(key)
        if one_is_enough and not isinstance(value, list):
            value = [value]
        try:
            return read(value)
        except Wrong as wrong:
            raise Wrong(f"{key}: {wrong}") from wrong

    def done(self) -> None:
        """Refuse keys that nobody took."""
        if self.left:
            raise Wrong(f"{sorted(self.left)[0]} is not a key of {self.what}")


def text(value: object) -> str:
    """A text, without the spaces around it."""
    if not isinstance(value, str) or not value.strip():
        raise Wrong("must be a text that is not empty")
    return value.strip()


def verbatim(value: object) -> str:
    """A text, spaces and all."""
    text(value)
    return str(value)


def flag(value: object) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise Wrong("must be true or false")
    return value


def identifier(value: object) -> str:
    """An id of an entry."""
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise Wrong("must be lower-case words joined by hyphens")
    return value


def word(words: Callable[[str], Any]) -> Callable[[object], Any]:
    """A reader of one word of a closed set."""

    def read(value: object) -> Any:
        try:
            return words(value if isinstance(value, str) else "")
        except ValueError as error:
            known = ", ".join(str(word) for word in words)  # type: ignore[attr-defined]
            raise Wrong(f"{value!r} is none of: {known}") from error

    return read


def several(read: Callable[[Any], Any]) -> Callable[[object], tuple[Any, ...]]:
    """A reader of a list that is not empty."""

    def read_all(value: object) -> tuple[Any, ...]:
        if not isinstance(value, list) or not value:
            raise Wrong("must be a list that is not empty")
        return tuple(read(item) for item in value)

    return read_all


def mapping(read: Callable[[Any], Any]) -> Callable[[object], dict[str, Any]]:
    """A reader of a mapping from words."""

    def read_all(value: object) -> dict[str, Any]:
        fields = Fields(value, "it")
        return {key: fields.take(key, read) for key in list(fields.left)}

    return read_all


def by_program(read: Callable[[Any], Any]) -> Callable[[object], dict[str, Any]]:
    """A reader of a mapping from the PROGRAMS."""

    def read_all(value: object) -> dict[str, Any]:
        found = mapping(read)(value)
        for program in found:
            if program not in PROGRAMS:
                raise Wrong(f"{program} is none of: {', '.join(PROGRAMS)}")
        return found

    return read_all


def engine(value: object) -> str:
    """The name of an engine."""
    names = [one.name for one in ENGINES]
    if value not in names:
        raise Wrong(f"{value!r} is none of: {', '.join(names)}")
    return str(value)


def version_range(value: object) -> Range:
    """A range of versions."""
    try:
        return Range(text(value))
    except ValueError as error:
        raise Wrong(str(error)) from error


def version(value: object) -> str:
    """One version."""
    number = text(value)
    if as_version(number) is None:
        raise Wrong(f"{number!r} is not a version")
    return number


def expression(value: object) -> re.Pattern[str]:
    """A regular expression; its dot matches line feeds too."""
    if not isinstance(value, str):
        raise Wrong("must be a regular expression")
    try:
        return re.compile(value, re.DOTALL)
    except re.error as error:
        raise Wrong(f"{value!r} is not a regular expression: {error}") from error


def pattern(value: object) -> Pattern:
    """A regular expression on error text, with the text that its matches contain."""
    found = expression(text(value))
    literal = needed_literal(found.pattern)
    if literal is None:
        raise Wrong(
            f"{found.pattern!r} has no run of 4 plain characters outside brackets that every match "
            "contains; logs are searched for that run first"
        )
    return Pattern(found, literal)


def hint(value: object) -> Pattern:
    """A regular expression on the text around a failure, whatever its case; the literal is in lower case."""
    found = pattern(value)
    return Pattern(re.compile(found.expression.pattern, re.IGNORECASE), found.literal.lower())


def anywhere(value: object) -> re.Pattern[str]:
    """A regular expression on the words of a whole text, in any case."""
    return re.compile(expression(text(value)).pattern, re.IGNORECASE | re.DOTALL)


def violation(value: object) -> Violation:
    """A violation of the grammar by its name: `return_after_end`."""
    names = [violation.name.lower() for violation in Violation]
    if value not in names:
        raise Wrong(f"{value!r} is none of: {', '.join(names)}")
    return Violation[str(value).upper()]


def message(value: object) -> dict[str, re.Pattern[str]]:
    """Regular expressions by part of a message."""
    found = mapping(expression)(value)
    for part in found:
        if part not in _MESSAGE_PARTS:
            raise Wrong(f"{part} is none of: {', '.join(_MESSAGE_PARTS)}")
    return found
