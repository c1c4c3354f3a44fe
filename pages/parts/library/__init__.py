"""The Library page's parts."""

from pages.parts.library.choosing import LibraryQuery, choose, only, opened
from pages.parts.library.results import captures_table, groups, kinds_and_causes

__all__ = ["LibraryQuery", "captures_table", "choose", "groups", "kinds_and_causes", "only", "opened"]
