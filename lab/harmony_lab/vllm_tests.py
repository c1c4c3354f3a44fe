"""The lab's scripts as tests of vLLM: a pytest file and its cases, without imports of this package.

The tests feed vLLM's own Harmony parser (0.24 and newer) without a server. A case expects what the script
expects; a well-formed script is exported only if `openai_harmony` reads its tokens in the same way.
"""

import json
from itertools import islice
from pathlib import Path
from typing import Any, Final

from openai_harmony import HarmonyError, Role, StreamableParser

from harmony_lab.server import STANDALONE
from harmony_lab.standin.steps import RAGGED, schedule_of
from inspector.capture.errors import LabError
from inspector.files.store import replacing
from inspector.matrix.scripts import Script, ScriptPiece, load
from inspector.protocol.harmony import vocab

TEST_FILE: Final = "test_gptoss_streams.py"
DATA_FILE: Final = "gptoss_streams.json"
_TEMPLATE: Final = STANDALONE / "vllm_tests.txt"
_RAGGED_STEPS: Final = 400
"""Step sizes written for the ragged schedule: more than any script needs."""
_FUNCTIONS: Final = "functions."


def write_vllm_tests(folder: Path) -> tuple[int, int]:
    """Write both files; returns the number of exported scripts and of all scripts. Raises LabError."""
    scripts = load()
    cases = [case for script in scripts if (case := case_of(script)) is not None]
    data = {
        "license": "Apache-2.0",
        "ragged_steps": list(islice(schedule_of(RAGGED).sizes(), _RAGGED_STEPS)),
        "cases": cases,
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in ((TEST_FILE, _TEMPLATE.read_bytes()), (DATA_FILE, _json(data).encode())):
            with replacing(folder / name, private=False) as file:
                file.write(content)
    except OSError as error:
        raise LabError(f"{folder}: cannot be written ({error.strerror}); choose another folder") from error
    return len(cases), len(scripts)


def case_of(script: Script) -> dict[str, Any] | None:
    """A script as a case; None if the tests cannot express it.

    They cannot express several turns, server-side tools, and well-formed scripts with optional text or that
    `openai_harmony` reads differently.
    """
    if len(script.turns) > 1 or script.built_in or not script.stream:
        return None
    ids, expect = script.sampled, script.expect
    pieces = (*expect.reasoning, *expect.content)
    rejected = _rejected(ids)
    case: dict[str, Any] = {
        "name": script.name,
        "about": script.sentence,
        "text": vocab.join_bytes(ids).decode("utf-8", "replace"),
        "token_ids": list(ids),
        "tools": list(script.tools),
        "reasoning": [_text(piece) for piece in expect.reasoning],
        "content": [_text(piece) for piece in expect.content],
        "tool_calls": [{"name": call.name, "arguments": call.arguments} for call in expect.tool_calls],
    }
    if rejected:
        return {**case, **({"stray": expect.stray} if expect.stray else {}), "rejected": rejected}
    if expect.stray or not all(piece.required for piece in pieces):
        return None
    calls = [(call.name, call.arguments) for call in expect.tool_calls]
    return case if _read(ids) == (_joined(expect.reasoning), _joined(expect.content), calls) else None


def _text(piece: ScriptPiece) -> str | dict[str, str]:
    return piece.text if piece.required else {"optional": piece.text}


def _joined(pieces: tuple[ScriptPiece, ...]) -> str:
    return "".join(piece.text for piece in pieces)


def _rejected(ids: tuple[int, ...]) -> str:
    """The error of `openai_harmony`; empty if it accepts the stream."""
    parser = StreamableParser(vocab.encoding(), role=Role.ASSISTANT)
    try:
        for token_id in ids:
            parser.process(token_id)
    except HarmonyError as error:
        return str(error)
    return ""


def _read(ids: tuple[int, ...]) -> tuple[str, str, list[tuple[str, str]]]:
    """Reasoning, content and calls as `openai_harmony` reads them, including an unfinished message."""
    parser = StreamableParser(vocab.encoding(), role=Role.ASSISTANT)
    fields: dict[str, str] = {"reasoning": "", "content": ""}
    calls: list[tuple[str, str]] = []
    opened = -1
    for token_id in ids:
        parser.process(token_id)
        number, delta = len(parser.messages), parser.last_content_delta or ""
        channel, recipient = parser.current_channel, parser.current_recipient
        if recipient is not None and recipient.startswith(_FUNCTIONS):
            if opened != number:
                opened = number
                calls.append((recipient.removeprefix(_FUNCTIONS), ""))
            name, arguments = calls[-1]
            calls[-1] = name, arguments + delta
        elif channel == "analysis":
            fields["reasoning"] += delta
        elif recipient is None and channel in {"final", "commentary"}:
            fields["content"] += delta
    return fields["reasoning"], fields["content"], calls


def _json(data: dict[str, Any]) -> str:
    """JSON with one case per block and its token IDs on one line."""
    cases = []
    for case in data["cases"]:
        rows = [
            f"   {json.dumps(key)}: {json.dumps(field, ensure_ascii=False)}" for key, field in case.items()
        ]
        cases.append("  {\n" + ",\n".join(rows) + "\n  }")
    head = (f" {json.dumps(key)}: {json.dumps(value)}" for key, value in data.items() if key != "cases")
    return "{\n" + ",\n".join([*head, ' "cases": [\n' + ",\n".join(cases) + "\n ]"]) + "\n}\n"
