"""Captures for the commands to read."""

from pathlib import Path

import pytest

from inspector.files.store import save
from tests.support.streams import CLEAN, LEAK, chat


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("captures")
    capture_of = {
        "good": chat(CLEAN),
        "leak": chat(LEAK),
        "cut": chat(CLEAN[:1], finish="length"),
    }
    paths = {}
    for name, capture in capture_of.items():
        paths[name] = folder / f"{name}.jsonl"
        save(capture, paths[name])
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    paths["picture"] = folder / "picture.png"
    return paths
