"""A proxy for one upstream that records the responses.

Back-pressure: nothing is read from the upstream before the client has taken what arrived. If the client
disconnects, the connection to the upstream is closed, so the server stops generating.
"""

import asyncio
import logging
import re
import ssl
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import inf
from typing import Final
from urllib.parse import quote, unquote_to_bytes

import httpx
from starlette.routing import BaseRoute, Mount
from starlette.types import Receive, Scope, Send

from inspector.capture.capture import CLOSED_BY, ClosedBy, Endpoint
from inspector.capture.errors import InspectorError
from inspector.net.client.address import Server
from inspector.net.client.failures import connection_failure
from inspector.net.client.recorder import Sink
from inspector.net.client.server_info import owner_in
from inspector.net.client.transport import endpoint_of
from inspector.net.tap.headers import end_to_end, header_value, readable_only
from inspector.net.tap.recording import ResponseRecording
from inspector.net.tap.request_body import ClientLeft, RequestBody
from inspector.net.tap.rewriting import EventRewriter, ask_for_ids, body_without_ids
from inspector.net.tap.upstream import Arrival, Body, UpstreamTransport, together
from inspector.protocol.engines import Engine, engine_of
from inspector.protocol.wire.endpoints import EndpointSpec, endpoint_of_resumed, spec_of
from inspector.protocol.wire.event_json import dumps
from inspector.protocol.wire.stream import loads

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_IDLE_S: Final = 2.0  # vLLM's uvicorn closes idle connections after 5 s; a closing one must not be taken
_WHOLE_AT_MOST: Final = 64 * 2**20
_VERSION_S: Final = 2.0
"""Seconds in which the upstream may say which server and version it is."""
_ASK_AGAIN_S: Final = 60.0
_ASK_SOON_S: Final = 5.0
"""Seconds to the next question: after a version or a timeout, and after an answer without a version."""
_LOG: Final = logging.getLogger(__name__)
_TOLD_BYTES: Final = 2**18
"""The part of such an answer that is read."""
_STEPS_AFTER: Final = 256
"""Steps of recording that are still done for a client that has left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """The server behind a tap; raises InspectorError for a name that cannot be part of a URL."""

    name: str
    server: Server
    add_token_ids: bool = False
    """Request token IDs, of Responses its messages, on behalf of the client, which does not see them."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise InspectorError(
                f"invalid upstream name {self.name[:80]!r}; use letters, digits, dots and dashes"
            )


def tap_routes(taps: Sequence["Tap"], *, prefix: str = "/tap") -> list[BaseRoute]:
    """Routes of taps: `<prefix>/<name>/v1/...` goes to the upstream of that name, at `/v1/...`."""
    return [tap_mount(f"{prefix}/{tap.upstream.name}", tap) for tap in taps]


def tap_mount(path: str, tap: "Tap") -> Mount:
    """A mount whose paths may hold any character, an escaped line feed too."""
    mount = Mount(path, app=tap)
    mount.path_regex = re.compile(mount.path_regex.pattern, re.DOTALL)
    return mount


