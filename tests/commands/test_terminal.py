"""No command lets a terminal act on what a model, a server or a file name says."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from inspector.cli import main
from inspector.commands.shared import write_text
from inspector.files.store import builtin, load, save
from inspector.protocol.harmony.vocab import encode
from tests.support.listening import listening

ATTACK = "\x1b]0;owned\x07\x1b[2J\x9b31m\x7f\u202e\u2066\u200f\ufeff\r\b\x00\ud800"
FORBIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)
COLORS = re.compile("\x1b\\[(?:1|3[123]|0)m")
STRUCTURE = {"object", "type", "role", "finish_reason", "status"}
FILES = [row.path for row in builtin() if row.path.suffix != ".gz"]


def attacked(value: Any, *, every_text: bool, key: str = "") -> Any:
    """A JSON value in which every text carries the attack; without `every_text`, not what shows its form."""
    if isinstance(value, dict):
        return {
            (name + ATTACK if key in {"properties", "arguments"} else name): attacked(
                member, every_text=every_text, key=name
            )
            for name, member in value.items()
        }
    if isinstance(value, list):
        return [attacked(member, every_text=every_text, key=key) for member in value]
    if isinstance(value, str) and (every_text or key not in STRUCTURE):
        return value + ATTACK
    return value


def attacked_line(line: str, *, every_text: bool) -> str:
    row = json.loads(line)
    for key in (
        "request",
        "model",
        "server_version",
        "owned_by",
        "started_at",
        "source",
        "notes",
        "detail",
        "event",
    ):
        if key in row:
            row[key] = attacked(
                row[key], every_text=key != "event" and every_text, key="type" if key == "event" else key
            )
    for key in ("data", "body"):
        if key in row:
            try:
                row[key] = json.dumps(attacked(json.loads(row[key]), every_text=every_text))
            except ValueError:
                row[key] += ATTACK if every_text else ""
    if "comment" in row:
        row["comment"] += ATTACK
    return json.dumps(row)


def printed(capsys: pytest.CaptureFixture[str], *words: str | Path) -> str:
    """What a command prints, on both streams, also when it fails."""
    with suppress(SystemExit):
        main([str(word) for word in words])
    out, err = capsys.readouterr()
    assert out or err
    return out + err


def harmless(capsys: pytest.CaptureFixture[str], *words: str | Path) -> str:
    text = printed(capsys, *words)
    forbidden = FORBIDDEN.search(text)
    assert forbidden is None, (words, text[max(forbidden.start() - 80, 0) : forbidden.end() + 40])
    return text


@pytest.fixture(scope="module", params=[False, True], ids=["values", "everything"])
def hostile_files(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The built-in captures under attack, in files whose names are attacks as well."""
    folder = tmp_path_factory.mktemp("attack")
    problems = []
    for source in FILES:
        lines = source.read_text("utf-8").splitlines()
        file = folder / f"{source.stem[:40]}\x1b[2J\x07\u202e.jsonl"
        file.write_text("\n".join(attacked_line(line, every_text=request.param) for line in lines) + "\n")
        problems.append(file)
    return problems


