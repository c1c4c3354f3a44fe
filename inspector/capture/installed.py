"""What the metadata of installed distributions say: objects that they add to the program, its own address."""

from functools import cache
from importlib.metadata import EntryPoint, PackageNotFoundError, entry_points, metadata
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


@cache
def project_url() -> str | None:
    """The first address in the metadata of this program; None if they have none, or it is not installed."""
    try:
        addresses = metadata("harmony-inspector").get_all("Project-URL") or []
    except PackageNotFoundError:
        return None
    return next((address.partition(",")[2].strip() for address in addresses), None)
