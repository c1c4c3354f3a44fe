"""One Ctrl-C ends a program that serves, also while streams are open.

Uvicorn waits for open responses without a limit, and Streamlit sets none. So the first signal to stop, which
then goes on to Uvicorn, starts the shutdown here: open responses have a second to end and are then cancelled.
"""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from types import FrameType
from typing import Any, Final

from starlette.middleware import Middleware
from starlette.types import ASGIApp, Receive, Scope, Send

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_GRACE_S: Final = 1.0


class Shutdown:
    """Its `middleware` and its `lifespan` belong to one app; `on_begin` is called once, when it begins."""

    def __init__(self, on_begin: Callable[[], None] = lambda: None) -> None:
        self._on_begin = on_begin
        self._begun: asyncio.Event | None = None

    @property
    def middleware(self) -> list[Middleware]:
        """Middleware to put outside of what streams."""
        return [Middleware(_ShutdownMiddleware, shutdown=self)]

    @asynccontextmanager
    async def lifespan(self, _: object) -> AsyncIterator[None]:
        """Listens for the signals while the app runs; outside of the main thread it changes nothing."""
        loop = asyncio.get_running_loop()
        self._begun = asyncio.Event()
        replaced: dict[int, Any] = {}

        def handle(number: int, frame: FrameType | None) -> None:
            loop.call_soon_threadsafe(self.begin)
            if callable(handler := replaced[number]):
                handler(number, frame)

        with suppress(ValueError):  # not the main thread
            for stop in _SIGNALS:
                replaced[stop] = signal.getsignal(stop)
                signal.signal(stop, handle)
        try:
            yield
        finally:
            for number, handler in replaced.items():
                with suppress(ValueError, TypeError):
                    signal.signal(number, handler)

    def begin(self) -> None:
        """Begin; a second call changes nothing."""
        if self._begun is not None and not self._begun.is_set():
            self._begun.set()
            self._on_begin()

    async def wait(self) -> None:
        """Return a second after it began; never without a lifespan."""
        await (self._begun or asyncio.Event()).wait()
        await asyncio.sleep(_GRACE_S)


class _ShutdownMiddleware:
    def __init__(self, app: ASGIApp, *, shutdown: Shutdown) -> None:
        self._app = app
        self._shutdown = shutdown

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def respond() -> None:
            await self._app(scope, receive, send)

        responding = asyncio.create_task(respond())
        ending = asyncio.create_task(self._shutdown.wait())
        try:
            await asyncio.wait({responding, ending}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ending.cancel()
            if not responding.done():
                responding.cancel()
            await asyncio.gather(responding, ending, return_exceptions=True)
        if not responding.cancelled() and (error := responding.exception()) is not None:
            raise error
