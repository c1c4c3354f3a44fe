"""One Ctrl-C ends the dashboard, also while streams are open.

Uvicorn waits for open answers without a limit, and Streamlit sets none. So the first signal to stop, which
then goes on to Uvicorn, is reported here: answers get a moment to end by themselves and are then cancelled.
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
_MOMENT_S: Final = 1.0


class Ending:
    """Its `middleware` and its `lifespan` belong to one app; `told` is called once, when the end begins."""

    def __init__(self, told: Callable[[], None] = lambda: None) -> None:
        self._told = told
        self._begun: asyncio.Event | None = None

    @property
    def middleware(self) -> list[Middleware]:
        """Middleware to put outside of what streams."""
        return [Middleware(_Ends, ending=self)]

    @asynccontextmanager
    async def lifespan(self, _: object) -> AsyncIterator[None]:
        """Listens for the signals while the app runs; where they cannot be had, nothing changes."""
        loop = asyncio.get_running_loop()
        self._begun = asyncio.Event()
        before: dict[int, Any] = {}

        def handle(number: int, frame: FrameType | None) -> None:
            loop.call_soon_threadsafe(self.begin)
            if callable(then := before[number]):
                then(number, frame)

        with suppress(ValueError):  # not the main thread
            for number in _SIGNALS:
                before[number] = signal.getsignal(number)
                signal.signal(number, handle)
        try:
            yield
        finally:
            for known, handler in before.items():
                with suppress(ValueError, TypeError):
                    signal.signal(known, handler)

    def begin(self) -> None:
        """Begin the end."""
        if self._begun is not None and not self._begun.is_set():
            self._begun.set()
            self._told()

    async def wait(self) -> None:
        """Return a moment after the end began; without a lifespan never."""
        await (self._begun or asyncio.Event()).wait()
        await asyncio.sleep(_MOMENT_S)


class _Ends:
    def __init__(self, app: ASGIApp, *, ending: Ending) -> None:
        self._app = app
        self._ending = ending

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def answer() -> None:
            await self._app(scope, receive, send)

        answering = asyncio.create_task(answer())
        ending = asyncio.create_task(self._ending.wait())
        try:
            await asyncio.wait({answering, ending}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ending.cancel()
            if not answering.done():
                answering.cancel()
            await asyncio.gather(answering, ending, return_exceptions=True)
        if not answering.cancelled() and (error := answering.exception()) is not None:
            raise error
