"""The version of this program; pyproject.toml reads it from here."""

__version__ = "0.1.0"
