"""`python -m inspector diagnose`: whatever people have at hand goes in."""

import gzip
import io
import json
import os
import sys
from pathlib import Path

import pytest
import zstandard

from inspector.cli import main

ROOT = Path(__file__).parent.parent.parent
MESSAGE = "openai_harmony.HarmonyError: Unexpected token 200002 while expecting start token 200006"


def typed(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def answered(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [answer["id"] for answer in json.loads(capsys.readouterr().out)["answers"]]


def test_an_error_message_comes_by_standard_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    typed(monkeypatch, MESSAGE.encode())
    assert main(["diagnose"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("  At fault: the model output or the server parser.")


def test_a_log_is_read_from_a_packed_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", "--json", str(ROOT / "fixtures/logs/vllm-0.13.0.log.gz")]) == 1
    row = json.loads(capsys.readouterr().out)
    assert row["server_version"] == "0.13.0"
    assert row["log"]["requests"]["/v1/responses"] == 22
    assert row["failures"][0]["issues"][0] == "stale-generation-config"


def test_picture_is_an_error_not_a_clean_result(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", str(ROOT / "docs/screenshots/replay.png")]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "this is a PNG image; use an error message" in printed.err


def test_a_capture_is_audited_first(capsys: pytest.CaptureFixture[str]) -> None:
    file = ROOT / "fixtures/chat-tool-call-leak-vllm-0.14.1.jsonl"
    assert main(["diagnose", "--json", str(file)]) == 1
    assert answered(capsys)[0] == "chat-stream-multi-channel-chunk"


def test_a_dump_that_holds_only_an_error_is_read_as_text(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    payload = json.dumps({"error": {"message": "Unknown role: final", "code": 500}})
    for content in (payload, f"data: {payload}\n\ndata: [DONE]\n\n", f"HTTP/1.1 500 X\r\n\r\n{payload}"):
        typed(monkeypatch, content.encode())
        assert main(["diagnose", "--json"]) == 1
        assert answered(capsys)[0] == "unknown-role-other"


def test_text_that_begins_like_json_is_text(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    typed(monkeypatch, f"[11-20 22:47:28] {MESSAGE}\n{{not json".encode())
    assert main(["diagnose", "--json"]) == 1
    assert answered(capsys)[0] == "return-after-end"


def test_text_without_failures_is_exit_code_0(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    typed(monkeypatch, b"All is well.\n")
    assert main(["diagnose"]) == 0
    assert "No known issue matches this text." in capsys.readouterr().out


TEXTS = [
    MESSAGE,
    "content is null",
    "Ollama fails to parse gpt-oss",
    "ValueError: nobody knows",
    "INFO 11-20 22:47:28 [api_server.py:1351] vLLM API server version 0.13.0\n" + MESSAGE,
]


@pytest.mark.parametrize("text", TEXTS)
def test_the_short_report_has_twelve_lines_at_most_and_begins_with_what_to_do(
    text: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    typed(monkeypatch, text.encode())
    status = main(["diagnose"])
    lines = capsys.readouterr().out.splitlines()
    typed(monkeypatch, text.encode())
    main(["diagnose", "--json"])
    row = json.loads(capsys.readouterr().out)
    assert status == (row["outcome"] != "nothing")
    assert len(lines) <= 12
    assert lines[1].startswith(f"  {row['sentence']}")
    assert lines[1].endswith(row["next_step"])
    for step in (row["answers"] or [{"steps": []}])[0]["steps"]:
        assert any(step in line for line in lines)


def test_the_long_report_has_every_answer_whole(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    typed(monkeypatch, MESSAGE.encode())
    main(["diagnose"])
    assert "more lines with --all" in capsys.readouterr().out.splitlines()[-1]
    typed(monkeypatch, MESSAGE.encode())
    main(["diagnose", "--all"])
    full_report = capsys.readouterr().out
    assert full_report.count("     side: ") > 1
    assert "more lines" not in full_report


def test_text_of_powershell_is_read(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for encoding in ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig"):
        typed(monkeypatch, f"a line before\r\n{MESSAGE}\r\n".encode(encoding))
        assert main(["diagnose", "--json"]) == 1
        assert answered(capsys)[0] == "return-after-end"


def test_the_lines_around_failures_are_shown_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(ROOT / "fixtures/logs/vllm-0.13.0.log.gz")
    main(["diagnose", file])
    assert "harmony_parser.process(token_id)" not in capsys.readouterr().out
    main(["diagnose", "--around", file])
    assert "harmony_parser.process(token_id)" in capsys.readouterr().out


def test_control_characters_of_a_log_do_not_reach_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    typed(monkeypatch, b"ValueError: \x1b]0;owned\x07 \xe2\x80\xae txt\n")
    main(["diagnose", "--around"])
    output = capsys.readouterr().out
    assert not set(output) & {"\x1b", "\x07", "\u202e"}


@pytest.mark.parametrize("case", ["missing", "folder", "damaged", "damaged zstd"])
def test_a_file_that_cannot_be_read_is_exit_code_2(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.log"
    if case == "folder":
        path.mkdir()
    elif case == "damaged":
        path.write_bytes(gzip.compress(b"x" * 100_000)[:-20])
    elif case == "damaged zstd":
        packed = bytearray(zstandard.ZstdCompressor(write_checksum=True).compress(os.urandom(100_000)))
        packed[50_000] ^= 255
        path.write_bytes(packed)
    assert main(["diagnose", str(path)]) == 2
    output = capsys.readouterr().err
    assert output.startswith("inspector: ")
    assert "x.log" in output


def test_closest_issues_are_printed_with_what_settles_them_and_change_no_exit_code(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    typed(monkeypatch, b"content is null with gpt-oss")
    assert main(["diagnose"]) == 0
    printed = capsys.readouterr().out
    typed(monkeypatch, b"content is null with gpt-oss")
    assert main(["diagnose", "--json"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert (row["outcome"], row["sides"], row["answers"]) == ("nothing", [], [])
    assert "closest known issues" in printed
    assert len(row["closest"]) == 3
    assert all(issue["title"] in printed and issue["settle"] in printed for issue in row["closest"])
