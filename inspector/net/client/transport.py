"""Recording transports for httpx, and clients with them for other programs.

    client = OpenAI(http_client=inspector.recording_client("out.jsonl"))

What is recorded is what the client reads: if it closes early, the capture ends there.
Secrets are not stored: no header of the request is kept, and secrets are removed from its body.
"""

import asyncio
import errno
import json
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import httpx

from inspector.capture.capture import CLOSED_BY, STOPPED, ClosedBy, End, Endpoint, Event, Header
from inspector.capture.errors import CaptureError, StoreError
from inspector.capture.redaction import redact
from inspector.files.store import CaptureWriter, open_writer
from inspector.net.client.decoding import READABLE_CODINGS
from inspector.net.client.recorder import Recorder, Sink
from inspector.net.client.redirects import is_redirect
from inspector.net.client.secrets import secrets_of, without_secrets
from inspector.protocol.wire.endpoints import endpoint_of_path
from inspector.protocol.wire.stream import loads

_LOG: Final = logging.getLogger(__name__)

if TYPE_CHECKING:  # openai 3 takes clients of httpx, and its annotations name only those of httpx2
    import httpx2

    class RecordingClient(httpx.Client, httpx2.Client):  # type: ignore[misc]
        """A client that type checkers take for one of either library."""

    class AsyncRecordingClient(httpx.AsyncClient, httpx2.AsyncClient):  # type: ignore[misc]
        """The same for async programs."""
else:
    RecordingClient, AsyncRecordingClient = httpx.Client, httpx.AsyncClient

Record = Callable[[httpx.Request], Recorder | None]
"""A recorder for a request, or None when it is not to be recorded."""


def endpoint_of(method: str, path: str) -> Endpoint | None:
    """The endpoint that a request asks for text; None for all others (models, files, ...)."""
    return endpoint_of_path(path) if method == "POST" else None


def content_of(request: httpx.Request) -> bytes:
    """A request's body; empty if it is generated while it is sent."""
    if isinstance(request.stream, httpx.ByteStream):
        return request.read()  # in memory, but httpx does not know it of a redirected request
    try:
        return request.content
    except httpx.RequestNotRead:
        return b""


def secrets_in(request: httpx.Request) -> list[str]:
    """The keys of a request, which its response may repeat."""
    body = loads(content_of(request).decode("utf-8", "replace"))
    return secrets_of(request.headers.raw, body, redact(body), request.url.query)


def header_of(
    endpoint: Endpoint,
    request: bytes,
    *,
    source: str,
    server_version: str | None = None,
    owned_by: str | None = None,
) -> Header:
    """The header of a capture that begins now; `request` is the request's body as it was sent."""
    try:
        body: Any = redact(json.loads(request))
    except (ValueError, RecursionError):
        body = {}
    model = body.get("model") if isinstance(body, dict) else None
    return Header(
        endpoint=endpoint,
        request=body if isinstance(body, dict) else {},
        model=model if isinstance(model, str) else None,
        server_version=server_version,
        owned_by=owned_by,
        started_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        source=source,
    )


class RecordingTransport(httpx.BaseTransport):
    """Passes requests on and records the responses that `record` gives a recorder for."""

    def __init__(self, record: Record, inner: httpx.BaseTransport | None = None) -> None:
        self._record = record
        self._inner = inner or httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request."""
        recorder = self._record(request)
        if recorder is None:
            return self._inner.handle_request(request)
        request.headers["Accept-Encoding"] = READABLE_CODINGS
        try:
            response = self._inner.handle_request(request)
        except BaseException as error:
            _cut(recorder, error)
            raise
        if is_redirect(response):  # not the response yet: the request is sent again
            return response
        recorder.response(response.status_code, response.headers)
        assert isinstance(response.stream, httpx.SyncByteStream)  # noqa: S101 -- a sync transport's response
        return httpx.Response(
            response.status_code,
            headers=response.headers,
            stream=_Recorded(response.stream, recorder),
            extensions=response.extensions,
        )

    def close(self) -> None:
        """Close the inner transport."""
        self._inner.close()


class _Recorded(httpx.SyncByteStream):
    def __init__(self, stream: httpx.SyncByteStream, recorder: Recorder) -> None:
        self._stream = stream
        self._recorder = recorder

    def __iter__(self) -> Iterator[bytes]:
        try:
            for chunk in self._stream:
                self._recorder.chunk(chunk)
                yield chunk
        except httpx.TransportError as error:
            _cut(self._recorder, error)
            raise
        self._recorder.close()

    def close(self) -> None:
        self._stream.close()
        self._recorder.close(CLOSED_BY[ClosedBy.CLIENT], closed_by=ClosedBy.CLIENT)


class AsyncRecordingTransport(httpx.AsyncBaseTransport):
    """The same for async clients; `drain_s` reads on for so long after a client closes.

    Clients stop reading at an error event, but what follows it tells how the server ended the response.
    """

    def __init__(
        self, record: Record, inner: httpx.AsyncBaseTransport | None = None, *, drain_s: float = 0.0
    ) -> None:
        self._record = record
        self._inner = inner or httpx.AsyncHTTPTransport()
        self._drain_s = drain_s

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request."""
        recorder = self._record(request)
        if recorder is None:
            return await self._inner.handle_async_request(request)
        request.headers["Accept-Encoding"] = READABLE_CODINGS
        try:
            response = await self._inner.handle_async_request(request)
        except BaseException as error:
            _cut(recorder, error)
            raise
        if is_redirect(response):
            return response
        recorder.response(response.status_code, response.headers)
        assert isinstance(response.stream, httpx.AsyncByteStream)  # noqa: S101 -- an async transport's response
        return httpx.Response(
            response.status_code,
            headers=response.headers,
            stream=_AsyncRecorded(response.stream, recorder, self._drain_s),
            extensions=response.extensions,
        )

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self._inner.aclose()


