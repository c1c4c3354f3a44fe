"""The event loop of a program that a test starts: Streamlit takes uvloop where it is installed.

The tests install it, and users mostly do not, so programs start without it unless a test asks for it.
"""

import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pytest

__all__ = ["LOOPS", "has_uvloop", "on_loop"]

LOOPS: Final = ["asyncio", "uvloop"]
_HIDDEN: Final = str(Path(__file__).parent / "without_uvloop")


def on_loop(name: str = "asyncio") -> Mapping[str, str]:
    """The environment in which a program runs on a loop; skips the test where the loop is not installed."""
    before = os.environ.get("PYTHONPATH")
    if name == "asyncio":
        return {"PYTHONPATH": os.pathsep.join(filter(None, [_HIDDEN, before]))}
    if find_spec(name) is None:
        pytest.skip(f"{name} is not installed")
    return {}


def has_uvloop(pid: int) -> bool | None:
    """Whether a process has loaded uvloop; None on a system that does not tell."""
    maps = Path(f"/proc/{pid}/maps")
    return "/uvloop/loop." in maps.read_text() if maps.exists() else None
