"""Shared by commands that watch a server: metrics on a port, and which captures stay on disk."""

import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from math import inf
from pathlib import Path
from typing import Final

from inspector.commands.serving import port_number, serving_beside
from inspector.commands.terminal import tell
from inspector.fleet.watch import Keep, Metrics, Retention, Watch, metrics_app
from inspector.fleet.watch.spans import Spans

_SIZE: Final = re.compile(r"(\d{1,12}(?:\.\d{1,3})?)([kMGT]?)B?")
_UNITS: Final = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_TIME: Final = re.compile(r"(\d{1,9}(?:\.\d{1,3})?)(ms|s|min|h|d)?")
_SECONDS: Final = {None: 1.0, "ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


def size(text: str) -> int:
    """Parse a number of bytes, e.g. `500MB`."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ArgumentTypeError(f"invalid size: {text[:40]!r} (expected bytes, for example 500MB or 2GB)")
    return int(float(match[1]) * _UNITS[match[2]])


def seconds(text: str) -> float:
    """Parse a time, e.g. `60s`, `10min`, `7d`."""
    match = _TIME.fullmatch(text)
    if match is None or not 0 < float(match[1]) < inf:
        raise ArgumentTypeError(f"invalid time: {text[:40]!r} (expected for example 60s, 10min or 7d)")
    return float(match[1]) * _SECONDS[match[2]]


def add_watch_options(parser: ArgumentParser) -> None:
    """Add the options for metrics and for what is kept."""
    parser.add_argument(
        "--metrics",
        type=port_number,
        metavar="PORT",
        help="audit each response when it ends, and serve Prometheus metrics on this port at /metrics",
    )
    parser.add_argument(
        "--otel",
        nargs="?",
        const="",
        metavar="URL",
        help="audit each response when it ends, and export a span over OTLP/HTTP to URL (default: as the "
        "standard OTEL_EXPORTER_OTLP_* variables specify); needs the extra otel",
    )
    parser.add_argument(
        "--keep",
        type=Keep,
        choices=list(Keep),
        default=Keep.ALL,
        metavar="WHICH",
        help="which captures to keep after the audit: all, failing or none (default: all)",
    )
    parser.add_argument(
        "--keep-bytes",
        type=size,
        metavar="SIZE",
        help="remove the oldest captures beyond this size, e.g. 2GB",
    )
    parser.add_argument(
        "--keep-for", type=seconds, metavar="TIME", help="remove captures older than this, e.g. 7d"
    )


class Watching:
    """What audits and counts while a command runs."""

    def __init__(self, watch: Watch, metrics: Metrics, address: str) -> None:
        self.watch = watch
        self.metrics = metrics
        self.address = address
        """Where Prometheus reads; empty where it does not."""

    @property
    def lines(self) -> list[str]:
        """What to say of it at the start."""
        return [f"metrics: {self.address}"] if self.address else []


@contextmanager
def watching(
    arguments: Namespace,
    folder: Path,
    addresses: Mapping[str, str] | None = None,
    *,
    say: Callable[[str], None] = tell,
    always: bool = False,
) -> Iterator[Watching | None]:
    """Audit and serve metrics while the context lasts, `always` or if that was asked for; else None.

    `addresses` are those of the servers, by name; `say` receives a line a minute while recordings
    fail. Raises InspectorError if the port is taken.
    """
    if arguments.metrics is None and arguments.otel is None and not always:
        yield None
        return
    spans = None if arguments.otel is None else Spans(arguments.otel, addresses=addresses)
    metrics = Metrics()
    retention = Retention(folder, arguments.keep, most_bytes=arguments.keep_bytes, most_s=arguments.keep_for)
    watch = Watch(metrics, retention, spans=spans, say=say)
    with ExitStack() as stack:
        address = ""
        if arguments.metrics is not None:
            app, port = metrics_app(metrics), arguments.metrics
            beside = serving_beside(app, arguments.host, port, arguments.allow_host, "--metrics")
            address = f"{stack.enter_context(beside)}/metrics"
        try:
            yield Watching(watch, metrics, address)
        finally:
            watch.close()
