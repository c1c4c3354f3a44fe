"""Overhead of the tap: the same client direct, through the tap, and through mitmproxy, in one run.

    python bench/tap.py [--mitmdump PATH] [--rounds 7]

Delay: a server sends 200 events per second, each with its send time, one network chunk per event;
the client notes when each arrives. Throughput: the server sends as fast as the client reads. Each round
uses all paths in turn, so that other load affects all of them; ratios are within one round.
mitmproxy is not a dependency: install it into its own environment and pass the path of its mitmdump.
"""

import argparse
import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from shutil import which
from typing import Any, NamedTuple, cast

import httpx
import openai

from tests.support.listening import free_port

DELAY_EVENTS = 400
DELAY_GAP_S = 0.005
FLOOD_EVENTS = 4000
TICK_S = 1 / os.sysconf("SC_CLK_TCK")
WAYS = ("direct", "tap", "tap, IDs added", "mitmproxy")
COLUMNS = (
    "path",
    "delay p50 ms",
    "added p50 ms",
    "delay p95 ms",
    "bare client events/s",
    "vs. direct",
    "openai client events/s",
    "vs. direct",
    "CPU µs/event",
)


# -- the server: one chunk an event, as vLLM's uvicorn sends them ---------------------------------------


def chunk(sent_ns: int) -> bytes:
    """One event of a chat stream, as long as vLLM's; `created` holds the time of its sending."""
    choice = {
        "index": 0,
        "delta": {"content": " word"},
        "logprobs": None,
        "finish_reason": None,
        "token_ids": [2195],
    }
    payload = {
        "id": "chatcmpl-8e6f989130fa77ee",
        "object": "chat.completion.chunk",
        "created": sent_ns,
        "model": "openai/gpt-oss-20b",
        "choices": [choice],
    }
    event = f"data: {json.dumps(payload, separators=(',', ':'))}\n\n".encode()
    return f"{len(event):x}\r\n".encode() + event + b"\r\n"


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer one request; the connection closes after it."""
    head = await reader.readuntil(b"\r\n\r\n")
    lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    length = int(lengths[0].split(b":")[1]) if lengths else 0
    body = json.loads(await reader.readexactly(length)) if length else {}
    writer.write(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
        b"transfer-encoding: chunked\r\nconnection: close\r\n\r\n"
    )
    if body.get("user") == "flood":
        stamped_chunk = chunk(time.monotonic_ns())
        for _ in range(FLOOD_EVENTS):
            writer.write(stamped_chunk)
            await writer.drain()
    else:
        begun = time.monotonic()
        for number in range(DELAY_EVENTS):
            await asyncio.sleep(max(begun + number * DELAY_GAP_S - time.monotonic(), 0))
            writer.write(chunk(time.monotonic_ns()))
    writer.write(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")
    writer.close()


async def serve(port: int) -> None:
    """Serve until killed."""
    server = await asyncio.start_server(answer, "127.0.0.1", port)
    async with server:
        await server.serve_forever()


# -- the clients ----------------------------------------------------------------------------------------


def expect(count: int, expected: int, address: str) -> None:
    """Exit if a path loses events: its times would mean nothing."""
    if count != expected:
        raise SystemExit(f"{count} of {expected} events arrived from {address}")


def delays_ms(address: str) -> list[float]:
    """From the sending of each event to its arrival at a bare client."""
    delays = []
    with httpx.Client(timeout=60) as client:
        request = {"model": "m", "stream": True, "user": "paced"}
        with client.stream("POST", f"{address}/v1/chat/completions", json=request) as response:
            response.raise_for_status()
            rest = b""
            for raw in response.iter_raw():
                received_ns = time.monotonic_ns()
                *events, rest = (rest + raw).split(b"\n\n")
                for event in events:
                    if b'"created":' in event:
                        sent = int(event.split(b'"created":')[1].split(b",")[0])
                        delays.append((received_ns - sent) / 1e6)
    expect(len(delays), DELAY_EVENTS, address)
    return delays


def bare_events_per_s(address: str) -> float:
    """A client that only reads bytes."""
    with httpx.Client(timeout=60) as client:
        begun = time.perf_counter()
        request = {"model": "m", "stream": True, "user": "flood"}
        with client.stream("POST", f"{address}/v1/chat/completions", json=request) as response:
            count = b"".join(response.iter_raw()).count(b"data: ")
        expect(count, FLOOD_EVENTS + 1, address)
        return FLOOD_EVENTS / (time.perf_counter() - begun)


def openai_events_per_s(address: str) -> float:
    """The official client, which parses every event."""
    with openai.OpenAI(base_url=f"{address}/v1", api_key="k", max_retries=0) as client:
        begun = time.perf_counter()
        stream = client.chat.completions.create(model="m", messages=[], stream=True, user="flood")
        count = sum(1 for _ in cast(Any, stream))
        expect(count, FLOOD_EVENTS, address)
        return FLOOD_EVENTS / (time.perf_counter() - begun)


class Way(NamedTuple):
    """An address, and the process that answers there."""

    address: str
    pid: int

    def cpu_s(self) -> float:
        """Processor time that the process has used (Linux)."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * TICK_S


