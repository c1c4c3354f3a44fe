"""The catalogue of known issues, read from `known_issues.yaml`; adding an entry needs no code.

`issue` documents the keys of an entry.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from inspector.capture.errors import InspectorError
from inspector.files.tables import parse_table
from inspector.issues.catalogue.issue import Issue

DEFAULT_FILE: Final = Path(__file__).with_name("known_issues.yaml")


@cache
def catalogue() -> tuple[Issue, ...]:
    """The entries that come with this package, in the order of the file."""
    return read_catalogue(DEFAULT_FILE.read_text(encoding="utf-8"), name=DEFAULT_FILE.name)


@cache
def issues() -> Mapping[str, Issue]:
    """The same entries by id."""
    return {issue.id: issue for issue in catalogue()}


def read_catalogue(content: str, *, name: str = "the catalogue") -> tuple[Issue, ...]:
    """Entries of a catalogue file; InspectorError names the entry and the field that is wrong."""
    entries = parse_table(content, tuple[Issue, ...], name)
    ids = [issue.id for issue in entries]
    for number, issue in enumerate(entries):
        if issue.id in ids[:number]:
            raise InspectorError(f"{name}: id is used twice - at `{issue.id}`")
        for related in {*issue.shares_text_with, issue.measured_as or issue.id}.difference(ids):
            raise InspectorError(f"{name}: {related} is not an entry - at `{issue.id}`")
    return entries
