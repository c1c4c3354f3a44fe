"""Files of the components, joined to one inline string each: plain JavaScript and CSS, no build step."""

from pathlib import Path

__all__ = ["inline", "path"]

_HERE = Path(__file__).parent


def inline(*names: str) -> str:
    """Files below this folder as one text, in order; later ones use what earlier ones define."""
    return "\n".join((_HERE / name).read_text(encoding="utf-8") for name in names)


def path(name: str) -> Path:
    """A file below this folder, wherever the app was started."""
    return _HERE / name
