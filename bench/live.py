"""The live path with the built-in server: tokens lost, lag from arrival to feed, many runs at once.

    python -m bench.live --tokens 20000 --rate 2000 --runs 1
    python -m bench.live --tokens 5000 --rate 500 --runs 8

A playback server in its own process sends a stream with one token per event at a steady pace; runs
record it; a reader of each run's feed notes when it saw each token. Lag is from a token's arrival at the
client to its arrival at the feed's reader, both on one clock.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from starlette.applications import Starlette

from inspector.analysis.metrics import quantile
from inspector.capture.capture import Capture, End, Endpoint, Event, Header
from inspector.files.store import load, save
from inspector.net.client.address import Server
from inspector.net.client.request import LiveRequest
from inspector.net.runs.feed import runs_routes
from inspector.net.runs.registry import Registry
from inspector.net.runs.run import LiveRun
from inspector.protocol.harmony.vocab import encode
from tests.support.listening import free_port

WORDS = ["the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog", "and", "goes", "home", "again"]


def stream(tokens: int) -> Capture:
    """A chat stream of about so many tokens, one per event, as vLLM writes it."""
    ids = encode("<|channel|>analysis<|message|>")
    deltas: list[str | None] = [None] * len(ids)
    for number in range(tokens - len(ids) - 1):
        word = f" {WORDS[number % len(WORDS)]}"
        for token_id in encode(word):
            ids.append(token_id)
            deltas.append(word)
    ids.extend(encode("<|end|>"))
    deltas.append(None)
    events = [
        Event(_chunk(token_id, text), n * 0.0005)
        for n, (token_id, text) in enumerate(zip(ids, deltas, strict=True))
    ]
    events.append(Event("[DONE]", len(ids) * 0.0005))
    header = Header(endpoint=Endpoint.CHAT, model="gpt-oss", status=200)
    return Capture(header=header, events=events, end=End(at_s=events[-1].at_s, cut=False))


def _chunk(token_id: int, text: str | None) -> str:
    delta = {} if text is None else {"reasoning": text}
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None, "token_ids": [token_id]}
    return json.dumps(
        {
            "id": "chatcmpl-8f8e7d6c5b4a39281706f5e4d3c2b1a0",
            "object": "chat.completion.chunk",
            "created": 1700000000,
            "model": "openai/gpt-oss-120b",
            "choices": [choice],
        }
    )


async def follow(address: str, run: LiveRun) -> list[tuple[int, float]]:
    """Token counts on the feed, each with its time."""
    growth: list[tuple[int, float]] = []
    async with (
        httpx.AsyncClient(timeout=600, trust_env=False) as client,
        client.stream("GET", f"{address}/inspector/runs/{run.id}/feed") as answer,
    ):
        name = ""
        async for line in answer.aiter_lines():
            if line.startswith("event: "):
                name = line[7:]
            elif line.startswith("data: ") and name == "grow":
                columns: dict[str, Any] = json.loads(line[6:])
                growth.append((columns["count"], time.time()))
    return growth


def serve(registry: Registry) -> str:
    """The feed on a port of its own, in this process as in the dashboard."""
    port = free_port()
    config = uvicorn.Config(
        Starlette(routes=runs_routes(registry)), port=port, log_level="critical", access_log=False
    )
    threading.Thread(target=uvicorn.Server(config).run, daemon=True).start()
    return f"http://127.0.0.1:{port}"


def lags(run: LiveRun, growth: list[tuple[int, float]]) -> list[float]:
    """Seconds from a token's arrival to the feed's reader, one value per token; to 1 ms."""
    began = datetime.fromisoformat(run.header.started_at or "").timestamp()
    reading = run.reading()
    events = reading.choice.tokens.events
    delays: list[float] = []
    for (before, _), (count, moment) in pairwise([(0, 0.0), *growth]):
        for place in range(before, count):
            at = run.events.at_s(events[place])
            if at is not None:
                delays.append(moment - (began + at))
    return delays


def main() -> None:
    """Measure and print one line per run."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--tokens", type=int, default=20_000)
    options.add_argument("--rate", type=int, default=2000)
    options.add_argument("--runs", type=int, default=1)
    arguments = options.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="bench-live-"))
    capture = stream(arguments.tokens)
    save(capture, folder / "long.jsonl")
    port = free_port()
    command = [sys.executable, "-m", "inspector", "play", str(folder / "long.jsonl"), "--port", str(port)]
    root = Path(__file__).parent.parent
    with subprocess.Popen(command, cwd=root, env={**os.environ, "PYTHONPATH": str(root)}) as player:
        try:
            measure(arguments, port, folder)
        finally:
            player.terminate()


def measure(arguments: argparse.Namespace, port: int, folder: Path) -> None:
    """Start the runs and read their feeds."""
    transport = httpx.HTTPTransport(retries=10)
    with httpx.Client(transport=transport) as client:
        client.get(f"http://127.0.0.1:{port}/health", timeout=60)
    registry = Registry(folder / "runs")
    feed = serve(registry)
    with httpx.Client(transport=httpx.HTTPTransport(retries=10)) as client:
        client.get(f"{feed}/inspector/runs/none/feed", timeout=60)
    server = Server(
        base_url=f"http://127.0.0.1:{port}", headers={"X-Playback-Tokens-Per-S": str(arguments.rate)}
    )

    async def all_runs() -> None:
        runs = [registry.start(server, LiveRequest(model="long", prompt="Hi")) for _ in range(arguments.runs)]
        growth_by_run = await asyncio.gather(*(follow(feed, run) for run in runs))
        for run, growth in zip(runs, growth_by_run, strict=True):
            report(run, lags(run, growth), arguments)

    asyncio.run(all_runs())


def report(run: LiveRun, delays: list[float], arguments: argparse.Namespace) -> None:
    """One line: tokens, rate, lag early and late, lost."""
    stored_tokens = len(load(run.path).events) - 1 if run.path else 0
    pace = run.pace()
    third = max(1, len(delays) // 3)
    early, late = quantile(delays[:third], 0.95), quantile(delays[-third:], 0.95)
    print(
        f"{pace.tokens:,} tokens, {pace.tokens_per_s or 0:,.0f}/s of {arguments.rate:,}/s requested; "
        f"feed lag p50 {quantile(delays, 0.5) * 1000:.0f} ms, p95 {quantile(delays, 0.95) * 1000:.0f} ms "
        f"(first third {early * 1000:.0f}, last third {late * 1000:.0f}); "
        f"lost: {arguments.tokens - pace.tokens} in transit, {pace.tokens - stored_tokens} on disk, "
        f"{pace.tokens - len(delays)} in the feed"
    )


if __name__ == "__main__":
    main()
