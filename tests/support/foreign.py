"""Files of other programs: recorded ones, and the built-in captures as such files."""

from pathlib import Path
from typing import Any

import pytest

from inspector.capture.capture import Capture, Event
from inspector.capture.errors import CaptureError
from inspector.files.importers import sniff_and_read
from inspector.files.store import builtin, load

__all__ = [
    "BUILTIN",
    "CHAT",
    "FOREIGN",
    "LOG",
    "RECORDED",
    "RESPONSES",
    "STREAMED",
    "known",
    "read",
    "refusal",
    "sse",
    "untimed",
]

FOREIGN = Path(__file__).parents[1] / "files" / "importers" / "foreign"
BUILTIN = {row.name: row for row in builtin()}
CHAT, RESPONSES = "chat-tool-call-leak-vllm-0.14.1", "responses-dropped-tokens-vllm-0.13.0"


def known(name: str) -> Capture:
    return load(BUILTIN[name].path)


def untimed(events: Any) -> list[Event]:
    return [event._replace(at_s=None) for event in events]


def sse(capture: Capture, end: str = "\n") -> bytes:
    """The capture's events as the server sent them."""
    lines = "".join(
        f"{f'event: {event.name}{end}' if event.name else ''}data: {event.data}{end}{end}"
        for event in capture.events
    )
    return lines.encode()


def read(content: bytes | str) -> Capture:
    (capture,) = sniff_and_read(content if isinstance(content, bytes) else content.encode(), "f")
    return capture


def refusal(content: bytes | str) -> str:
    with pytest.raises(CaptureError) as refused:
        sniff_and_read(content if isinstance(content, bytes) else content.encode(), "f")
    sentence = str(refused.value)
    assert "\n" not in sentence
    assert sentence.isprintable()
    return sentence


RECORDED: dict[str, Any] = {
    "server": {"version": "0.13.0"},
    "endpoint": "/v1/responses",
    "request": {"model": "m"},
    "status": 200,
    "lines": [
        [0.1, ": ping"],
        [0.2, "event: response.created"],
        [0.25, 'data: {"type":"response.created"}'],
        [0.3, "data:x"],
        [0.3, ""],
        [0.3, "id: 1"],
    ],
    "error": "RemoteProtocolError('peer closed connection')",
    "script": [200005, 35644],
}
HOSTILE = r"'a, output_token_ids: [666], finish_reason: x\n'"
LOG = f"""INFO 11-20 22:47:22 [api_server.py:1351] vLLM API server version 0.13.0
(APIServer pid=1) INFO 11-20 22:48:24 [logger.py:47] Received request chatcmpl-a: params: SamplingParams(n=1).
\x1b[0;36m(APIServer pid=1)\x1b[0;0m INFO 11-20 22:48:25 [logger.py:76] Generated response chatcmpl-a: \
output: {HOSTILE}, output_token_ids: [200005, 35644, 200008], finish_reason: stop
INFO 11-20 22:48:26 [logger.py:76] Generated response resp_b: \
output: '', output_token_ids: (7,), finish_reason: None
"""
STREAMED = """INFO [logger.py:92] Generated response chatcmpl-c (streaming delta): \
output: 'x', output_token_ids: [87], finish_reason: None
INFO [logger.py:92] Generated response chatcmpl-c (streaming complete): \
output: 'x', output_token_ids: None, finish_reason: streaming_complete
"""
