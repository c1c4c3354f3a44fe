"""The Live page's parts: what to ask, the run as it grows, what came of it, the runs before it."""

from pages.parts.live.asking import asking, invitation
from pages.parts.live.checkup import checkup
from pages.parts.live.growing import growing
from pages.parts.live.runs import recent, watched

__all__ = ["asking", "checkup", "growing", "invitation", "recent", "watched"]
