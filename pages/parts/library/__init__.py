"""The Library page's parts."""

from pages.parts.library.choosing import LibraryQuery, choose, first_steps, only, opened
from pages.parts.library.results import captures_table, groups, kinds_and_causes

__all__ = [
    "LibraryQuery",
    "captures_table",
    "choose",
    "first_steps",
    "groups",
    "kinds_and_causes",
    "only",
    "opened",
]
