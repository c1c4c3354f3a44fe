"""The Library page's parts."""

from pages.parts.library.choosing import LibraryQuery, choose, opened
from pages.parts.library.progress import running
from pages.parts.library.results import captures_table, kinds_and_causes, lead, shares

__all__ = [
    "LibraryQuery",
    "captures_table",
    "choose",
    "kinds_and_causes",
    "lead",
    "opened",
    "running",
    "shares",
]
