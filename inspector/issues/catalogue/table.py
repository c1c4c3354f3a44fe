"""The known issues of `known_issues.yaml` and of a file of one's own; adding an entry needs no code.

`issue` documents the keys of an entry.
"""

import os
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from inspector.capture.errors import InspectorError
from inspector.files.tables import parse_table
from inspector.issues.catalogue.issue import Issue

DEFAULT_FILE: Final = Path(__file__).with_name("known_issues.yaml")
OWN_FILE: Final = "HARMONY_INSPECTOR_ISSUES"
"""The environment variable with the path of a file of one's own entries."""


@cache
def catalogue() -> tuple[Issue, ...]:
    """The entries that come with this package, in the order of the file, then one's own.

    Raises InspectorError for a file of one's own that cannot be read, or whose entries are wrong.
    """
    shipped = read_catalogue(DEFAULT_FILE.read_text(encoding="utf-8"), name=DEFAULT_FILE.name)
    own = own_content()
    return shipped if own is None else read_catalogue(own, name=os.environ[OWN_FILE], before=shipped)


@cache
def issues() -> Mapping[str, Issue]:
    """The same entries by id."""
    return {issue.id: issue for issue in catalogue()}


def own_content() -> str | None:
    """The text of one's own file of entries; None without one."""
    path = os.environ.get(OWN_FILE)
    if not path:
        return None
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise InspectorError(
            f"{path}: the file of known issues cannot be read ({reason}); correct --issues or {OWN_FILE}"
        ) from error


def read_catalogue(
    content: str, *, name: str = "the catalogue", before: Sequence[Issue] = ()
) -> tuple[Issue, ...]:
    """Entries of a catalogue file after those of another one.

    Raises InspectorError, which names the entry and the field that is wrong.
    """
    entries = (*before, *parse_table(content, tuple[Issue, ...], name))
    ids = [issue.id for issue in entries]
    for number, issue in enumerate(entries):
        if issue.id in ids[:number]:
            raise InspectorError(f"{name}: id is used twice - at `{issue.id}`")
        for related in {*issue.shares_text_with, issue.measured_as or issue.id}.difference(ids):
            raise InspectorError(f"{name}: {related} is not an entry - at `{issue.id}`")
    return entries
