"""`canary`: a few requests at fixed intervals, audited and counted for Prometheus."""

import signal
import time
from argparse import Namespace, RawDescriptionHelpFormatter
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from types import FrameType

from inspector.capture.errors import InspectorError
from inspector.capture.formats import count
from inspector.commands.asking import add_request_options, add_server_options, request_of, server_of
from inspector.commands.redact import add_redact_option
from inspector.commands.serving import add_host_options
from inspector.commands.terminal import Commands, say, tell
from inspector.commands.watching import add_watch_options, seconds, watching
from inspector.fleet.watch.canary import Canary, usual_requests
from inspector.net.tap import FolderSink

_EXAMPLE = """example:
  python -m inspector canary --base-url http://localhost:8000/v1 --model openai/gpt-oss-20b \\
      --every 60s --captures canary --keep failing --keep-bytes 500MB --metrics 9464

Without --prompt or --messages each round has three requests: reasoning with an answer on chat and on
Responses, and a tool call on chat. docs/watching.md describes the metrics; monitoring/ has a Grafana
dashboard and alert rules. For a cron job: --once, whose exit code says whether all went well.
"""


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "canary",
        description="Send a few requests at fixed intervals, audit the responses, and serve metrics.",
        epilog=_EXAMPLE,
        formatter_class=RawDescriptionHelpFormatter,
    )
    add_server_options(parser)
    parser.add_argument("--model", required=True, help="a model name from the server's /v1/models")
    parser.add_argument(
        "--every", type=seconds, default=60.0, metavar="TIME", help="interval between rounds (default: 60s)"
    )
    parser.add_argument(
        "--once",
        action="store_true",
        help="send one round and exit: 1 if a response was damaged, failed or missing, else 0",
    )
    parser.add_argument(
        "--name",
        default="canary",
        help="the label `upstream` of the metrics, to tell canaries apart (default: canary)",
    )
    parser.add_argument("--captures", required=True, metavar="DIR", help="folder in which captures are saved")
    add_host_options(parser)
    add_redact_option(parser)
    add_watch_options(parser)
    add_request_options(parser, required=False)
    parser.set_defaults(run=run)


def run(arguments: Namespace) -> int:
    """Send rounds of requests until interrupted, or one."""
    folder = Path(arguments.captures)
    FolderSink(folder)  # makes it, and says so if it cannot be written to
    custom = arguments.prompt or arguments.messages
    model = arguments.model
    requests = [request_of(arguments, model)] if custom else usual_requests(model)
    server = server_of(arguments)
    if arguments.metrics is None and arguments.otel is None and not arguments.once:
        raise InspectorError("nothing receives the results; pass --metrics PORT, --otel, or both, or --once")
    addresses = {arguments.name: server.v1}
    # The canary says each failure itself.
    with watching(arguments, folder, addresses, say=lambda _: None, always=True) as watched:
        assert watched is not None  # noqa: S101 -- always
        canary = Canary(
            server,
            requests,
            folder,
            watched.watch,
            watched.metrics,
            name=arguments.name,
            say=_tell_at,
            redact=arguments.redact_text,
        )
        each = f"{count(len(requests), 'request')} to {server.v1}"
        say(each if arguments.once else f"{each} every {arguments.every:g} s; press Ctrl-C to stop")
        say(watched.lines)
        stopping = Event()

        def stop(_: int, __: FrameType | None) -> None:
            stopping.set()
            canary.stop()

        before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            while not stopping.is_set():
                began = time.monotonic()
                canary.once()
                if arguments.once:
                    break
                stopping.wait(max(0.0, arguments.every - (time.monotonic() - began)))
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
    return int(arguments.once and canary.faulty)


def _tell_at(line: str) -> None:
    tell(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} {line}")
