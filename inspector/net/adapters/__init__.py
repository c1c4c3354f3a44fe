"""Thin adapters that put the recorder into other programs."""