class RoundTimes(NamedTuple):
    """One round of one way."""

    p50_ms: float
    p95_ms: float
    bare_per_s: float
    openai_per_s: float
    cpu_us: float
    """Processor time of the process behind the address, for each event of both floods."""


def figures(way: Way) -> RoundTimes:
    """Measure one way once."""
    delays = statistics.quantiles(delays_ms(way.address), n=20)
    before = way.cpu_s()
    bare, official = bare_events_per_s(way.address), openai_events_per_s(way.address)
    cpu_us = (way.cpu_s() - before) / (2 * FLOOD_EVENTS) * 1e6
    return RoundTimes(delays[9], delays[18], bare, official, cpu_us)


# -- the run --------------------------------------------------------------------------------------------


@contextmanager
def process(words: Sequence[str], port: int) -> Iterator[Way]:
    """A server process, once it listens."""
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        try:
            until = time.monotonic() + 60
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                except OSError:
                    if running.poll() is not None or time.monotonic() > until:
                        raise SystemExit(f"{words} did not start") from None
                    time.sleep(0.1)
            yield Way(f"http://127.0.0.1:{port}", running.pid)
        finally:
            running.terminate()


def ways(stack: ExitStack, mitmdump: str | None, folder: Path) -> dict[str, Way]:
    """The ways to one server."""

    def start(words: Callable[[int], Sequence[str]]) -> Way:
        port = free_port()
        return stack.enter_context(process(words(port), port))

    def tap(port: int, name: str, *options: str) -> list[str]:
        words = [sys.executable, "-m", "inspector", "tap", "--upstream", direct.address, "--port", str(port)]
        return [*words, "--out", str(folder / name), *options]

    direct = start(lambda port: [sys.executable, __file__, "--serve", str(port)])
    paths = {
        "direct": direct,
        "tap": start(lambda port: tap(port, "plain")),
        "tap, IDs added": start(lambda port: tap(port, "ids", "--add-token-ids")),
    }
    if mitmdump is not None:
        settings = [f"confdir={folder}", "stream_large_bodies=1", "store_streamed_bodies=true"]
        options = [word for setting in settings for word in ("--set", setting)]
        recording_options = ["-w", str(folder / "flows"), "-q"]
        paths["mitmproxy"] = start(
            lambda port: [
                mitmdump,
                "--mode",
                f"reverse:{direct.address}",
                "-p",
                str(port),
                *recording_options,
                *options,
            ]
        )
    return paths


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description="Overhead of the tap, compared with direct access and mitmproxy."
    )
    parser.add_argument("--mitmdump", default=which("mitmdump"), help="path of mitmproxy's mitmdump")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--serve", type=int, metavar="PORT", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve is not None:
        asyncio.run(serve(arguments.serve))
        return
    os.environ["PYTHONPATH"] = str(Path(__file__).parent.parent)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        paths = ways(stack, arguments.mitmdump, folder)
        for way in paths.values():
            bare_events_per_s(way.address)  # the first answer of a process is slower
        measured = [{name: figures(way) for name, way in paths.items()} for _ in range(arguments.rounds)]
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {arguments.rounds} rounds, medians")
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    for name in WAYS:
        if name not in paths:
            print(f"| {name} | not measured: pass --mitmdump |")
            continue
        rows = [(measured_round[name], measured_round["direct"]) for measured_round in measured]
        medians = RoundTimes(
            *(
                statistics.median(column)
                for column in zip(*(path_figures for path_figures, _ in rows), strict=True)
            )
        )
        added = statistics.median(path_figures.p50_ms - direct.p50_ms for path_figures, direct in rows)
        of_bare = statistics.median(
            path_figures.bare_per_s / direct.bare_per_s for path_figures, direct in rows
        )
        of_openai = statistics.median(
            path_figures.openai_per_s / direct.openai_per_s for path_figures, direct in rows
        )
        print(
            f"| {name} | {medians.p50_ms:.2f} | {added:.2f} | {medians.p95_ms:.2f} | "
            f"{medians.bare_per_s:,.0f} | {of_bare:.2f} | {medians.openai_per_s:,.0f} | "
            f"{of_openai:.2f} | {medians.cpu_us:.0f} |"
        )


if __name__ == "__main__":
    main()
