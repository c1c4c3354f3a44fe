"""`tap`: a recording proxy in front of a server."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from secrets import SystemRandom
from typing import Final

from starlette.applications import Starlette

from inspector.capture.errors import InspectorError
from inspector.commands.options import Command, flag, option, required
from inspector.commands.redact import redacting
from inspector.commands.serving import Port, serve
from inspector.commands.shared import Share
from inspector.commands.terminal import tell
from inspector.commands.watching import Watched, Watching, watching
from inspector.fleet.watch import Keep
from inspector.fleet.watch.redacting import RedactingSink
from inspector.net.client.address import Server
from inspector.net.client.recorder import Sink
from inspector.net.client.server_info import unreachable
from inspector.net.tap import FolderSink, Tap, Upstream, tap_mount, tap_routes

_EXAMPLE = """example:
  python -m inspector tap --upstream http://localhost:8000/v1 --port 8002 --out captures
  OPENAI_BASE_URL=http://localhost:8002/v1 python my_program.py
  python -m inspector audit captures/*.jsonl

All paths are forwarded byte for byte; responses of chat, Responses, completions and Messages are recorded.
API keys are forwarded but never stored. Several servers: --upstream old=http://a:8000 --upstream
new=http://b:8000; the base URLs are then http://localhost:8002/old/v1 and http://localhost:8002/new/v1.

In production: --metrics 9464 --sample 0.05 --keep failing --keep-bytes 2GB audits one response in twenty,
counts the findings for Prometheus, and keeps the captures of failing ones.
"""

_UPSTREAM_WITHIN_S: Final = 2.0
"""Seconds in which an upstream must answer at the start, or a line says that it does not."""


class TapOptions(Watched):
    """A proxy that works with any OpenAI client. Each response becomes a capture."""

    upstream: tuple[str, ...] = required("the server's address; repeatable", "[NAME=]URL", repeatable=True)
    out: str = required("folder in which captures are saved", "DIR", also="--captures")
    port: Port = option("0 selects a free port", 8002)
    add_token_ids: bool = flag(
        "request token IDs (for Responses its messages), and remove them from what clients receive"
    )
    redact_text: bool = redacting()
    sample: Share = option(
        "record this share of the responses, e.g. 0.01; the others are only forwarded", 1.0
    )
    ca_file: str | None = option("trust the CA certificates in this file", None, "FILE")
    insecure: bool = flag("trust any TLS certificate of the server")


def run(options: TapOptions) -> int:
    """Serve until interrupted."""
    audited = options.metrics is not None or options.otel is not None
    if not audited and (options.keep is not Keep.ALL or _bounded(options)):
        raise InspectorError(
            "--keep, --keep-bytes and --keep-for need --metrics or --otel, which audit captures"
        )
    verify: bool | str = options.ca_file or True
    upstreams = []
    for text in options.upstream:
        name, named, url = text.partition("=")
        if not named or "/" in name:
            name, url = "", text
        server = Server(base_url=url, verify=False if options.insecure else verify)
        upstreams.append(
            Upstream(name=name or "upstream", server=server, add_token_ids=options.add_token_ids)
        )
    names = [upstream.name for upstream in upstreams]
    if len(set(names)) < len(names):
        raise InspectorError("give each --upstream a unique name, for example --upstream old=http://a:8000")
    folder = Path(options.out)
    FolderSink(folder)  # whether it can be written to, before anything is served
    with watching(options, folder, {upstream.name: upstream.server.v1 for upstream in upstreams}) as watched:
        _serve(options, upstreams, folder, watched)
    return 0


def _bounded(options: TapOptions) -> bool:
    return options.keep_bytes is not None or options.keep_for is not None


def _serve(
    options: TapOptions, upstreams: Sequence[Upstream], folder: Path, watched: Watching | None
) -> None:
    sinks: list[RedactingSink] = []

    def sink(name: str) -> Sink:
        if watched is None:
            if not options.redact_text:
                return FolderSink(folder, say=tell)
            sinks.append(RedactingSink(folder, say=tell))
            return sinks[-1]
        finished = partial(watched.watch.ended, name)
        unwritten = partial(watched.watch.unwritten, name)
        if not options.redact_text:  # metrics count the recordings; they are not said one by one
            return FolderSink(folder, finished=finished, unwritten=unwritten)
        failed = partial(watched.metrics.unaudited, name, "not redacted")
        sinks.append(RedactingSink(folder, say=tell, finished=finished, failed=failed, unwritten=unwritten))
        return sinks[-1]

    taps = [_tap(upstream, sink(upstream.name), watched, options.sample) for upstream in upstreams]
    single = len(taps) == 1
    routes = [tap_mount("", taps[0])] if single else tap_routes(taps, prefix="")

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        for tap in taps:
            tap.learn_version()  # so that the first response is counted under it
        yield
        for tap in taps:
            await tap.aclose()

    lines = [
        f"{{address}}{'' if single else '/' + upstream.name}/v1 -> {upstream.server.v1}"
        f"{' (token IDs are requested)' if upstream.add_token_ids else ''}"
        for upstream in upstreams
    ]
    lines.append(f"captures: {folder}; press Ctrl-C to stop")
    for upstream in upstreams:
        if fault := unreachable(replace(upstream.server, connect_s=_UPSTREAM_WITHIN_S)):
            lines.append(f"{upstream.name} serves no API yet, and requests fail until it does: {fault}")
    if watched is not None:
        lines += watched.lines

    def stopping() -> None:
        for tap in taps:
            tap.stop()

    try:
        serve(Starlette(routes=routes, lifespan=lifespan), options, options.port, lines, stopping=stopping)
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


COMMAND: Final = Command(TapOptions, run, _EXAMPLE)
