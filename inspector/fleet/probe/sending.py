"""Sends one request of a probe and records its response by the recording transport; failures are returned.

All requests to a server share one client: making one reads the machine's certificates, and connections are
kept as a program that asks often keeps them.
"""

import asyncio
import json
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final, Self

import httpx

from inspector.capture.capture import Capture, End, Event, Header
from inspector.capture.errors import ConnectionFailed
from inspector.fleet.probe.mix import Ask
from inspector.net.client.address import Server
from inspector.net.client.failures import connection_failure, refusal, unfinished
from inspector.net.client.outcome import OutcomeKind, Problem, RequestFailed
from inspector.net.client.plain import get_json, open_client, timeouts, trust, version_and_owner
from inspector.net.client.recorder import Recorder
from inspector.net.client.redirects import within_host
from inspector.net.client.secrets import without_secrets
from inspector.net.client.transport import AsyncRecordingTransport, header_of, secrets_in
from inspector.protocol.engines import Engine, engine_of
from inspector.protocol.wire.endpoints import spec_of

BUSY: Final = frozenset({429, 503})
"""Statuses by which a server asks for less."""

_PAUSE_S: Final = 1.0
_PAUSE_AT_MOST_S: Final = 60.0
_RECORDER: Final = "inspector.recorder"
_KEPT_OPEN_S: Final = 2.0
"""Below what servers allow an idle connection, so that none is used while the server closes it."""
_FATAL: Final = frozenset({OutcomeKind.NOT_REACHED, OutcomeKind.TIMED_OUT, OutcomeKind.KEY_REJECTED})
_REFUSED: Final = frozenset({400, 422})
_UNKNOWN_KEY: Final = ("extra inputs", "extra fields", "unrecognized", "unknown parameter", "not permitted")


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One server, the model that it is asked for, and what it says of itself."""

    server: Server
    model: str
    name: str = ""
    """`A` or `B` where two servers are compared."""
    version: str | None = None
    owned_by: str | None = None

    @property
    def engine(self) -> Engine:
        """Its engine, by its own word."""
        return engine_of(owned_by=self.owned_by)

    @property
    def label(self) -> str:
        """Its name and version as people read it."""
        known = self.engine.labelled(self.version)
        return f"{known} at {self.server.root}" if self.version else self.server.root


async def side_of(
    server: Server, model: str = "", *, name: str = "", inner: httpx.AsyncBaseTransport | None = None
) -> Side:
    """A server that answers, with its version; without a model, the first that it lists.

    Raises ConnectionFailed when it cannot be reached, rejects the key, or no model is known.
    """
    async with open_client(server, inner) as client:
        listed: object = None
        try:
            listed = await get_json(server, f"{server.v1}/models", client)
        except RequestFailed as error:
            if error.problem.kind in _FATAL or not model:
                raise
        cards = listed.get("data") if isinstance(listed, dict) else None
        cards = cards if isinstance(cards, list) else []
        names = [card["id"] for card in cards if isinstance(card, dict) and isinstance(card.get("id"), str)]
        if not model and not names:
            raise ConnectionFailed(f"{server.v1}/models lists no model; name one with --model")
        model = model or names[0]
        try:
            version, owner = await version_and_owner(server, model, client)
        except ConnectionFailed:
            version, owner = None, None
    return Side(server=server, model=model, name=name, version=version, owned_by=owner)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """What came of a request."""

    capture: Capture
    problem: Problem | None
    retry_after_s: float | None = None
    """How long the server asks to wait, where it says so."""


class _Kept:
    """The sink of one recording."""

    def __init__(self) -> None:
        self.header: Header | None = None
        self.events: list[Event] = []
        self.end: End | None = None

    def opened(self, header: Header) -> str:
        self.header = header
        return ""

    def event(self, _: str, event: Event, /) -> None:
        self.events.append(event)

    def ended(self, _: str, end: End, /) -> None:
        self.end = end


class Sender:
    """Sends requests to one server; use as an async context manager."""

    def __init__(
        self,
        side: Side,
        *,
        connections: int,
        inner: httpx.AsyncBaseTransport | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.side = side
        self.without_evidence = False
        """True once the server rejected the key that asks for token IDs."""
        self._clock = clock
        limits = httpx.Limits(
            max_connections=None, max_keepalive_connections=connections, keepalive_expiry=_KEPT_OPEN_S
        )
        below = inner or httpx.AsyncHTTPTransport(verify=trust(side.server.verify), limits=limits)
        waits = timeouts(side.server)
        self._client = httpx.AsyncClient(
            transport=AsyncRecordingTransport(lambda request: request.extensions.get(_RECORDER), below),
            headers=side.server.request_headers(),
            timeout=httpx.Timeout(waits.read, connect=waits.connect, pool=None),
            follow_redirects=True,
            event_hooks=within_host(side.server),
            trust_env=False,
        )

    async def __aenter__(self) -> Self:
        """Open it."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close its connections."""
        await self._client.aclose()

    async def send(self, ask: Ask) -> Sent:
        """Send a request and read its response to the end; again without a key that the server rejects."""
        sent = await self._once(ask)
        if self._rejects_evidence(ask, sent):
            self.without_evidence = True
            sent = await self._once(ask)
        return sent

    def _rejects_evidence(self, ask: Ask, sent: Sent) -> bool:
        key = self.side.engine.evidence_key(spec_of(ask.endpoint))
        if self.without_evidence or not key or sent.capture.header.status not in _REFUSED:
            return False
        words = "".join(event.data for event in sent.capture.events).lower()
        return any(sign in words for sign in (key, *_UNKNOWN_KEY))

    def _body(self, ask: Ask) -> Mapping[str, Any]:
        left_out = self.side.engine.evidence_key(spec_of(ask.endpoint)) if self.without_evidence else ""
        kept = {key: value for key, value in ask.body.items() if key != left_out}
        return {**kept, "model": self.side.model}

    async def _once(self, ask: Ask) -> Sent:
        side, spec = self.side, spec_of(ask.endpoint)
        content = json.dumps(self._body(ask), ensure_ascii=False).encode("utf-8", "replace")
        request = self._client.build_request(
            "POST",
            f"{side.server.v1}{spec.path}",
            content=content,
            headers={"Content-Type": "application/json"},
        )
        kept = _Kept()
        header = header_of(
            ask.endpoint, content, source="probe", server_version=side.version, owned_by=side.owned_by
        )
        if ask.script is not None:
            header = replace(header, script=tuple(ask.script))
        recorder = Recorder(header, without_secrets(kept, secrets_in(request)), clock=self._clock)
        request.extensions[_RECORDER] = recorder
        problem: Problem | None = None
        retry_after_s: float | None = None
        try:
            response = await self._client.send(request, stream=True)
            retry_after_s = retry_after(response.headers.get("retry-after"))
            try:
                async for _ in response.aiter_raw():
                    pass
            finally:
                await response.aclose()
        except (httpx.HTTPError, ssl.SSLError) as error:
            problem = connection_failure(error, side.server, begun=recorder.events > 0)
        finally:
            recorder.close(problem.sentence if problem else "")
        status = recorder.status
        if problem is None and status is not None and status >= 400:
            problem = refusal(status, recorder.body, side.server, path=spec.path, model=side.model)
        return Sent(
            capture=Capture(header=kept.header or header, events=kept.events, end=kept.end),
            problem=problem or unfinished(recorder, side.server, spec),
            retry_after_s=retry_after_s,
        )


def retry_after(told: str | None, now: datetime | None = None) -> float | None:
    """The seconds of a `Retry-After` header, which has a number or a date; None where it has neither."""
    if not told:
        return None
    if told.isascii() and told.isdecimal() and len(told) < 6:
        return float(told)
    try:
        at = parsedate_to_datetime(told)
    except (ValueError, OverflowError):
        return None
    at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return max(0.0, (at - (now or datetime.now(UTC))).total_seconds())


class Gate:
    """Holds back requests to a server that asked for less."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until = 0.0
        self._row = 0
        self.waited_s = 0.0
        """How long the server asked to wait, in all."""

    async def wait(self) -> None:
        """Wait until requests may be sent."""
        while (left := self._until - self._clock()) > 0:
            await asyncio.sleep(left)

    def busy(self, retry_after_s: float | None) -> None:
        """The server asked for less: everybody waits, twice as long each time in a row."""
        now = self._clock()
        if now < self._until:  # of a request that left before the pause began
            return
        pause = min(_PAUSE_AT_MOST_S, retry_after_s if retry_after_s is not None else _PAUSE_S * 2**self._row)
        self._row += 1
        self._until = now + pause
        self.waited_s += pause

    def fine(self) -> None:
        """A request was served."""
        self._row = 0
