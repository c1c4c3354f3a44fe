"""Sends one request of a probe and records its response; failures are returned.

All requests to a server share one client: creating one reads the machine's certificates, and connections are
reused as by a program that sends many requests.
"""

import asyncio
import json
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final, Self

import httpx

from inspector.capture.capture import Capture, End, Event, Header
from inspector.capture.errors import ConnectionFailed
from inspector.fleet.probe.mix import ProbeRequest
from inspector.net.client.address import Server
from inspector.net.client.failures import connection_failure, refusal, unfinished
from inspector.net.client.outcome import OutcomeKind, Problem, RequestFailed
from inspector.net.client.recorder import Recorder
from inspector.net.client.redirects import within_host
from inspector.net.client.secrets import without_secrets
from inspector.net.client.server_info import get_json, open_client, timeouts, trust, version_and_owner
from inspector.net.client.transport import AsyncRecordingTransport, header_of, secrets_in
from inspector.protocol.engines import Engine, engine_of
from inspector.protocol.wire.endpoints import spec_of

BUSY: Final = frozenset({429, 503})
"""Statuses with which a server defers requests."""

_PAUSE_S: Final = 1.0
_PAUSE_AT_MOST_S: Final = 60.0
_RECORDER: Final = "inspector.recorder"
_KEPT_OPEN_S: Final = 2.0
"""Less than the idle timeout of servers, so that no connection is used while the server closes it."""
_FATAL: Final = frozenset({OutcomeKind.NOT_REACHED, OutcomeKind.TIMED_OUT, OutcomeKind.KEY_REJECTED})
_REFUSED: Final = frozenset({400, 422})
_UNKNOWN_KEY: Final = ("extra inputs", "extra fields", "unrecognized", "unknown parameter", "not permitted")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One server, the requested model, and what the server reports about itself."""

    server: Server
    model: str
    name: str = ""
    """`A` or `B` where two servers are compared."""
    version: str | None = None
    owned_by: str | None = None

    @property
    def engine(self) -> Engine:
        """Its engine, from what it reports and its address."""
        return engine_of(owned_by=self.owned_by, version=self.version, address=self.server.v1)

    @property
    def label(self) -> str:
        """Its address and version, for people."""
        release = self.engine.labelled(self.version)
        return f"{release} at {self.server.root}" if self.version else self.server.root


async def target_of(
    server: Server, model: str = "", *, name: str = "", inner: httpx.AsyncBaseTransport | None = None
) -> Target:
    """The target for a server, with its version; without a model, the first that it lists.

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
    return Target(server=server, model=model, name=name, version=version, owned_by=owner)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A request that was sent: capture and problem."""

    capture: Capture
    problem: Problem | None
    retry_after_s: float | None = None
    """The wait that the server asks for, if it does."""


class _MemorySink:
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
        target: Target,
        *,
        connections: int,
        inner: httpx.AsyncBaseTransport | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.target = target
        self.without_evidence = False
        """True once the server rejected the key that asks for token IDs."""
        self._clock = clock
        limits = httpx.Limits(
            max_connections=None, max_keepalive_connections=connections, keepalive_expiry=_KEPT_OPEN_S
        )
        transport = inner or httpx.AsyncHTTPTransport(verify=trust(target.server.verify), limits=limits)
        waits = timeouts(target.server)
        self._client = httpx.AsyncClient(
            transport=AsyncRecordingTransport(lambda request: request.extensions.get(_RECORDER), transport),
            headers=target.server.request_headers(),
            timeout=httpx.Timeout(waits.read, connect=waits.connect, pool=None),
            follow_redirects=True,
            event_hooks=within_host(target.server),
            trust_env=False,
        )

    async def __aenter__(self) -> Self:
        """Open it."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close its connections."""
        await self._client.aclose()

    async def send(self, probe_request: ProbeRequest) -> Sent:
        """Send a request and read its response to the end; again without a key that the server rejects."""
        sent = await self._once(probe_request)
        if self._rejects_evidence(probe_request, sent):
            self.without_evidence = True
            sent = await self._once(probe_request)
        return sent

    def _rejects_evidence(self, probe_request: ProbeRequest, sent: Sent) -> bool:
        keys = self._evidence_keys(probe_request)
        if self.without_evidence or not keys or sent.capture.header.status not in _REFUSED:
            return False
        words = "".join(event.data for event in sent.capture.events).lower()
        return any(sign in words for sign in (*keys, *_UNKNOWN_KEY))

    def _body(self, probe_request: ProbeRequest) -> Mapping[str, Any]:
        left_out = self._evidence_keys(probe_request) if self.without_evidence else ()
        members = {key: value for key, value in probe_request.body.items() if key not in left_out}
        return {**members, "model": self.target.model}

    def _evidence_keys(self, probe_request: ProbeRequest) -> Sequence[str]:
        return tuple(self.target.engine.evidence_request(spec_of(probe_request.endpoint)))

    async def _once(self, probe_request: ProbeRequest) -> Sent:
        target, spec = self.target, spec_of(probe_request.endpoint)
        content = json.dumps(self._body(probe_request), ensure_ascii=False).encode("utf-8", "replace")
        request = self._client.build_request(
            "POST",
            f"{target.server.v1}{spec.path}",
            content=content,
            headers={"Content-Type": "application/json"},
        )
        sink = _MemorySink()
        header = header_of(
            probe_request.endpoint,
            content,
            source="probe",
            server_version=target.version,
            owned_by=target.owned_by,
        )
        if probe_request.script is not None:
            header = replace(header, script=tuple(probe_request.script))
        recorder = Recorder(header, without_secrets(sink, secrets_in(request)), clock=self._clock)
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
            problem = connection_failure(error, target.server, begun=recorder.events > 0)
        finally:
            recorder.close(problem.sentence if problem else "")
        status = recorder.status
        if problem is None and status is not None and status >= 400:
            problem = refusal(status, recorder.body, target.server, path=spec.path, model=target.model)
        return Sent(
            capture=Capture(header=sink.header or header, events=sink.events, end=sink.end),
            problem=problem or unfinished(recorder, target.server, spec),
            retry_after_s=retry_after_s,
        )


def retry_after(header: str | None, now: datetime | None = None) -> float | None:
    """The seconds of a `Retry-After` header, which has a number or a date; None where it has neither."""
    if not header:
        return None
    if header.isascii() and header.isdecimal() and len(header) < 6:
        return float(header)
    try:
        at = parsedate_to_datetime(header)
    except (ValueError, OverflowError):
        return None
    at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return max(0.0, (at - (now or datetime.now(UTC))).total_seconds())


class Backoff:
    """Delays requests to a busy server."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until = 0.0
        self._busy_in_row = 0
        self.waited_s = 0.0
        """The total wait that the server asked for."""

    async def wait(self) -> None:
        """Wait until requests may be sent."""
        while (wait_s := self._until - self._clock()) > 0:
            await asyncio.sleep(wait_s)

    def busy(self, retry_after_s: float | None) -> None:
        """The server is busy: all requests wait, twice as long each time in a row."""
        now = self._clock()
        if now < self._until:  # of a request that left before the pause began
            return
        pause = min(
            _PAUSE_AT_MOST_S, retry_after_s if retry_after_s is not None else _PAUSE_S * 2**self._busy_in_row
        )
        self._busy_in_row += 1
        self._until = now + pause
        self.waited_s += pause

    def fine(self) -> None:
        """A request was served."""
        self._busy_in_row = 0
