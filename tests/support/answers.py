"""Answers of a raw server: a short whole chat, and what goes wrong with one."""

import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from threading import Event

from inspector.protocol.harmony.vocab import encode
from tests.support.raw_server import Answer, RawRequest, sse, stream
from tests.support.streams import chat_chunk

__all__ = ["CHAT", "DONE_EVENT", "STREAM_EVENTS", "answering", "certificate", "counted"]

CHAT = "/v1/chat/completions"
STREAM_EVENTS = [
    sse(chat_chunk(encode("<|channel|>analysis<|message|>"), {"role": "assistant"})),
    sse(chat_chunk(encode("Think"), {"reasoning": "Think"})),
    sse(chat_chunk(encode("<|end|><|start|>assistant<|channel|>final<|message|>"), {})),
    sse(chat_chunk(encode("Hi"), {"content": "Hi"})),
    sse(chat_chunk(encode("<|return|>"), {}, finish="stop")),
]
DONE_EVENT = sse("[DONE]")


def answering(pieces: Iterable[bytes], *, end: bool = True, coding: str = "") -> dict[str, Answer]:
    sent_pieces = list(pieces)
    return {CHAT: lambda _: stream(sent_pieces, end=end, coding=coding)}


def counted(requests: int) -> tuple[dict[str, Answer], Event]:
    """Whole answers, and what is set when so many have been asked for."""
    left = iter(range(requests - 1, -1, -1))
    reached = Event()

    def answer(_: RawRequest) -> Iterator[bytes]:
        if next(left, 0) == 0:
            reached.set()
        return stream([*STREAM_EVENTS, DONE_EVENT])

    return {CHAT: answer}, reached


def certificate(folder: Path) -> tuple[Path, Path]:
    key, chain = folder / "key.pem", folder / "chain.pem"
    subprocess.run(
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
        f"-subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 -keyout {key} -out {chain}".split(),
        check=True,
        capture_output=True,
    )
    return key, chain
