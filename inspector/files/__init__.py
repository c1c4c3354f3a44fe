"""Captures on disk, and other file formats."""
