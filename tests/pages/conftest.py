"""Uploads of the tests are kept in a folder of the test."""

from pathlib import Path

import pytest

from inspector import dashboard


@pytest.fixture(autouse=True)
def captures_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the dashboard's captures."""
    monkeypatch.setattr(dashboard.registry(), "folder", tmp_path)
    return tmp_path
