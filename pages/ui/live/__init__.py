"""The Live page's parts: what to ask, the run as it grows, what came of it, the runs before it."""

from pages.ui.live.asking import asking, invitation
from pages.ui.live.checkup import checkup
from pages.ui.live.growing import growing
from pages.ui.live.runs import recent, watched

__all__ = ["asking", "checkup", "growing", "invitation", "recent", "watched"]
