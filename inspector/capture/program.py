"""Version and home page of the program itself: of the checkout, or of the installed distribution."""

import tomllib
from functools import cache
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Final, NamedTuple

_NAME: Final = "harmony-inspector"
_PROJECT: Final = Path(__file__).parents[2] / "pyproject.toml"


class Program(NamedTuple):
    """What other programs show of this one."""

    version: str
    home: str | None
    """The first of the project's URLs; None where none is published."""


@cache
def program() -> Program:
    """The checkout that this file is in counts more than a distribution, which may be of another one."""
    try:
        project = tomllib.loads(_PROJECT.read_text("utf-8"))["project"]
        if project["name"] == _NAME:
            return Program(project["version"], next(iter(project.get("urls", {}).values()), None))
    except (OSError, ValueError, KeyError):  # installed; another program's file may be here
        pass
    try:
        installed = metadata(_NAME)
    except PackageNotFoundError:
        return Program("unknown", None)
    urls = installed.get_all("Project-URL") or [""]
    return Program(installed["Version"], urls[0].partition(", ")[2] or None)
