"""The Library page's parts."""

from pages.parts.library.choosing import Choice, choose, only, opened
from pages.parts.library.results import captures_table, groups, kinds_and_causes

__all__ = ["Choice", "captures_table", "choose", "groups", "kinds_and_causes", "only", "opened"]
