"""`python -m inspector tokens`."""

import json
from pathlib import Path

from tests.support.command import inspector

RAW = "fixtures/chat-raw-harmony-in-history-vllm-0.32.0.jsonl"


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    completed = inspector("tokens", tmp_path / "nowhere.jsonl")
    assert (completed.returncode, len(completed.stderr.splitlines())) == (2, 1)
    assert b"Traceback" not in completed.stderr


def test_tokens_prints_one_row_per_token(files: dict[str, Path]) -> None:
    rows = json.loads(inspector("tokens", files["good"], "--json").stdout)
    assert len(rows) == 14
    assert {"index", "id", "text", "state", "message", "channel", "event", "arrival_s"} <= set(rows[0])
    output = inspector("tokens", files["good"]).stdout.decode()
    assert len(output.splitlines()) == 15


def test_the_prompt_is_printed_with_what_differs(files: dict[str, Path]) -> None:
    output = inspector("tokens", RAW, "--prompt").stdout.decode().splitlines()
    assert output[0].startswith(
        "209 tokens, 6 messages. Message 2 of the request, an earlier response, contains"
    )
    assert len(output) == 2 + 209
    assert output[-1].split()[-2:] == ["header", "assistant"]
    rows = json.loads(inspector("tokens", RAW, "--prompt", "--json").stdout)
    assert [row["message"] for row in rows[-2:]] == [5, 5]
    completed = inspector("tokens", files["good"], "--prompt")
    assert (completed.returncode, len(completed.stderr.splitlines())) == (2, 1)
