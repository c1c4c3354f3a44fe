"""The Replay page's parts: raw events, and the table of all captures."""