class _AsyncRecorded(httpx.AsyncByteStream):
    def __init__(self, stream: httpx.AsyncByteStream, recorder: Recorder, drain_s: float) -> None:
        self._stream = stream
        self._chunks = aiter(stream)
        self._recorder = recorder
        self._drain_s = drain_s

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._chunks:
                self._recorder.chunk(chunk)
                yield chunk
        except (httpx.TransportError, asyncio.CancelledError) as error:
            _cut(self._recorder, error)
            raise
        self._recorder.close()

    async def aclose(self) -> None:
        try:
            if self._drain_s and not self._recorder.closed:
                await self._drain()
        finally:
            await self._stream.aclose()
            self._recorder.close(CLOSED_BY[ClosedBy.CLIENT], closed_by=ClosedBy.CLIENT)

    async def _drain(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(self._drain_s):
                try:
                    async for chunk in self._chunks:
                        self._recorder.chunk(chunk)
                except httpx.TransportError as error:
                    _cut(self._recorder, error)
                else:
                    self._recorder.close()


def _cut(recorder: Recorder, error: BaseException) -> None:
    """The body ended with an error, or because the user of this program ended the request."""
    if isinstance(error, asyncio.CancelledError | GeneratorExit | KeyboardInterrupt):
        recorder.close(STOPPED, stopped=True)
    else:
        recorder.close(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)


class FileSink:
    """Writes each response to a file of its own: `out.jsonl`, then `out-2.jsonl`; none is overwritten.

    If a write fails, the recorded program goes on; the first failure is logged.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writers: dict[str, CaptureWriter] = {}

    def opened(self, header: Header) -> str:
        """Open the next free file."""
        number = 1
        while True:
            path = self._path if number == 1 else self._path.with_stem(f"{self._path.stem}-{number}")
            number += 1
            if str(path) in self._writers:
                continue
            try:
                self._writers[str(path)] = open_writer(path, header)
            except (StoreError, CaptureError) as error:
                if isinstance(error, StoreError) and error.errno == errno.EEXIST:
                    continue
                _LOG.warning("not recorded: %s", error)
            return str(path)

    def event(self, run: str, event: Event) -> None:
        """Write one event."""
        self._write(run, lambda writer: writer.write((event,)))

    def ended(self, run: str, end: End) -> None:
        """Write how it ended and close the file."""
        self._write(run, lambda writer: writer.end(end))
        self._writers.pop(run, None)

    def _write(self, run: str, write: Callable[[CaptureWriter], None]) -> None:
        writer = self._writers.get(run)
        if writer is None:
            return
        try:
            write(writer)
        except StoreError as error:
            del self._writers[run]
            _LOG.warning("recording stopped: %s", error)
            try:
                writer.close()
            except StoreError:
                return


def _recorder(sink: Sink, request: httpx.Request) -> Recorder | None:
    endpoint = endpoint_of(request.method, request.url.path)
    if endpoint is None:
        return None
    try:
        header = header_of(endpoint, content_of(request), source="recording client")
        return _Quiet(header, without_secrets(sink, secrets_in(request)))
    except Exception:
        _LOG.exception("not recorded")
        return None


class _Quiet(Recorder):
    """A recorder in another program: its failures are logged once and never reach that program."""

    def response(self, status: int, headers: Mapping[str, str]) -> None:
        self._guarded(lambda: super(_Quiet, self).response(status, headers))

    def chunk(self, raw: bytes) -> None:
        self._guarded(lambda: super(_Quiet, self).chunk(raw))

    def close(self, detail: str = "", *, stopped: bool = False, closed_by: ClosedBy | None = None) -> None:
        self._guarded(lambda: super(_Quiet, self).close(detail, stopped=stopped, closed_by=closed_by))

    def _guarded(self, step: Callable[[], None]) -> None:
        try:
            step()
        except Exception:
            self.closed = True
            _LOG.exception("recording stopped")


_TRANSPORT_OPTIONS: Final[tuple[str, ...]] = (
    "verify",
    "cert",
    "http1",
    "http2",
    "limits",
    "proxy",
    "trust_env",
)


def _split(options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options for the transport, and options for the client with the openai client's own defaults."""
    transport: dict[str, Any] = {name: options[name] for name in _TRANSPORT_OPTIONS if name in options}
    client: dict[str, Any] = {"timeout": httpx.Timeout(600.0, connect=5.0), "follow_redirects": True}
    client.update({name: value for name, value in options.items() if name not in transport})
    return transport, client


def recording_client(
    path: str | Path, *, transport: httpx.BaseTransport | None = None, **options: Any
) -> RecordingClient:
    """An httpx client that keeps each completion, chat or Responses response as a capture beside `path`.

    The first goes to `path`, the next to `out-2.jsonl` and so on. `options` are httpx.Client's.
    """
    sink = FileSink(Path(path))
    transport_options, options = _split(options)
    inner = transport or httpx.HTTPTransport(**transport_options)
    client = httpx.Client(
        transport=RecordingTransport(lambda request: _recorder(sink, request), inner), **options
    )
    return cast(RecordingClient, client)


def async_recording_client(
    path: str | Path, *, transport: httpx.AsyncBaseTransport | None = None, **options: Any
) -> AsyncRecordingClient:
    """`recording_client` for async programs: `AsyncOpenAI(http_client=...)`."""
    sink = FileSink(Path(path))
    transport_options, options = _split(options)
    inner = transport or httpx.AsyncHTTPTransport(**transport_options)
    client = httpx.AsyncClient(
        transport=AsyncRecordingTransport(lambda request: _recorder(sink, request), inner), **options
    )
    return cast(AsyncRecordingClient, client)