class Tap:
    """An ASGI app that forwards every request to one upstream and records its responses into a sink.

    A response for which `sampled()` is false is forwarded only.
    """

    def __init__(
        self,
        upstream: Upstream,
        sink: Sink,
        *,
        sampled: Callable[[], bool] = lambda: True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.upstream = upstream
        self.version: str | None = None
        """What the server reports at `/version`, once it has."""
        self.owned_by: str | None = None
        """`owned_by` in the server's model list, if it can be read without a key."""
        server = upstream.server
        self._sink = sink
        self.sampled = sampled
        self._root = httpx.URL(server.root)
        # No client on top: it would keep cookies, follow redirects and add headers of its own.
        self._transport = UpstreamTransport(
            self._root, trust=_trust(server.verify), connect_s=server.connect_s, idle_s=_IDLE_S
        )
        self._models = f"{server.v1.removeprefix(server.root)}/models".encode()
        self._clock = clock
        self._asking: asyncio.Task[float] | None = None
        self._ask_from_s = -inf
        self._answered = False
        """True once the server has said what it is, or that it does not say it."""
        self._silent = False
        """True after a question that it did not answer in time."""
        self._awaited = False
        """True while a request waits for what the server is."""
        self.closed_by = ClosedBy.CLIENT
        """Who closes a stream that is cut on this side."""

    def stop(self) -> None:
        """The program ends: streams that are cut from now on were not closed by the client."""
        self.closed_by = ClosedBy.RECORDER

    async def aclose(self) -> None:
        """Close the connections to the upstream."""
        if self._asking is not None:
            self._asking.cancel()
        await self._transport.aclose()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a request and its response."""
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1003})
            return
        body = RequestBody(receive)
        exchange = _ProxiedExchange(self, scope, send, body)
        passing = asyncio.create_task(exchange.run())
        leaving = asyncio.create_task(body.left())
        try:
            await asyncio.wait({passing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (passing, leaving):
                if not task.done():
                    task.cancel()
            await asyncio.gather(passing, leaving, return_exceptions=True)
        if not passing.cancelled() and (error := passing.exception()) is not None:
            raise error

    def request(
        self,
        method: str,
        target: bytes,
        headers: list[tuple[bytes, bytes]],
        content: bytes | AsyncIterator[bytes] | None = None,
    ) -> httpx.Request:
        """A request to the upstream; only path and query come from the client."""
        # The target goes as it came; a URL of httpx would escape some characters, and reject others.
        whole = self._root.raw_path.rstrip(b"/") + target
        return httpx.Request(
            method, self._root, headers=headers, content=content, extensions={"target": whole}
        )

    async def send(self, request: httpx.Request) -> httpx.Response:
        """Send a request to the upstream."""
        return await self._transport.handle_async_request(request)

    @property
    def engine(self) -> Engine:
        """The server or front end, as reported so far."""
        return engine_of(owned_by=self.owned_by, version=self.version, address=str(self._root))

    def learn_version(self) -> None:
        """Ask in the background what the server is, without the client's key; again now and then."""
        if self._asking is None and self._clock() >= self._ask_from_s:
            self._asking = asyncio.create_task(self._ask())
            self._asking.add_done_callback(self._asked)

    async def engine_known(self) -> bool:
        """Whether the keys of the server can be chosen, after waiting for `learn_version` where that helps.

        One request at most waits. While it does, others go on at once, and nothing is added to them. After a
        server that did not respond in time no request waits any more.
        """
        if self._asking is None or self._silent or self._answered:
            return True
        if self._awaited:
            return False
        self._awaited = True
        begun_s = self._clock()
        try:
            await asyncio.wait({self._asking})
        finally:
            self._awaited = False
        if self._silent:
            waited_s = self._clock() - begun_s
            _LOG.warning(
                "%s: a request waited %.1f s, as the server does not respond to %s; no other one waits",
                *(self.upstream.name, waited_s, self._models.decode()),
            )
        return True

    async def _ask(self) -> float:
        """Ask the server; in how many seconds to ask again."""
        answered = self._answered
        try:
            async with asyncio.timeout(_VERSION_S):
                self.owned_by = owner_in(await self._get_json(self._models)) or self.owned_by
                answered = True
                version_info = await self._get_json(self.engine.version_path.encode())
        except (TimeoutError, httpx.TimeoutException):
            self._answered, self._silent = answered, not answered
            return _ASK_AGAIN_S
        except (httpx.HTTPError, OSError):
            return 0.0  # not up yet: the next request asks again
        self._answered, self._silent = True, False
        version = version_info.get("version") if isinstance(version_info, dict) else None
        self.version = version if isinstance(version, str) else self.version
        return _ASK_SOON_S if self.version is None and self.owned_by is None else _ASK_AGAIN_S

    def _asked(self, asking: "asyncio.Task[float]") -> None:
        self._asking = None
        if not asking.cancelled() and asking.exception() is None:
            self._ask_from_s = self._clock() + asking.result()

    async def _get_json(self, path: bytes) -> object:
        response = await self.send(self.request("GET", path, []))
        try:
            raw = await _whole(response)
        finally:
            await response.aclose()
        payload = loads(raw[:_TOLD_BYTES].decode("utf-8", "replace"))
        return payload if response.status_code == 200 else None

    def recording(
        self, endpoint: Endpoint, raw: bytes, headers: Sequence[tuple[bytes, bytes]], query: bytes
    ) -> ResponseRecording:
        """A recording for the response to a request."""
        source = f"tap {self.upstream.name}"
        return ResponseRecording(
            endpoint, raw, headers, self._sink, source=source, clock=time.monotonic, query=query
        )


class _ProxiedExchange:
    """One request and its response."""

    def __init__(self, tap: Tap, scope: Scope, send: Send, body: RequestBody) -> None:
        self._tap = tap
        self._scope = scope
        self._send = send
        self._body = body
        self._recording: ResponseRecording | None = None
        self._begun = False

    async def run(self) -> None:
        """Forward it; a failure of the upstream becomes our own response, or breaks the connection."""
        try:
            await self._pass()
        except ClientLeft:
            self._cut_here()
        except asyncio.CancelledError:
            self._cut_here()
            raise
        except (httpx.TransportError, httpx.StreamError, OSError) as error:
            sentence = connection_failure(error, self._tap.upstream.server, begun=self._begun).sentence
            self._close(sentence)
            if not self._begun:
                await self._refuse(502, sentence, "UpstreamError")
            # Otherwise the response stays incomplete, and our server breaks the connection too.
        except BaseException:
            self._close("the tap failed")
            raise

    async def _pass(self) -> None:
        scope, tap = self._scope, self._tap
        target = _target(scope)
        if target is None:
            await self._refuse(
                400, "the path must not contain '..'; request the target path directly", "BadRequestError"
            )
            return
        headers: list[tuple[bytes, bytes]] = list(scope["headers"])
        drop = [b"host", b"expect"]
        if header_value(headers, b"transfer-encoding"):
            drop.append(b"content-length")  # RFC 9112, section 6.3: the length is ignored then
        forwarded = end_to_end(headers, drop=drop)
        endpoint = _endpoint(scope, target)
        if endpoint is not None and not tap.sampled():
            endpoint = None
        rewrites: EndpointSpec | None = None
        if endpoint is None:
            content: bytes | AsyncIterator[bytes] | None = aiter(self._body) if _has_body(headers) else None
            if content is None:
                await self._body.read()
        else:
            tap.learn_version()
            forwarded = readable_only(forwarded)
            raw = await self._body.read()
            content = aiter(self._body) if raw is None else raw
            self._recording = tap.recording(endpoint, raw or b"", headers, target.partition(b"?")[2])
            spec = spec_of(endpoint)
            # Servers differ in the keys that they know, and reject others.
            if raw is not None and tap.upstream.add_token_ids and await tap.engine_known():
                streamed = isinstance(self._recording.body, dict) and bool(self._recording.body.get("stream"))
                keys = tap.engine.evidence_request(spec, streamed=streamed)
                with_ids = ask_for_ids(raw, self._recording.body, keys)
                if with_ids is not None:
                    rewrites, content = spec, with_ids
                    lengths = (b"content-length", b"accept-encoding")
                    forwarded = [pair for pair in forwarded if pair[0].lower() not in lengths]
                    forwarded.append((b"accept-encoding", b"identity"))
        request = tap.request(scope["method"], target, forwarded, content)
        response = await tap.send(request)
        try:
            if self._recording is not None:
                self._recording.response(response, tap.version, tap.owned_by)
            await self._answer(response, rewrites=rewrites)
        finally:
            await response.aclose()

    async def _answer(self, response: httpx.Response, *, rewrites: EndpointSpec | None) -> None:
        recording, send = self._recording, self._send
        headers = end_to_end(response.headers.raw)
        coded = header_value(headers, b"content-encoding").lower() not in {"", "identity"}
        streams = header_value(headers, b"content-type").lower().startswith("text/event-stream")
        if rewrites is not None and not coded and not streams:
            await self._answer_whole(response, headers, rewrites)
            return
        rewriter = None
        if rewrites is not None and not coded:
            logprobs = self._tap.engine.keeps_logprobs(self._tap.version)
            rewriter = EventRewriter(
                keeps_logprobs=logprobs,
                messages=rewrites.final_object,
                members=self._tap.engine.evidence_members,
            )
            headers = end_to_end(headers, drop=(b"content-length",))
        self._begun = True
        await send({"type": "http.response.start", "status": response.status_code, "headers": headers})

        async def take(arrivals: Sequence[Arrival]) -> None:
            chunk = b"".join([arrival.chunk for arrival in arrivals])
            passed = chunk if rewriter is None else rewriter.receive(chunk)
            if passed:
                await send({"type": "http.response.body", "body": passed, "more_body": True})
            if recording is not None:
                for arrival in together(arrivals):
                    await _in_turn(recording.chunk(arrival.chunk, arrival.at_s))

        assert isinstance(response.stream, Body)  # noqa: S101 -- our transport's
        await response.stream.passed_to(take)
        rest = b"" if rewriter is None else rewriter.close()
        self._close("")
        await send({"type": "http.response.body", "body": rest, "more_body": False})

    async def _answer_whole(
        self, response: httpx.Response, headers: list[tuple[bytes, bytes]], spec: EndpointSpec
    ) -> None:
        raw = await _whole(response)
        if self._recording is not None:
            await _in_turn(self._recording.chunk(raw, time.monotonic()))
        self._close("")
        body = body_without_ids(raw, messages=spec.final_object, members=self._tap.engine.evidence_members)
        headers = end_to_end(headers, drop=(b"content-length",))
        headers.append((b"content-length", str(len(body)).encode()))
        self._begun = True
        await self._send({"type": "http.response.start", "status": response.status_code, "headers": headers})
        await self._send({"type": "http.response.body", "body": body, "more_body": False})

    async def _refuse(self, status: int, message: str, kind: str) -> None:
        """Our own response, in the form of the API's errors."""
        body = dumps({"error": {"message": message, "type": kind, "param": None, "code": status}}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await self._send({"type": "http.response.start", "status": status, "headers": headers})
        await self._send({"type": "http.response.body", "body": body, "more_body": False})

    def _cut_here(self) -> None:
        self._close(CLOSED_BY[self._tap.closed_by], closed_by=self._tap.closed_by)

    def _close(self, detail: str, *, closed_by: ClosedBy | None = None) -> None:
        if self._recording is not None:
            tap = self._tap
            self._recording.close(detail, tap.version, tap.owned_by, closed_by=closed_by)


def _trust(verify: bool | str) -> ssl.SSLContext:
    if isinstance(verify, bool):
        return httpx.create_ssl_context(verify=verify, trust_env=False)
    try:
        return ssl.create_default_context(cafile=verify)
    except (OSError, ssl.SSLError) as error:
        raise InspectorError(
            f"{verify} contains no readable CA certificates ({error}); use a PEM file"
        ) from error


async def _in_turn(steps: Iterator[None]) -> None:
    """Do steps of recording, with other clients in between.

    A client may close while its last bytes are recorded: a bounded number of steps is still done then.
    """
    try:
        for _ in steps:
            await asyncio.sleep(0)
    except asyncio.CancelledError:
        for _ in islice(steps, _STEPS_AFTER):
            pass
        raise


async def _whole(response: httpx.Response) -> bytes:
    assert isinstance(response.stream, httpx.AsyncByteStream)  # noqa: S101 -- an async transport's response
    raw = bytearray()
    async for chunk in response.stream:
        raw += chunk
        if len(raw) > _WHOLE_AT_MOST:
            raise httpx.ReadError(f"the response is longer than {_WHOLE_AT_MOST:,} bytes")
    return bytes(raw)


def _target(scope: Scope) -> bytes | None:
    """Path and query after our own prefix, byte for byte; None for a path with `..`."""
    root: bytes = scope.get("root_path", "").encode("utf-8")
    raw: bytes = scope.get("raw_path") or quote(scope["path"]).encode("ascii")
    raw = raw.partition(b"?")[0]
    if raw.startswith(root):
        path = raw[len(root) :]
    else:  # a client escaped letters of our own prefix, so the path is escaped again
        path = quote(scope["path"].removeprefix(scope["root_path"])).encode("ascii")
    if not path.startswith(b"/"):
        path = b"/" + path
    parts = unquote_to_bytes(path.replace(b"\\", b"/")).replace(b"\\", b"/").split(b"/")
    if b"." in parts or b".." in parts:
        return None
    query: bytes = scope.get("query_string", b"")
    return path + b"?" + query if query else path


def _endpoint(scope: Scope, target: bytes) -> Endpoint | None:
    path, _, query = target.decode("latin-1").partition("?")
    if scope["method"] == "GET" and "stream=true" in query:
        return endpoint_of_resumed(path)
    return endpoint_of(scope["method"], path)


def _has_body(headers: Sequence[tuple[bytes, bytes]]) -> bool:
    return any(name.lower() in {b"content-length", b"transfer-encoding"} for name, _ in headers)
