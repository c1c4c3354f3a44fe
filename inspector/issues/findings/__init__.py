"""Known issues of a response, by its findings."""
