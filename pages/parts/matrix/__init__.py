"""The Matrix page's part."""
