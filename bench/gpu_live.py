r"""Tokens/s, lag and lost tokens of live runs against any server, on the machine where this runs.

    python -m bench.gpu_live --base-url http://localhost:8000/v1 --model openai/gpt-oss-20b \
        --tokens 2000 --concurrency 1 8 64

For vLLM with gpt-oss dimensions and no weights: `vllm serve openai/gpt-oss-20b --load-format dummy`.
Each stream requests token IDs (`return_token_ids`, `ignore_eos`), is recorded as the Live page records it,
and is read again from disk. Lost: tokens that the server counted (`usage`) but whose IDs never arrived, and
tokens that arrived but are not on disk. Lag: from a token's arrival until it is on the feed that the browser
reads.
Prints a table, or with --json one object with the GPU, the vLLM version and the model.
"""

import argparse
import asyncio
import json
import subprocess
import tempfile
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from bench.live import follow, lags, serve
from inspector.analysis.metrics import figures, quantile
from inspector.analysis.reading import read
from inspector.capture.capture import Endpoint
from inspector.files.store import load
from inspector.net.client.address import Server
from inspector.net.client.request import LiveRequest
from inspector.net.runs.registry import Registry
from inspector.net.runs.run import LiveRun

PROMPT = "Count from one upwards, in words, and never stop."


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One endpoint at one concurrency."""

    endpoint: str
    concurrency: int
    tokens: int
    tokens_per_s: float
    """Of all streams together, from the first request to the last token."""
    first_token_p50_ms: float | None
    tokens_per_event: float | None
    lag_p50_ms: float | None
    lag_p95_ms: float | None
    lost_by_server: int
    """Counted in `usage`, but no ID arrived."""
    lost_by_us: int
    """Arrived, but not on disk or not on the feed."""
    failures: tuple[str, ...]


async def measure(
    registry: Registry,
    feed: str,
    server: Server,
    arguments: argparse.Namespace,
    *,
    endpoint: Endpoint,
    concurrency: int,
) -> Measured:
    """Send concurrent requests and follow all their feeds."""
    request = LiveRequest(
        model=arguments.model,
        endpoint=endpoint,
        prompt=PROMPT,
        max_tokens=arguments.tokens,
        temperature=0.0,
        extra={"ignore_eos": True} if endpoint is Endpoint.COMPLETIONS or arguments.ignore_eos else {},
    )
    runs = [registry.start(server, request) for _ in range(concurrency)]
    moments_by_run = await asyncio.gather(*(follow(feed, run) for run in runs))
    return summary(endpoint, runs, moments_by_run)


def summary(
    endpoint: Endpoint, runs: list[LiveRun], moments_by_run: list[list[tuple[int, float]]]
) -> Measured:
    """The results of one round of runs."""
    tokens = lost_by_server = lost_by_us = 0
    late: list[float] = []
    firsts: list[float] = []
    per_event: list[float] = []
    for run, moments in zip(runs, moments_by_run, strict=True):
        came = len(run.reading().choice.tokens)
        kept = read(load(run.path)) if run.path else run.reading()
        on_feed = moments[-1][0] if moments else 0
        tokens += came
        lost_by_us += came - len(kept.choice.tokens)
        if came:
            lost_by_us += came - on_feed
            late.extend(lags(run, moments))
        counted = (kept.stream.usage or {}).get("completion_tokens")
        lost_by_server += counted - came if isinstance(counted, int) and came else 0
        metrics = figures(kept)
        if metrics.first_token_s is not None:
            firsts.append(metrics.first_token_s)
        if metrics.tokens_per_event_mean is not None:
            per_event.append(metrics.tokens_per_event_mean)
    return Measured(
        endpoint=str(endpoint),
        concurrency=len(runs),
        tokens=tokens,
        tokens_per_s=tokens / took_s if (took_s := _span(runs)) else 0.0,
        first_token_p50_ms=quantile(firsts, 0.5) * 1000 if firsts else None,
        tokens_per_event=sum(per_event) / len(per_event) if per_event else None,
        lag_p50_ms=quantile(late, 0.5) * 1000 if late else None,
        lag_p95_ms=quantile(late, 0.95) * 1000 if late else None,
        lost_by_server=lost_by_server,
        lost_by_us=lost_by_us,
        failures=tuple(sorted({run.outcome.failure for run in runs if run.outcome.failure})),
    )


def _span(runs: list[LiveRun]) -> float:
    """Seconds from the first request to the last token."""
    begun = {run.id: datetime.fromisoformat(run.header.started_at or "").timestamp() for run in runs}
    ends = [begun[run.id] + last for run in runs if (last := run.pace().last_token_s) is not None]
    return max(ends) - min(begun.values()) if ends else 0.0


def gpu() -> str | None:
    """The name of this machine's GPU, from nvidia-smi; None without one."""
    try:
        query = subprocess.run(
            ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            timeout=20,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return query.stdout.strip().splitlines()[0] if query.stdout.strip() else None


def main() -> None:
    """Measure every endpoint at every concurrency."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--base-url", required=True)
    options.add_argument("--model", required=True)
    options.add_argument("--api-key", default="")
    options.add_argument("--tokens", type=int, default=2000)
    options.add_argument("--concurrency", type=int, nargs="+", default=[1, 8])
    options.add_argument(
        "--endpoint",
        nargs="+",
        choices=("chat", "responses", "completions"),
        default=["completions", "chat"],
    )
    options.add_argument(
        "--ignore-eos", action="store_true", help="also for chat; old parsers reject tokens after the end"
    )
    options.add_argument("--json", action="store_true")
    arguments = options.parse_args()
    server = Server(base_url=arguments.base_url, api_key=arguments.api_key)
    folder = Path(tempfile.mkdtemp(prefix="bench-gpu-live-"))
    registry = Registry(folder)
    feed = serve(registry)
    rows = [
        asyncio.run(
            measure(registry, feed, server, arguments, endpoint=Endpoint(endpoint), concurrency=concurrency)
        )
        for endpoint in arguments.endpoint
        for concurrency in arguments.concurrency
    ]
    version = next((run.header.server_version for run in registry.runs() if run.header.server_version), None)
    if arguments.json:
        facts = {"gpu": gpu(), "vllm": version, "model": arguments.model}
        print(json.dumps({**facts, "rows": [asdict(row) for row in rows]}, indent=2))
        return
    print(f"GPU {gpu() or 'none'}, vLLM {version or 'unknown'}, {arguments.model}")
    for row in rows:
        print(
            f"{row.endpoint:12} {row.concurrency:4} concurrent: "
            f"{row.tokens:,} tokens, {row.tokens_per_s:,.0f}/s, "
            f"first token {_ms(row.first_token_p50_ms)}, {row.tokens_per_event or 0:.2f} tokens per event, "
            f"lag p50 {_ms(row.lag_p50_ms)} p95 {_ms(row.lag_p95_ms)}, "
            f"lost by the server {row.lost_by_server}, by us {row.lost_by_us}"
        )
        for failure in row.failures:
            print(f"{'':18}{failure}")


def _ms(value: float | None) -> str:
    return "unknown" if value is None else f"{value:,.0f} ms"


if __name__ == "__main__":
    main()
