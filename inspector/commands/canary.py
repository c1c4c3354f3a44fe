"""`canary`: a few requests at fixed intervals, audited and counted for Prometheus."""

import signal
import time
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from types import FrameType
from typing import Final

from inspector.capture.errors import InspectorError
from inspector.capture.formats import count
from inspector.commands.asking import AskedServer, Request, request_of, server_of
from inspector.commands.options import Command, flag, option, required
from inspector.commands.progress import progress
from inspector.commands.redact import redacting
from inspector.commands.terminal import say, tell
from inspector.commands.watching import Time, Watched, watching
from inspector.fleet.watch.canary import Canary, usual_requests
from inspector.net.client.server_info import first_model
from inspector.net.tap import FolderSink

_EXAMPLE = """example:
  python -m inspector canary --base-url http://localhost:8000/v1 --model openai/gpt-oss-20b \\
      --every 60s --out canary --keep failing --keep-bytes 500MB --metrics 9464

Without --prompt or --messages each round has three requests: reasoning with an answer on chat and on
Responses, and a tool call on chat. docs/watching.md describes the metrics; monitoring/ has a Grafana
dashboard and alert rules. For a cron job: --once, whose exit code says whether all went well.
"""


class CanaryOptions(AskedServer, Request, Watched):
    """Send a few requests at fixed intervals, audit the responses, and serve metrics."""

    model: str = option("a model of the server (default: the first that it lists)", "")
    every: Time = option("interval between rounds (default: 60s)", 60.0)
    once: bool = flag("send one round and exit: 1 if a response was damaged, failed or missing, else 0")
    name: str = option("the label `upstream` of the metrics, to tell canaries apart", "canary")
    out: str = required("folder in which captures are saved", "DIR", also="--captures")
    redact_text: bool = redacting()


def run(options: CanaryOptions) -> int:
    """Send rounds of requests until interrupted, or one."""
    folder = Path(options.out)
    FolderSink(folder)  # makes it, and says so if it cannot be written to
    custom = options.prompt or options.messages
    server = server_of(options, options.base_url)
    model = options.model or first_model(server, options.endpoint)
    requests = [request_of(options, model)] if custom else usual_requests(model)
    if options.metrics is None and options.otel is None and not options.once:
        raise InspectorError("nothing receives the results; pass --metrics PORT, --otel, or both, or --once")
    addresses = {options.name: server.v1}
    # The canary says each failure itself.
    with watching(options, folder, addresses, say=lambda _: None, always=True) as watched:
        assert watched is not None  # noqa: S101 -- always
        canary = Canary(
            server,
            requests,
            folder,
            watched.watch,
            watched.metrics,
            name=options.name,
            say=_tell_at,
            redact=options.redact_text,
        )
        round_words = f"{count(len(requests), 'request')} to {server.v1}"
        say(round_words if options.once else f"{round_words} every {options.every:g} s; press Ctrl-C to stop")
        say(watched.lines)
        stopping = Event()

        def stop(_: int, __: FrameType | None) -> None:
            stopping.set()
            canary.stop()

        before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            while not stopping.is_set():
                began = time.monotonic()
                if options.once:
                    with progress() as step:
                        step("waiting for the responses")
                        canary.once()
                    break
                canary.once()
                stopping.wait(max(0.0, options.every - (time.monotonic() - began)))
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
    return int(options.once and canary.faulty)


def _tell_at(line: str) -> None:
    tell(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} {line}")


COMMAND: Final = Command(CanaryOptions, run, _EXAMPLE)
