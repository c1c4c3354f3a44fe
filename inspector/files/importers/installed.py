"""Importers of other distributions, which name them in the entry points `harmony_inspector.importers`."""

from collections.abc import Sequence
from functools import cache
from typing import Final

from inspector.capture.capture import Capture
from inspector.capture.errors import CaptureError, InspectorError
from inspector.capture.installed import distribution_of, installed, loaded
from inspector.files.importers.importer import Content, Importer, read_as

GROUP: Final = "harmony_inspector.importers"


def read_by_installed(content: Content) -> list[Capture] | None:
    """The captures of content that no importer of ours knows; None if no other one does either."""
    for name, importer in _installed():
        try:
            captures = read_as(importer, content) if importer.sniff(content) else None
        except InspectorError:
            raise
        except Exception as error:
            raise CaptureError(content.name, f"{name} failed ({type(error).__name__}: {error})") from error
        if captures is not None and not captures:
            raise CaptureError(content.name, f"{name} found no capture in it")
        if captures is not None:
            return captures
    return None


@cache
def _installed() -> Sequence[tuple[str, Importer]]:
    """Each with the words that name it in errors."""
    importers = []
    for entry in installed(GROUP).values():
        name = f"the importer {entry.name!r} of {distribution_of(entry)}"
        importer = loaded(entry, name)
        if not isinstance(importer, Importer):
            raise InspectorError(f"{name} is not an `Importer`, but {type(importer).__name__}")
        importers.append((name, importer))
    return importers
