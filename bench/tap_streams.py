"""Many streams at once through the tap, each audited when it ends: what is lost, and how late it is.

    python -m bench.tap_streams [--streams 64] [--rate 200] [--tokens 2000]

A server sends each stream one token per event at the rate, with its token ID. A client reads all of them,
directly, through `inspector tap`, and through `tap --metrics`. All of them run on this machine.
"""

import argparse
import asyncio
import json
import os
import re
import statistics
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import httpx

from bench.tap import Way, process
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.vocab import encode
from tests.support.listening import free_port

_WORDS = " one two three four five six seven eight nine ten"
_LAG_WAIT_S = 120.0
_ZERO = 10**14
"""Added to times, so that all have 15 digits."""


def events(tokens: int) -> list[bytes]:
    """A well-formed chat stream of about so many tokens, one per event; `@` is where the time goes."""
    head, middle, end = (
        "<|channel|>analysis<|message|>",
        "<|end|><|start|>assistant<|channel|>final<|message|>",
        [200002],
    )
    words = encode(_WORDS)
    half = [words[place % len(words)] for place in range(tokens // 2)]
    chunks = [_chunk({"role": "assistant", "content": ""}, None)]
    for ids, field in (
        (encode(head), ""),
        (half, "reasoning"),
        (encode(middle), ""),
        (half, "content"),
        (end, ""),
    ):
        chunks += [_chunk({field: text_of([token_id])} if field else {}, token_id) for token_id in ids]
    choice = {"index": 0, "delta": {}, "finish_reason": "stop", "token_ids": []}
    return [*chunks, _framed({"choices": [choice]}), b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"]


def _chunk(delta: dict[str, str], token_id: int | None) -> bytes:
    ids = {} if token_id is None else {"token_ids": [token_id]}
    return _framed(
        {"choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": None, **ids}]}
    )


def _framed(payload: dict[str, object]) -> bytes:
    stamped = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": "@", "model": "m", **payload}
    event = f"data: {json.dumps(stamped, separators=(',', ':'))}\n\n".encode().replace(b'"@"', b"@" * 15)
    return f"{len(event):x}\r\n".encode() + event + b"\r\n"


async def serve(port: int, tokens: int, rate: float) -> None:
    """Answer every request with the stream at the rate, until killed."""
    stream = events(tokens)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: *(\d+)", head.lower())
        await reader.readexactly(int(length[1]) if length else 0)
        if b"POST" not in head:
            writer.write(b"HTTP/1.1 404 No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            writer.close()
            return
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n"
            b"connection: close\r\n\r\n"
        )
        begun = time.monotonic()
        for number, event in enumerate(stream):
            await asyncio.sleep(max(begun + number / rate - time.monotonic(), 0))
            writer.write(event.replace(b"@" * 15, b"%d" % (_ZERO + time.monotonic_ns() // 1000)))
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", port, backlog=1024)
    async with server:
        await server.serve_forever()


async def read(address: str, streams: int) -> tuple[int, list[float], float]:
    """Events that arrived, their delays in ms, and how long it took, of so many streams at once."""
    delays: list[float] = []
    count = 0

    async def read_stream(client: httpx.AsyncClient) -> None:
        nonlocal count
        request = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "Count."}]}
        rest = b""
        async with client.stream("POST", f"{address}/v1/chat/completions", json=request) as response:
            response.raise_for_status()
            async for raw in response.aiter_raw():
                received_us = _ZERO + time.monotonic_ns() // 1000
                *events, rest = (rest + raw).split(b"\n\n")
                count += len(events)
                place = events[-1].find(b'"created":') if events else -1
                if place >= 0:
                    delays.append((received_us - int(events[-1][place + 10 : place + 25])) / 1000)

    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(timeout=300, limits=limits) as client:
        begun = time.monotonic()
        await asyncio.gather(*(read_stream(client) for _ in range(streams)))
        return count, delays, time.monotonic() - begun


def audits(address: str, streams: int) -> str:
    """The tap's metrics once all streams are audited."""
    until = time.monotonic() + _LAG_WAIT_S
    while True:
        exposition = httpx.get(address).text
        counted = {
            verdict: int(float(number))
            for verdict, number in re.findall(r'streams_total\{.*?verdict="(\w+)".*?\} (\S+)', exposition)
        }
        if sum(counted.values()) >= streams or time.monotonic() > until:
            break
        time.sleep(0.2)
    lag_match = re.search(r"audit_lag_seconds_sum (\S+)", exposition)
    unaudited = sum(
        float(number) for number in re.findall(r"unaudited_streams_total\{.*?\} (\S+)", exposition)
    )
    mean = float(lag_match[1]) / max(sum(counted.values()), 1) if lag_match else 0.0
    return f"audited {counted}, not audited {unaudited:.0f}, mean lag of the audit {mean:.1f} s"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Many streams at once through the tap.")
    parser.add_argument("--streams", type=int, default=64)
    parser.add_argument("--rate", type=float, default=200.0)
    parser.add_argument("--tokens", type=int, default=2000)
    parser.add_argument("--serve", type=int, metavar="PORT", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve is not None:
        asyncio.run(serve(arguments.serve, arguments.tokens, arguments.rate))
        return
    os.environ["PYTHONPATH"] = str(Path(__file__).parent.parent)
    expected = arguments.streams * len(events(arguments.tokens))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))

        def start(port: int, *words: str) -> Way:
            return stack.enter_context(process([sys.executable, "-m", *words], port))

        port, plain, audited, metrics = (free_port() for _ in range(4))
        sizes = ["--tokens", str(arguments.tokens), "--rate", str(arguments.rate)]
        direct = start(port, "bench.tap_streams", "--serve", str(port), *sizes)
        tap = ["inspector", "tap", "--upstream", direct.address, "--out"]
        ways = {
            "direct": direct,
            "tap": start(plain, *tap, str(folder / "plain"), "--port", str(plain)),
            "tap --metrics": start(
                audited, *tap, str(folder / "audited"), "--port", str(audited), "--metrics", str(metrics)
            ),
        }
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
        for name, way in ways.items():
            before = way.cpu_s()
            count, delays, took_s = asyncio.run(read(way.address, arguments.streams))
            cuts, cpu_us = statistics.quantiles(delays, n=100), (way.cpu_s() - before) / count * 1e6
            print(
                f"{name}: {count:,} of {expected:,} events, {count / took_s:,.0f}/s; "
                f"delay p50 {cuts[49]:.1f} ms, p99 {cuts[98]:.1f} ms; {cpu_us:.0f} µs of CPU per event"
            )
        print(audits(f"http://127.0.0.1:{metrics}/metrics", arguments.streams))
        for kind in ("plain", "audited"):
            lines = [len(path.read_bytes().splitlines()) - 2 for path in (folder / kind).glob("*.jsonl")]
            print(f"captures of {kind}: {len(lines)} files, {sum(lines):,} events")


if __name__ == "__main__":
    main()
