"""Middleware that records responses of ASGI apps (Starlette, FastAPI) with vLLM's API, or in front of it.

Requests and responses pass unchanged; errors of the recording are logged and never reach the app or its
clients.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import httpx
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from inspector.capture.capture import CLOSED_BY, ClosedBy, Endpoint
from inspector.net.client.recorder import Sink
from inspector.net.client.transport import endpoint_of
from inspector.net.tap.folder import FolderSink
from inspector.net.tap.recording import ResponseRecording

_LOG: Final = logging.getLogger(__name__)
_BODY_AT_MOST: Final = 64 * 2**20
_STOPPED: Final = "the app's server ended the request"


class RecordResponses:
    """Records the responses of an app at the paths of the endpoints.

    `captures` is a folder, which gets a file for each response, or a sink: `tap.FolderSink`,
    `watch.redacting.RedactingSink`, or anything with their methods. A response for which `sampled()` is false
    is not recorded. `server_version` is that of the server behind the app, if it is known.

    Raises StoreError when the folder cannot be written to.
    """

    def __init__(
        self,
        app: ASGIApp,
        captures: str | Path | Sink = "captures",
        *,
        sampled: Callable[[], bool] = lambda: True,
        server_version: str | None = None,
    ) -> None:
        self._app = app
        self._sink: Sink = FolderSink(Path(captures)) if isinstance(captures, str | Path) else captures
        self._sampled = sampled
        self._server_version = server_version

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and record its response if it is one of those."""
        listener = None
        if scope["type"] == "http":
            with suppress(Exception):
                endpoint = endpoint_of(scope["method"], scope["path"])
                if endpoint is not None and self._sampled():
                    listener = _Listener(scope, endpoint, self._sink, self._server_version)
        if listener is None:
            await self._app(scope, receive, send)
            return

        async def received() -> Message:
            message = await receive()
            listener.received(message)
            return message

        async def sent(message: Message) -> None:
            try:
                await send(message)
            except OSError:  # how a server reports that the client has disconnected
                listener.left = True
                raise
            listener.sent(message)

        try:
            await self._app(scope, received, sent)
        except asyncio.CancelledError:
            listener.close(_STOPPED)
            raise
        except BaseException as error:
            listener.close(f"{type(error).__name__} in the app")
            raise
        listener.close("the app ended without an end of the response")


class _Listener:
    """Listens to one exchange; none of its methods raises."""

    def __init__(self, scope: Scope, endpoint: Endpoint, sink: Sink, version: str | None) -> None:
        self.left = False
        self._scope = scope
        self._endpoint = endpoint
        self._sink = sink
        self._version = version
        self._began_s: float | None = time.monotonic()
        self._body = bytearray()
        self._recording: ResponseRecording | None = None
        self._done = False

    def received(self, message: Message) -> None:
        """The app received a message from the client."""
        if message["type"] == "http.disconnect":
            self.left = True
        elif self._recording is None and len(self._body) <= _BODY_AT_MOST:
            self._body += message.get("body") or b""

    def sent(self, message: Message) -> None:
        """The app sent a message to the client."""
        if self._done:
            return
        try:
            if message["type"] == "http.response.start":
                self._begin(message)
            elif message["type"] == "http.response.body" and self._recording is not None:
                for _ in self._recording.chunk(message.get("body") or b"", time.monotonic()):
                    pass
                if not message.get("more_body", False):
                    self.close("")
        except Exception:
            self._done = True
            _LOG.exception("recording stopped")

    def close(self, detail: str) -> None:
        """The response ended; `detail` says what cut it unless the client left, empty if it is complete."""
        if self._done or self._recording is None:
            return
        self._done = True
        closed_by = ClosedBy.CLIENT if detail and self.left else None
        try:
            self._recording.close(
                detail if closed_by is None else CLOSED_BY[closed_by], self._version, closed_by=closed_by
            )
        except Exception:
            _LOG.exception("recording stopped")

    def _begin(self, message: Message) -> None:
        if len(self._body) > _BODY_AT_MOST:
            self._done = True
            return
        self._recording = ResponseRecording(
            self._endpoint,
            bytes(self._body),
            self._scope["headers"],
            self._sink,
            source="middleware",
            clock=self._clock,
            query=self._scope.get("query_string", b""),
        )
        self._body.clear()
        headers = httpx.Headers(message.get("headers", []))
        self._recording.response(httpx.Response(message["status"], headers=headers), self._version)

    def _clock(self) -> float:
        """The time; at the first call, that at which the request came."""
        began_s, self._began_s = self._began_s, None
        return time.monotonic() if began_s is None else began_s
