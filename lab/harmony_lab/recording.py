"""Sends scripts to a lab server and records each response as a capture, several requests at a time.

Each capture goes to the caller as soon as it is complete: an interruption loses only requests in flight.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple, Protocol

import httpx

from inspector.capture.capture import Capture, End, Endpoint, Event, EventKind, Header
from inspector.capture.errors import LabError
from inspector.matrix.requests import SERVED_NAME, request_body
from inspector.matrix.scripts import Script
from inspector.protocol.wire.endpoints import spec_of
from inspector.protocol.wire.sse import SseDecoder

TIMEOUT_S: Final = 180.0
"""Seconds without data after which a response counts as cut."""


class Target(NamedTuple):
    """One script on one endpoint."""

    endpoint: Endpoint
    script: Script


class Body(Protocol):
    """Makes the bodies of requests."""

    def __call__(self, endpoint: Endpoint, script: Script, *, marker: str | None = None) -> dict[str, Any]:
        """The body that makes a server sample the script; `marker` as for `request_body`."""


def server_version(base_url: str) -> str:
    """The version from the server's `/version`; raises LabError if there is none."""
    try:
        answer = httpx.get(f"{base_url}/version", timeout=TIMEOUT_S).json()
        return str(answer["version"])
    except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
        raise LabError(
            f"{base_url}/version does not return a vLLM version ({error!r}); is this a vLLM server?"
        ) from error


def _owner(base_url: str) -> str | None:
    """`owned_by` of the server's model list, by which front ends differ; None if it has none."""
    try:
        return str(httpx.get(f"{base_url}/v1/models", timeout=TIMEOUT_S).json()["data"][0]["owned_by"])
    except (httpx.HTTPError, ValueError, KeyError, IndexError, TypeError):
        return None


def record(
    base_url: str,
    targets: Iterable[Target],
    *,
    stream_interval: int,
    keep: Callable[[Target, Capture], None],
    jobs: int = 4,
    marker: str | None = None,
    lab: Mapping[str, str] | None = None,
    version: str | None = None,
    body: Body = request_body,
) -> None:
    """Send a request for every target; hand each capture to `keep`, in the order in which responses end.

    `lab` is added to the header's entry `lab`. Without `version` the server is asked for its own. `keep` is
    called only from the calling thread. Raises LabError when the server cannot be reached.
    """
    version, owner = version or server_version(base_url), _owner(base_url)
    waiting = iter(targets)
    running: dict[Future[Capture], Target] = {}
    pool = ThreadPoolExecutor(jobs)
    # One client for all: making one reads the machine's certificates each time.
    client = httpx.Client(limits=httpx.Limits(max_keepalive_connections=0))
    try:
        while True:
            while len(running) < jobs and (target := next(waiting, None)) is not None:
                pending = pool.submit(
                    ask,
                    base_url,
                    target,
                    version=version,
                    stream_interval=stream_interval,
                    marker=marker,
                    owner=owner,
                    lab=lab,
                    client=client,
                    body=body,
                )
                running[pending] = target
            if not running:
                return
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for finished in done:
                keep(running.pop(finished), finished.result())
    finally:
        # Do not wait: after an interruption the caller stops the server, which ends the requests.
        pool.shutdown(wait=False, cancel_futures=True)
        if not running:
            client.close()


def ask(
    base_url: str,
    target: Target,
    *,
    version: str,
    stream_interval: int,
    marker: str | None = None,
    owner: str | None = None,
    lab: Mapping[str, str] | None = None,
    client: httpx.Client | None = None,
    body: Body = request_body,
) -> Capture:
    """Send one request; errors of the server or the connection are part of the capture.

    Raises LabError only if no connection could be opened.
    """
    request = body(target.endpoint, target.script, marker=marker)
    header = Header(
        endpoint=target.endpoint,
        request=request,
        model=SERVED_NAME,
        server_version=version,
        owned_by=owner,
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
        source="lab",
        script=target.script.sampled,
        extra={"lab": {"script": target.script.name, "stream_interval": stream_interval, **(lab or {})}},
    )
    events: list[Event] = []
    started = time.monotonic()
    at_s = 0.0
    cut = ""
    decoder = SseDecoder()
    try:
        stream = client.stream if client else httpx.stream
        with stream(
            "POST", base_url + spec_of(target.endpoint).full_path, json=request, timeout=TIMEOUT_S
        ) as answer:
            header = replace(header, status=answer.status_code)
            streamed = answer.headers.get("content-type", "").startswith("text/event-stream")
            pieces: list[bytes] = []
            for piece in answer.iter_raw():
                at_s = round(time.monotonic() - started, 6)
                if streamed:
                    events += _events(decoder, piece, at_s)
                else:
                    pieces.append(piece)
            if not streamed:
                text = b"".join(pieces).decode("utf-8", "replace")
                events.append(Event(text, at_s, kind=EventKind.BODY))
    except httpx.ConnectError as error:
        raise LabError(f"{base_url} cannot be reached ({error}); check the server's log") from error
    except httpx.HTTPError as error:
        at_s = round(time.monotonic() - started, 6)
        cut = f"{type(error).__name__}: {error}"
    events += [Event(item.data, at_s, item.name) for item in decoder.close() if not item.comment]
    return Capture(header=header, events=events, end=End(at_s=at_s, cut=bool(cut), detail=cut))


def _events(decoder: SseDecoder, piece: bytes, at_s: float) -> list[Event]:
    return [
        Event(item.data, at_s, item.name, EventKind.COMMENT if item.comment else EventKind.SSE)
        for item in decoder.receive(piece)
    ]
