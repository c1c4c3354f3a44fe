"""What a gateway makes of recorded responses: they are played to it, and what it sends on is compared.

No engine is needed. One request is open at a time, and a response is played at a steady pace.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import httpx
from starlette.applications import Starlette
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from harmony_lab.gateways import Gateway, serving
from harmony_lab.install import Say
from harmony_lab.paths import LabPaths
from harmony_lab.recording import Target, ask
from harmony_lab.run_files import members, write_archive
from inspector.analysis.reading import read
from inspector.capture.capture import Capture, Endpoint, render
from inspector.commands.serving import serving_beside
from inspector.inspection.compare.passing import PassingOutcome, passing
from inspector.matrix.receivers import FILES, Rows, add_record
from inspector.matrix.requests import SERVED_NAME, request_body
from inspector.matrix.results import SENT_ON, MatrixRun, Receiver, captures_of, sent_on_name
from inspector.matrix.scripts import Script, load
from inspector.net.playback import PlaybackSettings, playback_routes

_TOKENS_PER_S: Final = 200.0
_BREAKS_AFTER_S: Final = 0.5


class Sent(NamedTuple):
    """What a gateway sent on of a capture."""

    row: str
    """The outcome, and what differs."""
    capture: Capture | None
    """None where it is the same."""


class Upstream:
    """Plays one capture, whatever is asked, and notes whether it was."""

    def __init__(self) -> None:
        self.capture: Capture | None = None
        self.asked = False

    def captures(self) -> dict[str, Capture]:
        """For the player, which calls this for each request."""
        self.asked = True
        return {} if self.capture is None else {"recorded": self.capture}

    @contextmanager
    def listening(self) -> Iterator[str]:
        """Serve; yields the address."""
        routes = playback_routes(
            self.captures, prefix="", settings=PlaybackSettings(tokens_per_s=_TOKENS_PER_S)
        )
        app = _breaking_late(Starlette(routes=routes))
        with serving_beside(app, "127.0.0.1", 0, (), "--port") as address:
            yield address


def _breaking_late(app: ASGIApp) -> ASGIApp:
    """The app, which breaks a connection only after the gateway has read what came before."""

    async def late(scope: Scope, receive: Receive, send: Send) -> None:
        complete = True

        async def noting(message: Message) -> None:
            nonlocal complete
            complete = message["type"] == "http.response.body" and not message.get("more_body")
            await send(message)

        await app(scope, receive, noting)
        if not complete:
            await asyncio.sleep(_BREAKS_AFTER_S)

    return late


def pass_on(
    paths: LabPaths,
    gateway: Gateway,
    runs: Iterable[MatrixRun],
    *,
    scripts: Mapping[str, Script],
    say: Say = print,
) -> Iterator[tuple[tuple[str, Endpoint, str], Sent]]:
    """What a gateway sends on of each capture of the runs, by the run that stores it, endpoint and script.

    Identical captures are played once. Raises LabError if the gateway cannot be installed or started.
    """
    played: set[tuple[str, Endpoint, str]] = set()
    upstream = Upstream()
    with (
        upstream.listening() as server,
        serving(paths, gateway, server, SERVED_NAME, say=say) as address,
        httpx.Client(headers=dict(gateway.headers)) as client,
    ):
        for run in runs:
            say(f"{gateway.label}: playing {run.name}")
            for served, asked in gateway.asks.items():
                for _, name, capture in captures_of(run, asked):
                    key = run.kept_in.get((asked, name), run.name), asked, name
                    if key in played or name not in scripts:
                        continue
                    played.add(key)
                    upstream.capture, upstream.asked = capture, False
                    sent = ask(
                        address,
                        Target(served, scripts[name]),
                        version=run.version,
                        stream_interval=run.stream_interval,
                        owner=capture.header.owned_by,
                        lab={"through": gateway.label},
                        client=client,
                        body=_body(gateway, capture),
                    )
                    if not upstream.asked:
                        sent = _not_asked(sent)
                    yield key, _judged(capture, sent)


def _body(gateway: Gateway, capture: Capture) -> Callable[..., dict[str, Any]]:
    """The recorded request; on another endpoint than the recorded one, the request for the same script."""

    def body(endpoint: Endpoint, script: Script, *, marker: str | None = None) -> dict[str, Any]:
        if endpoint is capture.header.endpoint:
            request = dict(capture.header.request)
        else:
            request = request_body(endpoint, script, marker=marker)
            request["stream"] = capture.header.request.get("stream", False)
        return {**request, **gateway.body}

    return body


def _not_asked(sent: Capture) -> Capture:
    lab = {**sent.header.extra["lab"], "asked": False}
    return replace(sent, header=replace(sent.header, extra={**sent.header.extra, "lab": lab}))


def _judged(received: Capture, sent: Capture) -> Sent:
    result = passing(read(received), read(sent))
    row = f"{result.outcome.value}: {result.words}" if result.words else result.outcome.value
    return Sent(row, None if result.outcome is PassingOutcome.SAME else sent)


def record(
    paths: LabPaths,
    gateway: Gateway,
    runs: Iterable[MatrixRun],
    *,
    folder: Path,
    say: Say = print,
) -> Rows:
    """Write what a gateway makes of the runs to a folder of results, replacing what that has of it."""
    rows: Rows = {}
    changed: dict[str, bytes] = {}
    for key, sent in pass_on(paths, gateway, runs, scripts={s.name: s for s in load()}, say=say):
        rows[key] = sent.row
        if sent.capture is not None:
            name = f"{sent_on_name(gateway.label, *key)}.jsonl"
            changed[name] = "".join(f"{line}\n" for line in render(sent.capture)).encode()
    outcomes = Counter(row.partition(":")[0] for row in rows.values())
    say(f"{gateway.label}: {', '.join(f'{count} {outcome}' for outcome, count in outcomes.items())}")
    add_record(folder / FILES[Receiver.GATEWAY], Receiver.GATEWAY, {gateway.label: (gateway.packages, rows)})
    subfolder = sent_on_name(gateway.label, "", Endpoint.CHAT, "").partition("/")[0]
    others = members(folder / SENT_ON, lambda name: name.partition("/")[0] != subfolder)
    write_archive(folder / SENT_ON, others | changed)
    return rows
