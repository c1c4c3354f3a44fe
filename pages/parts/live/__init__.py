"""The parts of the Live page: request form, a run or its outline, the check of the server, recent runs."""

from pages.parts.live.checkup import checkup
from pages.parts.live.ghost import ghost
from pages.parts.live.request_form import asking
from pages.parts.live.run_view import growing
from pages.parts.live.runs import recent, watched

__all__ = ["asking", "checkup", "ghost", "growing", "recent", "watched"]
