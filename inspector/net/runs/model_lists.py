"""The models that servers list, requested in threads, so that a page never waits for a slow server."""

import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from threading import Lock, Thread
from typing import Final

from inspector.capture.capture import Endpoint
from inspector.net.client.address import Server
from inspector.net.client.server_info import list_models

_KEPT_FOR_S: Final = 20.0
_FAILURE_KEPT_FOR_S: Final = 5.0
_KEPT_AT_MOST: Final = 64


class ModelLists:
    """Lists by server and endpoint; every method may be called from any thread."""

    def __init__(
        self,
        ask: Callable[[Server, Endpoint | None], list[str]] = list_models,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ask = ask
        self._clock = clock
        self._lock = Lock()
        self._requests: dict[Hashable, tuple[float, Future[list[str]]]] = {}

    def of(
        self, server: Server, endpoint: Endpoint | None = None, *, wait_s: float = 0.0
    ) -> list[str] | None:
        """The list, None while the server has not answered within `wait_s`; raises ConnectionFailed."""
        future = self._future(server, endpoint)
        try:
            return future.result(timeout=wait_s)
        except TimeoutError:
            return None

    def _future(self, server: Server, endpoint: Endpoint | None) -> Future[list[str]]:
        headers = tuple(sorted(server.headers.items()))
        key = (server.v1, server.api_key, headers, server.verify, endpoint)
        with self._lock:
            cached = self._requests.get(key)
            if cached is not None and self._holds(*cached):
                return cached[1]
            future: Future[list[str]] = Future()
            self._requests.pop(key, None)
            self._requests[key] = (self._clock(), future)
            while len(self._requests) > _KEPT_AT_MOST:
                del self._requests[next(iter(self._requests))]
        Thread(
            target=self._fill, args=(future, server, endpoint), name="inspector-models", daemon=True
        ).start()
        return future

    def _holds(self, asked_at: float, future: Future[list[str]]) -> bool:
        if not future.done():
            return True
        kept_for = _KEPT_FOR_S if future.exception() is None else _FAILURE_KEPT_FOR_S
        return self._clock() - asked_at < kept_for

    def _fill(self, future: Future[list[str]], server: Server, endpoint: Endpoint | None) -> None:
        try:
            models = self._ask(server, endpoint)
        except Exception as error:  # handed to the one who asks for the result
            future.set_exception(error)
        else:
            future.set_result(models)
