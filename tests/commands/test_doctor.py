"""`python -m inspector doctor`."""

import json

import pytest

from inspector.cli import main
from tests.support.listening import free_port
from tests.support.raw_server import page, raw_server, sse, stream
from tests.support.streams import chat


def test_the_command_prints_json_and_its_exit_code_says_how_it_went(
    capsys: pytest.CaptureFixture[str],
) -> None:
    answer = chat([("Hello", {"content": "Hello"})])
    models = json.dumps({"data": [{"id": "gpt-oss"}]})
    with raw_server(
        {
            "/v1/models": lambda _: [page(200, models, "application/json")],
            "/v1/chat/completions": lambda _: stream([sse(event.data) for event in answer.events]),
        }
    ) as server:
        assert main(["doctor", "--base-url", server.v1, "--json"]) == 1
        row = json.loads(capsys.readouterr().out)
        assert main(["doctor", "--base-url", server.v1]) == 1
    assert row["worst"] == "failed"
    assert {"name", "state", "says", "change"} == row["checks"][0].keys()
    printed = capsys.readouterr().out
    assert "FAILED   harmony" in printed
    tested = [check for check in row["checks"] if check["state"] != "unknown"]
    failed = [check["name"] for check in tested if check["state"] == "failed"]
    passed = sum(check["state"] == "ok" for check in tested)
    sentence = f"{passed} of {len(tested)} checks passed; failed: {', '.join(failed)}; unknown: "
    assert printed.splitlines()[1].startswith(sentence)


def test_known_faults_are_one_line_until_all_are_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    answer = chat([("<|channel|>final<|message|>", {}), ("Hi", {"content": "Hi"}), ("<|return|>", {})])
    models = json.dumps({"data": [{"id": "gpt-oss", "owned_by": "vllm"}]})
    with raw_server(
        {
            "/v1/models": lambda _: [page(200, models, "application/json")],
            "/version": lambda _: [page(200, '{"version": "0.14.1"}', "application/json")],
            "/v1/chat/completions": lambda _: stream([sse(event.data) for event in answer.events]),
        }
    ) as server:
        assert main(["doctor", "--base-url", server.v1]) == 0
        short = capsys.readouterr().out.splitlines()
        assert main(["doctor", "--base-url", server.v1, "--all"]) == 0
        all_lines = capsys.readouterr().out.splitlines()
        assert main(["doctor", "--base-url", server.v1, "--json"]) == 0
        row = json.loads(capsys.readouterr().out)
    (line,) = [line for line in short if "known fault" in line]
    count = len(row["known_faults"])
    assert count > 10
    assert f"vLLM 0.14.1 has {count} known faults" in line
    assert line.endswith("--all lists them, and what the lab measured for it.")
    assert short[-1] == line
    assert {"id", "title", "step"} == row["known_faults"][0].keys()
    assert len(all_lines) == len(short) + 2 * count + len(row["matrix"])
    for fault in row["known_faults"]:
        assert f"  note     {fault['id']}: {fault['title']}." in all_lines


def test_the_command_says_in_one_line_that_nobody_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--base-url", f"http://127.0.0.1:{free_port()}"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert "is the server running?" in captured.err
