"""Objects that other distributions add to the program: they name them in entry points."""

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from inspector.capture.errors import InspectorError


@cache
def installed(group: str) -> dict[str, EntryPoint]:
    """The entry points of a group by name, in alphabetical order; nothing is imported."""
    return {entry.name: entry for entry in sorted(entry_points(group=group), key=lambda entry: entry.name)}


def distribution_of(entry: EntryPoint) -> str:
    """The distribution that has an entry point."""
    return entry.dist.name if entry.dist is not None else "an unknown distribution"


def loaded(entry: EntryPoint, words: str) -> Any:
    """The object of an entry point, `words` in errors; raises InspectorError if it cannot be imported."""
    try:
        return entry.load()
    except Exception as error:
        raise InspectorError(f"{words} cannot be loaded ({type(error).__name__}: {error})") from error
