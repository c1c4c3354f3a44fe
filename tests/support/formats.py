"""Cases of times and counts, which Python and the browser's copy of it must read alike."""

import json
from pathlib import Path
from typing import Any

__all__ = ["CASES"]

CASES: dict[str, list[list[Any]]] = json.loads(
    (Path(__file__).parents[1] / "formats.json").read_text(encoding="utf-8")
)
