"""The Replay page's part: its raw events."""
