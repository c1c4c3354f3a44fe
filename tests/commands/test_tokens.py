"""`python -m inspector tokens`."""

import json
from pathlib import Path

from tests.support.command import inspector


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    done = inspector("tokens", tmp_path / "nowhere.jsonl")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert b"Traceback" not in done.stderr


def test_tokens_prints_a_row_a_token(files: dict[str, Path]) -> None:
    rows = json.loads(inspector("tokens", files["good"], "--json").stdout)
    assert len(rows) == 14
    assert {"index", "id", "text", "state", "message", "channel", "event", "arrival_s"} <= set(rows[0])
    shown = inspector("tokens", files["good"]).stdout.decode()
    assert len(shown.splitlines()) == 15
