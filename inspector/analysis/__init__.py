"""One stream: from its events to a reading, an alignment, findings and a verdict."""
