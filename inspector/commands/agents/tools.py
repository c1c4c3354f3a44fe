"""What the tools of the MCP server return: the rows of the commands' `--json`, in two parts.

`result` is what this program says; `untrusted` has whole texts that a model, a server or a user wrote.
"""

import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from os import environ
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from inspector.analysis.audit.missing_ids import ids_hint
from inspector.analysis.prompt import prompt_of
from inspector.analysis.reading import Reading, read
from inspector.capture.capture import Capture, Endpoint
from inspector.capture.errors import ConnectionFailed, InspectorError
from inspector.commands.agents.bounds import LIMIT, visible
from inspector.commands.asking import KEY_VARIABLE, URL_VARIABLE
from inspector.commands.diagnose import diagnosis_of
from inspector.commands.doctor import checkup_row
from inspector.commands.shared import path_of
from inspector.files.compression import HEAD
from inspector.files.store import disk_errors, load_all, loads_all
from inspector.fleet.doctor import CheckState, check_server
from inspector.inspection.compare import compare as compared
from inspector.inspection.inspection import inspect
from inspector.issues import diagnosis_row
from inspector.matrix.answers import matrix_answer
from inspector.net.client.address import Server, SettingHints
from inspector.views.audit_result import AuditResult
from inspector.views.comparison_rows import comparison_row
from inspector.views.finding_groups import grouped, rest_words
from inspector.views.prompt_rows import prompt_token_rows
from inspector.views.rows import audit_row, finding_row, token_rows

TEXT_AT_MOST: Final = 1_000_000
"""Characters of an input that is not a file."""
FILE_AT_MOST: Final = 64 * 2**20
"""Bytes of a file with captures; a log may be longer, as it is read line by line."""
AUDITS_AT_MOST: Final = 10
TOKENS_AT_MOST: Final = 200

_INLINE: Final = "text"
_OF_ANSWER: Final = (
    "id",
    "title",
    "match",
    "sides",
    "cause",
    "steps",
    "settle",
    "because",
    "affected",
    "links",
)
_ANSWERS_IN_FULL: Final = 3
_OF_FINDING: Final = ("code", "severity", "field", "token_start", "token_end", "explanation", "known_issues")
_HINTS: Final = SettingHints(
    key=f"set {KEY_VARIABLE}, and this server as {URL_VARIABLE}, where the MCP server is started",
    silence="ask again",
    certificates="run the command doctor, which has --ca-file",
)


class Parts(NamedTuple):
    """One result."""

    result: Mapping[str, Any]
    untrusted: Mapping[str, Any]
    rest: str
    """Where everything is that a bound cuts, one sentence."""


def audit(file: str, text: str, start: int, amount: int) -> Parts:
    """Findings, verdict, causes and steps of each capture."""
    named = _captures(file, text)
    chosen = named[start : start + amount]
    if not chosen:
        raise InspectorError(
            f"start {start} is behind the last capture; there are {len(named)}, counted from 0"
        )
    results = [AuditResult(inspect(capture, name=name)) for name, capture in chosen]
    rows = [audit_row(result) for result in results]
    return Parts(
        {
            "captures": len(named),
            "start": start,
            "audits": [_ours(*pair) for pair in zip(results, rows, strict=True)],
        },
        {
            "responses": [
                {key: row[key] for key in ("file", "error", "delivered", "generated", "messages")}
                for row in rows
            ]
        },
        _rest("audit", file, "start and count choose captures; tokens shows the text token by token"),
    )


def _ours(result: AuditResult, row: Mapping[str, Any]) -> dict[str, Any]:
    """What a reader needs of a row of `audit --json`; findings are grouped as `audit` prints them."""
    verdict, prompt = row["verdict"], row["prompt"]
    return {
        **{key: row[key] for key in ("file", "endpoint", "model", "server", "gateway", "server_version")},
        "evidence": row["evidence"],
        "verdict": {key: verdict[key] for key in ("level", "outcome", "sentence", "why")},
        "headline": row["summary"]["headline"],
        "causes": row["causes"],
        "alternatives": (verdict["cause"] or {}).get("alternatives", []),
        "findings": [
            {key: finding_row(group[0])[key] for key in _OF_FINDING} | {"more": rest_words(group)}
            for group in grouped(result.inspection.findings)
        ],
        "finish_reason": row["finish_reason"],
        "tokens": row["tokens"]["count"],
        "prompt": prompt and {key: prompt[key] for key in ("sentence", "differences")},
        "notes": row["notes"],
    }


def tokens(file: str, text: str, start: int, amount: int, choice: int, *, prompt: bool) -> Parts:
    """Tokens of one completion, or of the prompt, from `start` on."""
    name, capture = _one(file, text)
    reading = read(capture)
    rows, size = _prompt_rows(name, reading) if prompt else _completion_rows(name, reading, choice)
    shown = list(_fitting(islice(rows, start, start + amount)))
    after = start + len(shown)
    return Parts(
        {
            "file": name,
            "server": reading.server_label,
            "tokens": size,
            "start": start,
            "next_start": after if after < size else None,
        },
        {"tokens": shown},
        _rest("tokens", file, "start and count choose tokens"),
    )


