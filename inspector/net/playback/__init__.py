"""The built-in server: OpenAI-compatible, it responds with captures, at their own pace or faster.

It samples nothing and parses no prompt: what it sends was recorded, or follows from the recorded token IDs by
the rules of a vLLM release. Faults are added only if a request asks for them.
"""

from inspector.net.playback.faults import FAULTS, Faults, parse_faults
from inspector.net.playback.routes import PlaybackSettings, playback_routes
from inspector.net.playback.selection import choose

__all__ = ["FAULTS", "Faults", "PlaybackSettings", "choose", "parse_faults", "playback_routes"]
