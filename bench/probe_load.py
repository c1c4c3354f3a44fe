"""The load of a probe on its own machine: `python -m bench.probe_load [requests]`, with 64 workers.

Prints requests per second, CPU of the probe per response, its memory at a tenth of the run and at the
end, and the size of a row. The built-in server plays a capture without pauses, so the probe is the limit.
"""

import asyncio
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx

from inspector.capture.capture import Endpoint
from inspector.fleet.probe import Budget, ProbeLoad, prompts_of_text
from inspector.fleet.probe.planning import Plan
from inspector.net.client.address import Server
from tests.support.listening import free_port

MODEL = "chat-whole-vllm-0.14.1"


def resident_mib() -> float:
    """The largest memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def measure(address: str, requests: int, folder: Path) -> None:
    """Run one probe and print its costs."""
    plan = Plan(
        servers=[(Server(base_url=address), MODEL)],
        endpoints=[Endpoint.CHAT],
        prompts=prompts_of_text("Hello"),
        load=ProbeLoad(concurrency=64),
        budget=Budget(requests=requests),
        folder=folder,
    )
    probe = await plan.prepared()
    started, cpu = time.perf_counter(), time.process_time()
    running = asyncio.create_task(probe.run())
    while len(probe.rows) < requests // 10:
        await asyncio.sleep(0.05)
    early = resident_mib()
    await running
    took, used = time.perf_counter() - started, time.process_time() - cpu
    rows = (folder / "rows.jsonl").stat().st_size
    tokens = probe.rows[0].response.tokens
    print(f"{requests:,} responses of {tokens} tokens, 64 workers: {requests / took:,.0f} per second")
    print(f"CPU of the probe: {1000 * used / requests:.1f} ms per response")
    print(f"memory: {early:,.0f} MiB after a tenth of the run, {resident_mib():,.0f} MiB at the end")
    print(f"rows: {rows / requests:,.0f} bytes each")


def main() -> int:
    """Start the server, measure, stop it."""
    requests = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    port = free_port()
    command = [sys.executable, "-m", "inspector", "play", "--port", str(port), "--speed", "inf"]
    with (
        subprocess.Popen(command, stdout=subprocess.DEVNULL) as server,
        tempfile.TemporaryDirectory() as folder,
    ):
        try:
            with httpx.Client(transport=httpx.HTTPTransport(retries=8)) as client:
                client.get(f"http://127.0.0.1:{port}/health").raise_for_status()
            asyncio.run(measure(f"http://127.0.0.1:{port}/v1", requests, Path(folder) / "probe"))
        finally:
            server.terminate()
    return 0


if __name__ == "__main__":
    sys.exit(main())
