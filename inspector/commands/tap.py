"""`tap`: a recording proxy in front of a server."""

from argparse import ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from secrets import SystemRandom

from starlette.applications import Starlette

from inspector.capture.errors import InspectorError
from inspector.commands.redact import add_redact_option
from inspector.commands.serving import add_address_options, serve
from inspector.commands.terminal import Commands, tell
from inspector.commands.watching import Watching, add_watch_options, watching
from inspector.fleet.watch import Keep
from inspector.fleet.watch.redacting import RedactingSink
from inspector.net.client.address import Server
from inspector.net.client.recorder import Sink
from inspector.net.tap import FolderSink, Tap, Upstream, tap_mount, tap_routes

_EXAMPLE = """example:
  python -m inspector tap --upstream http://localhost:8000/v1 --port 8002 --captures captures
  OPENAI_BASE_URL=http://localhost:8002/v1 python my_program.py
  python -m inspector audit captures/*.jsonl

All paths are forwarded byte for byte; responses of chat, Responses and completions are recorded. API keys
are forwarded but never stored. Several servers: --upstream old=http://a:8000 --upstream new=http://b:8000;
the base URLs are then http://localhost:8002/old/v1 and http://localhost:8002/new/v1.

In production: --metrics 9464 --sample 0.05 --keep failing --keep-bytes 2GB audits one response in twenty,
counts the findings for Prometheus, and keeps the captures of failing ones.
"""


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "tap",
        description="A proxy that works with any OpenAI client. Each response becomes a capture.",
        epilog=_EXAMPLE,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--upstream",
        action="append",
        required=True,
        metavar="[NAME=]URL",
        help="the server's address; repeatable",
    )
    parser.add_argument("--captures", required=True, metavar="DIR", help="folder in which captures are saved")
    add_address_options(parser, port=8002)
    parser.add_argument(
        "--add-token-ids",
        action="store_true",
        help="request token IDs (for Responses its messages), and remove them from what clients receive",
    )
    add_redact_option(parser)
    add_watch_options(parser)
    parser.add_argument(
        "--sample",
        type=share,
        default=1.0,
        metavar="SHARE",
        help="record this share of the responses, e.g. 0.01; the others are only forwarded (default: 1)",
    )
    parser.add_argument("--ca-file", metavar="FILE", help="trust the CA certificates in this file")
    parser.add_argument("--insecure", action="store_true", help="trust any TLS certificate of the server")
    parser.set_defaults(run=run)


def share(text: str) -> float:
    """Parse a share between 0 and 1."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise ArgumentTypeError(f"invalid share: {text[:40]!r} (expected a number from 0 to 1)")
    return value


def run(arguments: Namespace) -> int:
    """Serve until interrupted."""
    audited = arguments.metrics is not None or arguments.otel is not None
    if not audited and (arguments.keep is not Keep.ALL or _bounded(arguments)):
        raise InspectorError(
            "--keep, --keep-bytes and --keep-for need --metrics or --otel, which audit captures"
        )
    verify: bool | str = arguments.ca_file or True
    upstreams = []
    for text in arguments.upstream:
        name, named, url = text.partition("=")
        if not named or "/" in name:
            name, url = "", text
        server = Server(base_url=url, verify=False if arguments.insecure else verify)
        upstreams.append(
            Upstream(name=name or "upstream", server=server, add_token_ids=arguments.add_token_ids)
        )
    names = [upstream.name for upstream in upstreams]
    if len(set(names)) < len(names):
        raise InspectorError("give each --upstream a unique name, for example --upstream old=http://a:8000")
    folder = Path(arguments.captures)
    FolderSink(folder)  # whether it can be written to, before anything is served
    with watching(
        arguments, folder, {upstream.name: upstream.server.v1 for upstream in upstreams}
    ) as watched:
        _serve(arguments, upstreams, folder, watched)
    return 0


def _bounded(arguments: Namespace) -> bool:
    return arguments.keep_bytes is not None or arguments.keep_for is not None


def _serve(
    arguments: Namespace, upstreams: Sequence[Upstream], folder: Path, watched: Watching | None
) -> None:
    sinks: list[RedactingSink] = []

    def sink(name: str) -> Sink:
        if watched is None:
            if not arguments.redact_text:
                return FolderSink(folder, say=tell)
            sinks.append(RedactingSink(folder, say=tell))
            return sinks[-1]
        finished = partial(watched.watch.ended, name)
        unwritten = partial(watched.watch.unwritten, name)
        if not arguments.redact_text:  # metrics count the recordings; they are not said one by one
            return FolderSink(folder, finished=finished, unwritten=unwritten)
        failed = partial(watched.metrics.unaudited, name, "not redacted")
        sinks.append(RedactingSink(folder, say=tell, finished=finished, failed=failed, unwritten=unwritten))
        return sinks[-1]

    taps = [_tap(upstream, sink(upstream.name), watched, arguments.sample) for upstream in upstreams]
    alone = len(taps) == 1
    routes = [tap_mount("", taps[0])] if alone else tap_routes(taps, prefix="")

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        for tap in taps:
            tap.learn_version()  # so that the first response is counted under it
        yield
        for tap in taps:
            await tap.aclose()

    lines = [
        f"{{address}}{'' if alone else '/' + upstream.name}/v1 -> {upstream.server.v1}"
        f"{' (token IDs are requested)' if upstream.add_token_ids else ''}"
        for upstream in upstreams
    ]
    lines.append(f"captures: {folder}; press Ctrl-C to stop")
    if watched is not None:
        lines += watched.lines

    def stopping() -> None:
        for tap in taps:
            tap.stop()

    try:
        serve(Starlette(routes=routes, lifespan=lifespan), arguments, lines, stopping=stopping)
    finally:
        for open_sink in sinks:
            open_sink.close()


def _tap(upstream: Upstream, sink: Sink, watched: Watching | None, part: float) -> Tap:
    """The tap of an upstream; its recordings are audited if `watched` is given."""
    chance = SystemRandom().random
    if watched is None:
        return Tap(upstream, sink, sampled=lambda: chance() < part)
    watch = watched.watch

    def sampled() -> bool:
        chosen = chance() < part
        if not chosen:
            watch.passed(upstream.name)
        return chosen

    return Tap(upstream, sink, sampled=sampled)
