"""Releases by file and line: `serving_chat.py:1305` with line 741 is vLLM 0.13.0.

`python -m tools.make_releases` generates the table, `releases.yaml`.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import field

from inspector.files.tables import Row, read_table
from inspector.issues.catalogue.versions import as_version

DEFAULT_FILE: Final = Path(__file__).with_name("releases.yaml")


class Anchor(NamedTuple):
    """A place that a log line or a traceback names."""

    file: str
    """Path or file name, as far as the line has it."""
    line: int


class Releases(Row, frozen=True):
    """Lines of Harmony serving by release and file, and the releases whose source has certain texts."""

    lines: Mapping[str, Mapping[str, frozenset[int]]] = field(name="releases")
    texts: Mapping[str, frozenset[str]]

    def of(self, places: Iterable[Anchor]) -> tuple[str, ...]:
        """Releases that have all of the places; places that no release has do not count."""
        candidates: set[str] | None = None
        for place in places:
            having = {version for version, files in self.lines.items() if _has_anchor(files, place)}
            if having:
                candidates = having if candidates is None else candidates & having
        return tuple(sorted(candidates or (), key=lambda version: as_version(version) or ()))


@cache
def releases() -> Releases:
    """The table that comes with this package."""
    return read_table(DEFAULT_FILE, Releases)


def _has_anchor(files: Mapping[str, frozenset[int]], place: Anchor) -> bool:
    return any(
        place.line in lines
        for file, lines in files.items()
        if f"/{place.file}".endswith(f"/{file}") or f"/{file}".endswith(f"/{place.file}")
    )
