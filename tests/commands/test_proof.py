"""`proof` against the built-in server, running already and started by the command. No GPU is needed."""

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.applications import Starlette

from inspector.capture.capture import Endpoint
from inspector.cli import main
from inspector.commands.proof import gpu_words
from inspector.fleet.probe.proof import CONDITIONS, Proof, ProofCell, proof_lines, proof_markdown, prove
from inspector.net.client.address import Server
from inspector.net.playback import PlaybackSettings, playback_routes
from tests.support.builtin import CAPTURES, TOOL
from tests.support.listening import listening
from tests.support.probes import rows


@pytest.fixture(scope="module")
def playback() -> Iterator[str]:
    fast = PlaybackSettings().changed({"speed": "inf"})
    with listening(Starlette(routes=playback_routes(lambda: CAPTURES, prefix="", settings=fast))) as address:
        yield f"{address}/v1"


def test_a_running_server_is_measured_and_reported(
    playback: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    words = ["--base-url", playback, "--model", TOOL, "--minutes", "0.02", "--out", str(out)]
    assert main(["proof", *words, "--streams", "1", "2", "--endpoint", "chat"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "silently damaged: 100% (95% interval" in lines[0]
    report_json = json.loads((out / "report.json").read_text())
    assert [(cell["endpoint"], cell["streams"]) for cell in report_json["cells"]] == [
        ("chat", 1),
        ("chat", 2),
    ]
    assert all(cell["damaged"] == cell["requests"] > 0 for cell in report_json["cells"])
    assert all(cell["tokens_per_s"] > 0 and cell["first_token_p50_s"] > 0 for cell in report_json["cells"])
    report = (out / "report.md").read_text()
    assert report.splitlines()[2] == lines[0]
    assert "| running | chat | 1 |" in report
    kept = next((out / "captures").rglob("damaged-*.jsonl"))
    assert main(["audit", str(kept)]) == 1
    assert "with a budget of 0.02 minutes" in report
    assert report_json["gpu"] is None
    assert "GPU unknown" in report
    assert " without a GPU " not in lines[0]  # where that server runs is not known
    assert main(["proof", *words]) == 2
    assert "already contains a proof" in capsys.readouterr().err


def test_servers_are_started_one_after_the_other_and_a_failure_is_a_row(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    command = f"{sys.executable} -m inspector play --speed inf --port {{port}}"
    words = [
        "--command",
        command,
        "--condition",
        "default",
        "no-async",
        "--minutes",
        "0.1",
        "--out",
        str(out),
    ]
    assert main(["proof", *words, "--streams", "1", "--endpoint", "chat", "--json"]) == 1
    report_json = json.loads(capsys.readouterr().out)
    measured, refused = report_json["cells"]
    assert (measured["condition"], measured["trouble"]) == ("default", "")
    assert measured["requests"] > 0
    assert report_json["commands"]["no-async"].endswith(" --no-async-scheduling")
    assert sum(cause["responses"] for cause in report_json["causes"]) == report_json["damaged"] > 0
    assert "by Harmony Inspector" in report_json["made"]
    report = (out / "report.md").read_text()
    assert f"- default: the release's defaults: `{report_json['commands']['default']}`" in report.splitlines()
    assert report_json["causes"][0]["id"] in report
    assert (refused["condition"], refused["requests"]) == ("no-async", 0)
    assert refused["trouble"].startswith("the server did not start: the server exited with code 2")
    assert "unrecognized arguments: --no-async-scheduling" in refused["trouble"]
    assert (out / "default.log").exists()


def test_requests_that_fail_are_in_the_sentence_with_their_reason(
    playback: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--base-url", playback, "--model", TOOL, "--minutes", "0.02", "--streams", "1"]
    out = tmp_path / "some"
    assert main(["proof", *words, "--out", str(out), "--endpoint", "chat", "responses"]) == 1
    first = capsys.readouterr().out.splitlines()[0]
    report = json.loads((out / "report.json").read_text())
    requests = sum(cell["requests"] for cell in report["cells"])
    assert first.endswith(f" {report['failed']:,} of {requests:,} requests failed with an error.")
    assert report["failed"] > 0
    assert "- `failed: HTTP 400" in (out / "report.md").read_text()
    assert main(["proof", *words, "--out", str(tmp_path / "none"), "--endpoint", "responses"]) == 2
    assert capsys.readouterr().out.startswith("No response of the server could be checked. ")


def test_nothing_measured_is_exit_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--command", str(tmp_path / "absent"), "--condition", "default", "--out", str(tmp_path / "out")]
    assert main(["proof", *words]) == 2
    assert capsys.readouterr().out.startswith("Nothing was measured.")
    assert main(["proof", "--out", str(tmp_path), "--minutes", "0"]) == 2
    assert main(["proof", "--out", str(tmp_path), "--command", ""]) == 2
    capsys.readouterr()
    assert main(["proof", "--out", str(tmp_path), "--command", "vllm 'serve"]) == 2
    assert "check its quotes" in capsys.readouterr().err


def test_braces_of_a_command_may_be_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = "import sys; sys.exit(f'Error: {sys.argv[1:]}')"
    command = f"""{sys.executable} -c "{code}" {{model}} {{port}} '{{"a": {{}}}}'"""
    words = ["--command", command, "--condition", "default", "--out", str(tmp_path / "out"), "--model", "a b"]
    assert main(["proof", *words]) == 2
    assert """'{"a": {}}']""" in capsys.readouterr().out


def test_the_words_of_a_server_stay_words() -> None:
    trouble = "said ` <img src=x> [a](b)\n| c"
    cell = ProofCell(condition="default", endpoint=Endpoint.CHAT, streams=1, rows=(), trouble=trouble)
    proof = Proof(model="m", version=None, gpu=None, cells=[cell])
    assert "- `default, chat, 1 at once: said ' <img src=x> [a](b) | c`" in proof_markdown(proof).splitlines()
    assert proof_lines(proof)[-1].endswith(trouble)


def test_a_server_that_hangs_ends_its_cell() -> None:
    slow = PlaybackSettings().changed({"speed": "0.001"})
    with listening(Starlette(routes=playback_routes(lambda: CAPTURES, prefix="", settings=slow))) as address:
        proving = prove(
            CONDITIONS[0],
            Server(base_url=f"{address}/v1"),
            TOOL,
            seconds=0.1,
            endpoints=[Endpoint.CHAT],
            streams=[2],
            more_s=0.2,
        )
        [cell] = asyncio.run(asyncio.wait_for(proving, 60))
    assert cell.trouble == "2 responses did not end within 1 s"
    assert cell.rows == []


def test_gpus_are_told_by_name_memory_and_driver() -> None:
    line = "NVIDIA L40S, 46068 MiB, 570.86.15\n"
    assert gpu_words(line) == ("NVIDIA L40S, 46068 MiB", "570.86.15")
    assert gpu_words(line + line) == ("2 x NVIDIA L40S, 46068 MiB", "570.86.15")
    assert gpu_words("") == (None, None)
    proof = Proof(model="m", version="0.33.0", gpu="NVIDIA L40S", driver="570.86.15", cells=[])
    assert "NVIDIA L40S (driver 570.86.15), vLLM 0.33.0, m" in proof_markdown(proof)


def test_the_sentence_is_about_responses_that_a_parser_reads() -> None:
    """Completions arrive as they were generated: counted too, they would make losses look rarer."""
    chat = ProofCell(condition="default", endpoint=Endpoint.CHAT, streams=1, rows=rows(ok=3, damaged=1))
    raw = ProofCell(condition="default", endpoint=Endpoint.COMPLETIONS, streams=1, rows=rows(ok=96))

    def sentence(*cells: ProofCell) -> str:
        return Proof(model="m", version="0.15.1", gpu="H100", cells=cells).sentence

    alone = "1 of 4 checked responses of vLLM 0.15.1 on H100 was silently damaged: 25% "
    assert sentence(chat).startswith(alone)
    assert (
        sentence(chat, raw) == f"{sentence(chat)} For comparison: 0 of 96 completions, which no parser reads."
    )
    assert sentence(raw) == (
        "No parsed response of vLLM 0.15.1 on H100 could be checked. "
        "Silently damaged: 0 of 96 completions, which no parser reads."
    )
