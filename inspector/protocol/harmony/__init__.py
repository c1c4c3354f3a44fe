"""Harmony, the message format of gpt-oss: vocabulary, grammar, and a tracker that never raises on content."""