def _fitting(rows: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Rows as long as they fit into a result uncut, so that `next_start` is the first that is not shown."""
    left = LIMIT - 2000
    for row in rows:
        left -= len(json.dumps({key: visible(str(item)) for key, item in row.items()})) + 2
        if left < 0:
            return
        yield row


def _completion_rows(name: str, reading: Reading, number: int) -> tuple[Sequence[Mapping[str, Any]], int]:
    choice = next((each for each in reading.choices if each.index == number), None)
    if choice is None:
        raise InspectorError(f"{name}: no choice {number}; it has {len(reading.choices)}, counted from 0")
    keys = ("index", "id", "text", "state", "message", "channel", "event")
    rows = [{key: row[key] for key in keys} for row in token_rows(reading, choice)]
    if not rows:
        raise InspectorError(f"{name}: no token IDs. {ids_hint(reading)}")
    return rows, len(rows)


def _prompt_rows(name: str, reading: Reading) -> tuple[Sequence[Mapping[str, Any]], int]:
    prompt = prompt_of(reading)
    if prompt is None:
        raise InspectorError(f"{name}: no token IDs of the prompt. {ids_hint(reading)}")
    return list(prompt_token_rows(prompt)), len(prompt.ids)


def diagnose(file: str, text: str) -> Parts:
    """The known issues that a text, a log or a capture matches."""
    if _inline(file, text):
        row = diagnosis_row(_INLINE, diagnosis_of(io.BufferedReader(io.BytesIO(_bytes(text)), HEAD), _INLINE))
    else:
        with _opened(file) as opened:
            row = diagnosis_row(file, diagnosis_of(opened, file))
    log = row["log"]
    keys = ("outcome", "sentence", "next_step", "route", "sides", "server_version", "notes")
    return Parts(
        {
            "file": row["file"],
            **{key: row[key] for key in keys},
            "answers": [
                {key: answer[key] for key in (_OF_ANSWER if place < _ANSWERS_IN_FULL else _OF_ANSWER[:3])}
                for place, answer in enumerate(row["answers"])
            ],
            "measured": row["measured"],
            "closest": row["closest"],
            "log": log and {key: log[key] for key in ("lines", "requests")},
        },
        {
            "failures": [
                {key: failure[key] for key in ("message", "count", "share", "first_line", "issues", "around")}
                for failure in row["failures"]
            ]
        },
        _rest("diagnose", file),
    )


def compare(left: str, left_text: str, right: str, right_text: str) -> Parts:
    """Two captures by token and by what was delivered."""
    row = comparison_row(
        compared(
            *(
                inspect(capture, name=name)
                for name, capture in (_one(left, left_text), _one(right, right_text))
            )
        )
    )
    theirs = ("generated", "delivered", "settings", "prompt")
    ours = {key: value for key, value in row.items() if key not in (*theirs, "timing")}
    return Parts(
        ours,
        {key: row[key] for key in theirs},
        f"harmony-inspector compare {left or 'LEFT'} {right or 'RIGHT'} --json prints everything.",
    )


def doctor(base_url: str, model: str) -> Parts:
    """Checks of a server that runs."""
    server = Server(base_url=base_url, settings=_HINTS)
    own = environ.get(URL_VARIABLE, "")
    if own and _origin(Server(base_url=own)) == _origin(server):
        server = replace(server, api_key=environ.get(KEY_VARIABLE, ""))
    checkup = check_server(server, model=model or None)
    if checkup.checks[0].state is CheckState.FAILED:
        raise ConnectionFailed(checkup.checks[0].says)
    return Parts(
        checkup_row(checkup), {}, f"harmony-inspector doctor --base-url {server.v1} --json prints everything."
    )


def _origin(server: Server) -> tuple[str, str]:
    """A client may be talked into asking any server: the key is for the one that the user set."""
    parts = urlsplit(server.v1)
    return parts.scheme.lower(), parts.netloc.lower()


def matrix(release: str, endpoint: str, steps: str, server: str) -> Parts:
    """Which release delivers which streams completely."""
    return Parts(
        matrix_answer(Endpoint(endpoint), release=release, steps=steps, server=server),
        {},
        "harmony-inspector matrix --json prints everything.",
    )


def _rest(command: str, file: str, how: str = "") -> str:
    return (
        f"harmony-inspector {command} {file or 'FILE'} --json prints everything{f'; {how}' if how else ''}."
    )


def _inline(file: str, text: str) -> bool:
    if bool(file) is bool(text):
        raise InspectorError("give either file or text: a path, or the content itself")
    return bool(text)


def _bytes(text: str) -> bytes:
    if len(text) > TEXT_AT_MOST:
        raise InspectorError(
            f"the text has {len(text):,} characters, at most {TEXT_AT_MOST:,} are read; give its path as file"
        )
    return text.encode("utf-8", "replace")


def _regular(file: str) -> Path:
    """The path of a file: no device or pipe, which may never end."""
    try:
        path = path_of(file)
        regular = path.is_file()
    except (OSError, ValueError) as error:
        raise InspectorError(f"{file[:200]}: not a path") from error
    if not regular:
        raise InspectorError(f"{file}: no such file; text gives the content itself")
    return path


def _opened(file: str) -> "io.BufferedReader[Any]":
    path = _regular(file)
    with disk_errors(path):
        return io.BufferedReader(path.open("rb", buffering=0), HEAD)


def _captures(file: str, text: str) -> list[tuple[str, Capture]]:
    inline = _inline(file, text)
    captures = (
        loads_all(_bytes(text), _INLINE) if inline else load_all(_regular(file), limit_bytes=FILE_AT_MOST)
    )
    name = _INLINE if inline else file
    if len(captures) == 1:
        return [(name, captures[0])]
    return [(f"{name}#{number}", capture) for number, capture in enumerate(captures, 1)]


def _one(file: str, text: str) -> tuple[str, Capture]:
    named = _captures(file, text)
    if len(named) != 1:
        raise InspectorError(f"{file or _INLINE} contains {len(named)} captures; this tool takes one")
    return named[0]
