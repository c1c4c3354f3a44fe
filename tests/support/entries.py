"""One entry of a catalogue, for tests that change a part of it."""

from typing import Any

import yaml

__all__ = ["ENTRY", "written"]

ENTRY: dict[str, Any] = {
    "id": "an-issue",
    "title": "Something fails",
    "sides": ["server parser"],
    "cause": "It was so.",
    "steps": ["Upgrade."],
    "confidence": "high",
    "basis": "One log.",
    "patterns": ["this very text"],
}


def written(*entries: object) -> str:
    return yaml.safe_dump(list(entries))
