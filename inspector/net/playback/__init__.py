"""The built-in server: an OpenAI-compatible one that answers with captures, at their own pace or faster.

It samples nothing and parses no prompt: what it sends was recorded, or follows from the recorded token
IDs by the rules of a named vLLM release. Faults are put in only when a request asks for them.
"""

from inspector.net.playback.faults import FAULTS, Faults, parse_faults
from inspector.net.playback.routes import Settings, playback_routes
from inspector.net.playback.selection import choose

__all__ = ["FAULTS", "Faults", "Settings", "choose", "parse_faults", "playback_routes"]
