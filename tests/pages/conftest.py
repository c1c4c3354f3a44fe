"""Uploads of the tests are kept in a folder of the test."""

from pathlib import Path

import pytest

from inspector.net.runs.registry import registry


@pytest.fixture(autouse=True)
def captures_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the dashboard's captures."""
    monkeypatch.setattr(registry(), "folder", tmp_path)
    return tmp_path
