"""Known issues of a text: an error message, a log, an issue that somebody posted."""
