"""The Live page's parts: what to ask, the run as it grows, what came of it, the runs before it."""

from pages.parts.live.checkup import checkup
from pages.parts.live.request_form import asking, invitation
from pages.parts.live.run_view import growing
from pages.parts.live.runs import recent, watched

__all__ = ["asking", "checkup", "growing", "invitation", "recent", "watched"]
