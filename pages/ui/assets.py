"""Files of the components, joined to one inline string each: plain JavaScript and CSS, no build step.

Names are paths below `pages/ui`, or below `pages/parts` where a file belongs to one page: `live/live.css`.
"""

from pathlib import Path

from pages.ui.palette import stylesheet

_HERE = Path(__file__).parent
_FOLDERS = (_HERE, _HERE.parent / "parts")


def inline(*names: str) -> str:
    """Files of these names as one text, in order; later ones use what earlier ones define."""
    return "\n".join(path(name).read_text(encoding="utf-8") for name in names)


def sheet(*names: str) -> str:
    """The style sheet of a component: the palette, what all components share, and its own files."""
    return stylesheet() + inline("common.css", *names)


def path(name: str) -> Path:
    """The file of this name, wherever the app was started."""
    return next((folder / name for folder in _FOLDERS if (folder / name).exists()), _HERE / name)
