"""`python -m inspector doctor`."""

import json

import pytest

from inspector.cli import main
from inspector.lab.process import free_port
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
    failed = [one["name"] for one in row["checks"] if one["state"] == "failed"]
    told = f"{len(failed)} of {len(row['checks'])} checks failed: {', '.join(failed)}."
    assert printed.splitlines()[1] == told


def test_the_command_says_in_one_line_that_nobody_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--base-url", f"http://127.0.0.1:{free_port()}"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "is the server running?" in said.err
