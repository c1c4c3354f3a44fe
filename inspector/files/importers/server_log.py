"""A vLLM server log with token IDs (`--enable-log-requests --enable-log-outputs`).

Two forms, from vLLM's request logger: one INFO line `Generated response ID: output: '...',
output_token_ids: [...], finish_reason: stop` (vLLM 0.10 on), and in newer releases a DEBUG line
`Generated response ID details: output_token_ids: [...]`. Only whole answers are read. For a streamed
request vLLM logs the IDs of those steps alone that delivered text, not the special tokens between them, and
`None` at the end: no capture can be made of that, and none is guessed.
"""

import re
from typing import Final

from inspector.capture.bounds import CAPTURES, TOKENS, over
from inspector.capture.capture import Capture, Endpoint, Event, Header
from inspector.capture.errors import CaptureError
from inspector.files.importers.importer import Content, Importer

_MARK: Final = "output_token_ids: "
_START: Final = re.compile(r"Generated response (\S+?)( \(streaming (?:delta|complete)\))?(?: details)?: ")
_IDS: Final = r"((?:-?[0-9]{1,4000}(?:, ?-?[0-9]{1,4000})*,?)?)"
_LIST: Final = re.compile(rf"[\[(]{_IDS}[\])](?:, finish_reason: \S+)?\s*(?:\x1b\[[0-9;]*m)?\s*")
_HEAD: Final = 65536
_SERVER_LINE: Final = re.compile(
    rb"vLLM API server version |\((?:APIServer|EngineCore)[^()\n]{0,40} ?pid=[0-9]"
)
_VERSION: Final = re.compile(r"vLLM API server version ([0-9][\w.+-]*)")
_BOUND: Final = re.compile(r"'max_log_len': ([0-9]{1,9})")
_LEFT_OUT: Final = "Skipped {} streamed responses, because vLLM logs only some of their token IDs."
_BROKEN: Final = "Skipped {} truncated lines with token IDs."
_BOUNDED: Final = "The server ran with --max-log-len {}: later token IDs are not in the log."


def sniff(content: Content) -> bool:
    """True if a line has the token IDs of a response."""
    return content.is_text and _MARK.encode() in content.data and b"Generated response " in content.data


def is_log_without_ids(content: Content) -> bool:
    """True if the head has a line of vLLM's servers."""
    return content.is_text and _SERVER_LINE.search(content.data, 0, _HEAD) is not None


def read(content: Content) -> list[Capture]:
    """One capture per response, in log order; raises CaptureError if all of them were streamed."""
    text, name = content.data.decode("utf-8", "replace"), content.name
    version = match[1] if (match := _VERSION.search(text)) else None
    bound = int(match[1]) if (match := _BOUND.search(text)) else None
    answers: list[tuple[str, list[int]]] = []
    streamed: set[str] = set()
    broken = 0
    for line in text.split("\n"):
        start = _START.search(line) if _MARK in line else None
        if start is None:
            continue
        # The logged text comes from the model and may hold anything: the last mention is vLLM's own.
        at = line.rindex(_MARK) + len(_MARK)
        listed = _LIST.fullmatch(line, at)
        if start[2]:
            streamed.add(start[1])
        elif listed:
            words = listed[1].replace(",", " ").split()
            if len(words) > TOKENS or len(answers) >= CAPTURES:
                limit = (TOKENS, "token IDs in one line") if len(words) > TOKENS else (CAPTURES, "responses")
                raise CaptureError(name, over(*limit))
            answers.append((start[1], [int(word) for word in words]))
        else:
            broken += not line.startswith("None", at)
    if not answers:
        raise CaptureError(name, _no_output(len(streamed)))
    notes = [_LEFT_OUT.format(len(streamed))] if streamed else []
    notes += [_BROKEN.format(broken)] if broken else []
    captures = []
    for request_id, ids in answers:
        notes += [_BOUNDED.format(bound)] if len(ids) == bound else []
        header = Header(
            endpoint=Endpoint.TOKENS,
            server_version=version,
            source="vLLM server log",
            extra={"request_id": request_id},
        )
        captures.append(Capture(header=header, events=[Event(str(ids))], notes=tuple(notes)))
        notes = []
    return captures


def _no_output(streamed: int) -> str:
    if not streamed:
        return "no output_token_ids line has a complete list; log again, or use another file"
    return (
        f"contains only streamed responses ({streamed}), for which vLLM logs only some of the token IDs; "
        "log with stream: false, or record the stream with return_token_ids"
    )


SERVER_LOG: Final = Importer(
    name="server_log",
    label="a vLLM log",
    files=(
        "a vLLM server log with `output_token_ids` (`--enable-log-requests --enable-log-outputs`, newer "
        "releases at debug level)"
    ),
    becomes=(
        "a `tokens` capture for each unstreamed response. For streamed responses vLLM logs only the token "
        "IDs of steps that delivered text, so these are skipped with a note"
    ),
    suffixes=(".log", ".txt"),
    sniff=sniff,
    read=read,
)
