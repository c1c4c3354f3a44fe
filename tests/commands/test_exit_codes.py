"""The table of exit codes in docs/commands.md: a command line for each of its cells, and one for each 2."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import httpx
import pytest
from starlette.applications import Starlette

from inspector.capture.capture import Capture
from inspector.commands.table import LAB, PROGRAM
from inspector.net.playback import PlaybackSettings, playback_routes
from tests.support.answers import CHAT, STREAM_EVENTS
from tests.support.builtin import CAPTURES, COMPLETE_CHAT, TOOL
from tests.support.command import ROOT, inspector
from tests.support.listening import free_port, listening
from tests.support.programs import bounded
from tests.support.raw_server import Answer, page, raw_server, sse, stream
from tests.support.streams import chat

RAW: Final = "fixtures/lint/evaluation-of-raw-harmony.jsonl"
ASK: Final = "--base-url {playback} --prompt hi"
CASES: Final = {
    ("audit", 0): COMPLETE_CHAT,
    ("audit", 1): TOOL,
    ("audit", 2): f"{COMPLETE_CHAT} missing",
    ("tokens", 0): TOOL,
    ("tokens", 2): "missing",
    ("compare", 0): f"{TOOL} {TOOL}",
    ("compare", 1): f"{TOOL} {COMPLETE_CHAT}",
    ("compare", 2): f"{TOOL} missing",
    ("diagnose", 0): "LICENSE",
    ("diagnose", 1): "fixtures/logs/vllm-0.13.0.log.gz",
    ("diagnose", 2): "missing",
    ("report", 0): f"{TOOL} --html {{folder}}/report.html",
    ("report", 2): f"{TOOL} --html {{folder}}/missing/report.html",
    ("redact", 0): f"{TOOL} --out {{folder}}/redacted.jsonl",
    ("redact", 2): f"{TOOL} --out LICENSE",
    ("scan", 0): f"fixtures/{COMPLETE_CHAT}.jsonl --out {{folder}}/clean --quiet",
    ("scan", 1): f"fixtures/{TOOL}.jsonl --out {{folder}}/damaged --quiet",
    ("scan", 2): "{folder}/missing --out {folder}/none --quiet",
    ("library", 0): "{scan}",
    ("library", 2): "{folder}/missing",
    ("lint", 0): f"{RAW} --fail-on never",
    ("lint", 1): RAW,
    ("lint", 2): "LICENSE",
    ("rollout", 0): "fixtures/rollout/two-questions.jsonl",
    ("rollout", 1): "fixtures/rollout/tool-loops.jsonl",
    ("rollout", 2): RAW,
    ("record", 0): f"{ASK} --model {TOOL} --out {{folder}}/recorded.jsonl",
    ("record", 1): "--base-url {broken} --prompt hi --model m --out {folder}/broken.jsonl",
    ("record", 2): "--base-url {closed} --prompt hi --model m --out {folder}/none.jsonl",
    ("probe", 0): f"{ASK} --model {COMPLETE_CHAT} --requests 2 --out {{folder}}/probe-0 --quiet",
    ("probe", 1): f"{ASK} --model {TOOL} --requests 2 --out {{folder}}/probe-1 --quiet",
    ("probe", 2): "--base-url {closed} --prompt hi --model m --requests 2 --out {folder}/probe-2 --quiet",
    ("canary", 0): f"{ASK} --model {COMPLETE_CHAT} --once --out {{folder}}/canary",
    ("canary", 1): f"{ASK} --model {TOOL} --once --out {{folder}}/canary",
    ("canary", 2): f"{ASK} --once --out LICENSE",
    ("doctor", 0): "--base-url {sound}",
    ("doctor", 1): "--base-url {unsound}",
    ("doctor", 2): "--base-url {closed}",
    ("matrix", 0): "0.24.0",
    ("matrix", 2): "0.1.0",
    ("tap", 0): "--upstream {playback} --out {folder}/tap --port 0",
    ("tap", 2): "--upstream {playback} --out LICENSE",
    ("play", 0): "--port 0",
    ("play", 2): "missing",
    ("ui", 2): "--port x",
    ("skill", 0): "--install {folder}",
    ("skill", 2): "--install LICENSE",
    ("mcp", 0): "",
    ("mcp", 2): "--port x",
    ("completion", 0): "bash",
    ("completion", 2): "missing",
}
SERVING: Final = ("tap", "play")


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, object]]:
    """What the command lines name: a folder, and servers."""
    folder = tmp_path_factory.mktemp("places")
    played = Starlette(
        routes=playback_routes(lambda: CAPTURES, prefix="", settings=PlaybackSettings(speed=float("inf")))
    )
    complete = chat([("<|channel|>final<|message|>", {}), ("Hi", {"content": "Hi"}), ("<|return|>", {})])
    text_alone = chat([("Hello", {"content": "Hello"})])
    models = page(200, '{"data": [{"id": "gpt-oss", "owned_by": "vllm"}]}', "application/json")

    def serving(capture: Capture) -> dict[str, Answer]:
        return {
            "/v1/models": lambda _: [models],
            CHAT: lambda _: stream([sse(event.data) for event in capture.events]),
        }

    with (
        listening(played) as playback,
        raw_server(serving(complete)) as sound_server,
        raw_server(serving(text_alone)) as unsound_server,
        raw_server({CHAT: lambda _: stream(STREAM_EVENTS[:2], end=False)}) as broken_server,
    ):
        scanned = folder / "scanned"
        inspector("scan", f"fixtures/{COMPLETE_CHAT}.jsonl", "--out", scanned, "--quiet")
        yield {
            "folder": folder,
            "scan": scanned,
            "playback": f"{playback}/v1",
            "sound": sound_server.v1,
            "unsound": unsound_server.v1,
            "broken": broken_server.v1,
            "closed": f"http://127.0.0.1:{free_port()}/v1",
        }


def interrupted(words: list[str]) -> int:
    """The exit code of a server that is stopped with Ctrl-C once it serves."""
    program = subprocess.Popen(
        [sys.executable, "-m", "inspector", *words], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    with bounded(program):
        assert program.stdout is not None
        address = re.search(r"http://[\w.:]+", program.stdout.readline())
        assert address is not None
        httpx.get(f"{address[0]}/v1/models", timeout=60)
        program.send_signal(signal.SIGINT)
        program.communicate()
    return program.returncode


@pytest.mark.parametrize(("command", "code"), CASES, ids=str)
def test_a_command_line_for_each_cell(command: str, code: int, places: dict[str, object]) -> None:
    words = [command, *CASES[command, code].format(**places).split()]
    if command in SERVING and code == 0:
        assert interrupted(words) == 0
        return
    completed = inspector(*words)
    assert completed.returncode == code, completed.stderr.decode()
    assert bool(completed.stderr.splitlines()) or code < 2, "2 is always said"


def test_the_table_has_every_command_and_no_cell_without_a_command_line() -> None:
    text = Path(ROOT / "docs" / "commands.md").read_text("utf-8")
    section = text.partition("## Exit codes and JSON")[2].partition("\n## ")[0]
    cells = {
        (command, code)
        for command, *meanings in re.findall(r"^\| `(\w+)` \| (.+?) \| (.+?) \|", section, re.MULTILINE)
        for code, meaning in enumerate(meanings)
        if meaning != "–"
    }
    commands = set(PROGRAM.names) - {LAB}
    assert cells | {(command, 2) for command in commands} == set(CASES)
