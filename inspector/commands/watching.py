"""Shared by commands that watch a server: metrics on a port, and which captures stay on disk."""

import re
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from math import inf
from pathlib import Path
from typing import Annotated, Final

from inspector.commands.options import Value, option
from inspector.commands.serving import Hosts, Port, serving_beside
from inspector.commands.terminal import tell
from inspector.fleet.watch import Keep, Metrics, Retention, Watch, metrics_app
from inspector.fleet.watch.spans import Spans

_SIZE: Final = re.compile(r"(\d{1,12}(?:\.\d{1,3})?)([kMGT]?)B?")
_UNITS: Final = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_TIME: Final = re.compile(r"(\d{1,9}(?:\.\d{1,3})?)(ms|s|min|h|d)?")
_SECONDS: Final = {None: 1.0, "ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


def _size(text: str) -> int:
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ArgumentTypeError(f"invalid size: {text[:40]!r} (expected bytes, for example 500MB or 2GB)")
    return int(float(match[1]) * _UNITS[match[2]])


def _seconds(text: str) -> float:
    match = _TIME.fullmatch(text)
    if match is None or not 0 < float(match[1]) < inf:
        raise ArgumentTypeError(f"invalid time: {text[:40]!r} (expected for example 60s, 10min or 7d)")
    return float(match[1]) * _SECONDS[match[2]]


Time = Annotated[float, Value(_seconds, "TIME")]


class Watched(Hosts, title="metrics, and what is kept"):
    """Where metrics are served, and which captures stay on disk."""

    metrics: Port | None = option(
        "audit each response when it ends, and serve Prometheus metrics on this port at /metrics", None
    )
    otel: str | None = option(
        "audit each response when it ends, and export a span over OTLP/HTTP to URL (default: as the standard "
        "OTEL_EXPORTER_OTLP_* variables specify); needs the extra otel",
        None,
        "URL",
        bare="",
    )
    keep: Keep = option("which captures to keep after the audit: all, failing or none", Keep.ALL, "WHICH")
    keep_bytes: Annotated[int, Value(_size, "SIZE")] | None = option(
        "remove the oldest captures beyond this size, e.g. 2GB", None
    )
    keep_for: Time | None = option("remove captures older than this, e.g. 7d", None)


class Watching:
    """What audits and counts while a command runs."""

    def __init__(self, watch: Watch, metrics: Metrics, address: str) -> None:
        self.watch = watch
        self.metrics = metrics
        self.address = address
        """Where Prometheus reads; empty where it does not."""

    @property
    def lines(self) -> list[str]:
        """The line that is printed at the start."""
        return [f"metrics: {self.address}"] if self.address else []


@contextmanager
def watching(
    options: Watched,
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
    if options.metrics is None and options.otel is None and not always:
        yield None
        return
    spans = None if options.otel is None else Spans(options.otel, addresses=addresses)
    metrics = Metrics()
    retention = Retention(folder, options.keep, most_bytes=options.keep_bytes, most_s=options.keep_for)
    watch = Watch(metrics, retention, spans=spans, say=say)
    with ExitStack() as stack:
        address = ""
        if options.metrics is not None:
            app, port = metrics_app(metrics), options.metrics
            beside = serving_beside(app, options.host, port, options.allow_host, "--metrics")
            address = f"{stack.enter_context(beside)}/metrics"
        try:
            yield Watching(watch, metrics, address)
        finally:
            watch.close()