def test_every_command_over_captures_whose_every_string_is_an_attack(
    hostile_files: list[Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    verdicts = harmless(capsys, "audit", *hostile_files)
    assert "\\x1b[2J" in verdicts
    harmless(capsys, "audit", "--json", *hostile_files)
    for file in hostile_files:
        harmless(capsys, "tokens", file)
        harmless(capsys, "tokens", file, "--json")
        harmless(capsys, "diagnose", file)
        harmless(capsys, "diagnose", file, "--all", "--around")
        harmless(capsys, "diagnose", file, "--json")
        harmless(capsys, "report", file, "--markdown", "-")
        harmless(capsys, "report", file, "--html", "-", "--against", hostile_files[0])
        harmless(capsys, "compare", hostile_files[0], file)
        harmless(capsys, "compare", hostile_files[0], file, "--json")
    harmless(capsys, "compare", *hostile_files[:4])
    harmless(capsys, "compare", "--left", *hostile_files[:2], "--right", *hostile_files[2:4])
    for number, file in enumerate(hostile_files):
        assert "\\x1b[2J" in harmless(capsys, "redact", file, "--out", tmp_path / f"{number}\x1b[2J.jsonl")
    out = tmp_path / "out\x1b[2J"
    assert "\\x1b[2J" in harmless(capsys, "scan", hostile_files[0].parent, "--out", out)
    harmless(capsys, "scan", "--out", out, "--json")
    harmless(capsys, "library", out, "--rows", "50", "--group-by", "model")
    harmless(capsys, "library", out, "--rows", "50", "--json")
    assert "\\x1b[2J" in harmless(capsys, "library", out, "--csv", "-")


def test_colour_adds_nothing_but_its_own_sequences(
    hostile_files: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (("audit", "--all"), ("diagnose",), ("compare", hostile_files[0]), ("tokens",)):
        for file in hostile_files:
            plain, colored = (
                printed(capsys, words[0], *words[1:], file, "--color", when) for when in ("never", "always")
            )
            assert COLORS.sub("", colored) == plain, words
            assert words[0] == "tokens" or colored != plain
            assert printed(capsys, words[0], *words[1:], file, "--color", "always", "--json").isascii()


def test_a_report_on_standard_output_keeps_its_lines(capsys: pytest.CaptureFixture[str]) -> None:
    write_text("-", f'"{ATTACK}","two\nlines"\n')
    text = capsys.readouterr().out
    assert FORBIDDEN.search(text) is None
    assert text.endswith('","two\nlines"\n')


def test_a_server_cannot_fill_the_screen_with_its_version(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capture = load(FILES[0])
    name = tmp_path / "a.jsonl"
    save(replace(capture, header=replace(capture.header, server_version="9" * 300)), name)
    main(["audit", str(name)])
    main(["scan", str(name), "--out", str(tmp_path / "out"), "--quiet"])
    main(["library", str(tmp_path / "out"), "--rows", "1"])
    printed = capsys.readouterr().out
    assert f" {'9' * 59}… " in printed.replace(",", " ")
    assert "9" * 60 not in printed


@pytest.mark.parametrize(
    "words",
    [
        ("audit", "{}"),
        ("tokens", "{}"),
        ("tokens", "x", "{}"),
        ("compare", "{}", "{}"),
        ("diagnose", "{}"),
        ("lint", "{}"),
        ("rollout", "{}"),
        ("lint", "{}", "--max-findings", "{}"),
        ("report", "{}", "--html", "-"),
        ("report", "fixtures/formats/format-1.jsonl", "--html", "none/{}"),
        ("play", "{}"),
        ("play", "--port", "{}"),
        ("play", "--speed", "{}"),
        ("play", "--faults", "{}"),
        ("tap", "--upstream", "http://localhost:1", "--out", "/proc/{}"),
        ("tap", "--upstream", "{}=http://localhost:1", "--out", "x"),
        ("tap", "--upstream", "http://{}", "--out", "x"),
        ("doctor", "--base-url", "{}"),
        ("record", "--base-url", "http://localhost:1", "--model", "m", "--prompt", "p", "--out", "none/{}"),
        ("record", "--base-url", "{}", "--model", "m", "--prompt", "p", "--out", "x"),
        ("scan", "{}", "--out", "fixtures/README.md/{}"),
        ("scan", "README.md", "--out", "/proc/{}"),
        ("scan", "x", "--jobs", "{}"),
        ("library", "none/{}"),
        ("library", "--filter", "{}"),
        ("library", "--filter", "kind == '{}'"),
        ("lab", "scripts", "--json"),
        ("lab", "adopt", "none/{}"),
        ("lab", "fixtures", "none/{}"),
        ("redact", "{}", "--out", "x"),
        ("redact", "fixtures/formats/format-1.jsonl", "--out", "/proc/{}"),
        ("canary", "--base-url", "http://{}", "--model", "m", "--out", "/proc/{}"),
        ("lab", "shrink", "{}"),
        ("lab", "bisect", "{}", "--good", "0.1", "--bad", "0.2"),
        ("{}",),
        ("audit", "fixtures/formats/format-1.jsonl", "--{}"),
    ],
    ids=" ".join,
)
def test_names_and_options_are_escaped(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    attack = "\x1b]0;owned\x07\u202e\x9b\n\r"
    text = harmless(capsys, *(word.format(attack) for word in words))
    assert "\nowned" not in text


def test_log_lines_and_text_are_escaped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = f'ERROR: unexpected tokens remaining in message header: ["{ATTACK}"]\nValueError: {ATTACK}\n'
    file = tmp_path / "log.txt"
    file.write_bytes(
        (f"INFO vLLM API server version 0.13.0{ATTACK}\n" + log * 3).encode("utf-8", "surrogatepass")
    )
    for options in ((), ("--all",), ("--around",), ("--json",)):
        harmless(capsys, "diagnose", file, *options)


def test_data_sets_are_escaped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (
        f"<|start|>user<|message|>Hi<|end|>{ATTACK}<|start|>assistant<|channel|>{ATTACK}<|message|>{ATTACK}"
    )
    call = {"id": ATTACK, "function": {"name": "f", "arguments": ATTACK}}
    rows = [
        {f"text{ATTACK}": text, "messages": [{"role": ATTACK, "content": f"<|end|>{ATTACK}"}]},
        {"messages": [{"role": "assistant", "tool_calls": [call]}]},
        {"messages": ATTACK},
    ]
    file = tmp_path / "rows\x1b[2J\x07\u202e.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows) + f'{{"{ATTACK[:-1]}"\n', "utf-8")
    for options in ((), ("--json",), ("--sarif", "-"), ("--text", ATTACK[:-1])):
        assert "\\x1b" in harmless(capsys, "lint", file, *options) or "u001b" in harmless(
            capsys, "lint", file, *options
        )


def test_rollouts_are_escaped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    head, tail = f"<|start|>user<|message|>{ATTACK}<|end|><|start|>assistant", "<|channel|>final<|message|>"
    rows = [
        {
            "session_id": ATTACK,
            "prompt_ids": encode(head),
            "response_ids": encode(f"{tail}{ATTACK}<|return|>"),
        },
        {
            "session_id": ATTACK,
            "prompt_ids": encode(f"{head}{tail}{ATTACK}{ATTACK}<|end|>"),
            "response_ids": [],
        },
    ]
    file = tmp_path / "rows\x1b[2J\x07\u202e.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    for options in ((), ("--json",)):
        assert "1b" in harmless(capsys, "rollout", file, *options)


@pytest.fixture
def hostile_server() -> Iterator[str]:
    """A server whose every answer is an attack, also in its version and its list of models."""
    lines = FILES[0].read_text("utf-8").splitlines()
    events = [json.loads(attacked_line(line, every_text=False)).get("data") for line in lines[1:-1]]

    async def models(_: Request) -> Response:
        card = {"id": "m" + ATTACK, "owned_by": "vllm" + ATTACK, "root": ATTACK}
        return Response(json.dumps({"object": "list", "data": [card]}), media_type="application/json")

    async def version(_: Request) -> Response:
        return Response(json.dumps({"version": "0.13.0" + ATTACK}), media_type="application/json")

    async def chat(_: Request) -> Response:
        body = "".join(f"data: {event}\n\n" for event in events if event is not None)
        return Response(body, media_type="text/event-stream")

    async def any_path(_: Request) -> Response:
        error = json.dumps({"error": {"message": f"no{ATTACK}", "type": ATTACK}})
        return Response(error, 400, media_type="application/json")

    methods = ["GET", "POST"]
    routes = [
        Route("/v1/models", models),
        Route("/version", version),
        Route("/health", lambda _: JSONResponse({})),
        Route("/v1/chat/completions", chat, methods=methods),
        Route("/{rest:path}", any_path, methods=methods),
    ]
    with listening(Starlette(routes=routes)) as address:
        yield address


def test_commands_that_ask_a_server_escape_what_it_says(
    hostile_server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = ("--base-url", hostile_server, "--model", "m")
    harmless(capsys, "doctor", "--base-url", hostile_server)
    harmless(capsys, "doctor", "--base-url", hostile_server, "--json")
    for endpoint in ("chat", "responses", "completions"):
        out = tmp_path / f"{endpoint}\x1b[2J.jsonl"
        harmless(capsys, "record", *base, "--endpoint", endpoint, "--prompt", "p", "--out", out)
    ask = ("compare", "--ask", hostile_server, hostile_server, "--model", "m", "--prompt", "p")
    harmless(capsys, *ask)
    harmless(capsys, *ask, "--runs", "2", "--out", tmp_path / "runs\x1b[2J")
