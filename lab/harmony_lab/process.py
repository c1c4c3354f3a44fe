"""A server process in its own process group: started, awaited until ready, stopped with all children.

Child processes (vLLM starts an engine process) belong to the group, so none survives if the server dies,
never becomes ready, or the user presses Ctrl-C. Not specific to vLLM.
"""

import http.client
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType, TracebackType
from typing import Final, Self

from inspector.capture.errors import LabError

GRACE_S: Final = 15.0
"""Seconds that a server has to stop by itself before it is killed."""

_ERROR_LINE: Final = re.compile(r"(?:^|[ .])(?:\w*(?:Error|Exception)): \S.*")


_RESERVED: Final[set[int]] = set()
"""Ports that `free_port` returned: a server listens on one only seconds later."""


def free_port() -> int:
    """A free port of the loopback address that this process has not used yet."""
    for _ in range(1000):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        if port not in _RESERVED:
            _RESERVED.add(port)
            return port
    raise LabError("no free port on 127.0.0.1; stop programs that listen there")


def check_port(port: int) -> None:
    """Raise LabError if a port of the loopback address is in use."""
    with socket.socket() as probe:
        # As servers do: otherwise a connection that was just closed counts as a listener.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except (OSError, OverflowError) as error:
            raise LabError(
                f"port {port} on 127.0.0.1 is in use or not allowed; choose another one with --port"
            ) from error


@contextmanager
def kill_is_interrupt() -> Iterator[None]:
    """SIGTERM unwinds the program as Ctrl-C does, so that servers are stopped."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class ServerProcess:
    """A context manager: inside it the server is ready, after it none of its processes runs.

    `timeout_s` bounds the health check. Without `wait` the context begins when the process has started, and
    `ready` waits for the health check, so that several servers start together. Raises LabError if the port is
    in use, if the process exits early (with the last error of its log), or if the health check times out.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        port: int,
        log: Path,
        environment: Mapping[str, str] | None = None,
        health: str = "/health",
        timeout_s: float = 600.0,
        grace_s: float = GRACE_S,
        wait: bool = True,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.command = list(command)
        self.port = port
        self.log = log
        self.base_url = f"http://127.0.0.1:{port}"
        self._environment = environment
        self._health = health
        self._timeout_s = timeout_s
        self._grace_s = grace_s
        self._wait = wait
        self._say = say
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def alive(self) -> bool:
        """Whether the main process runs."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int | None:
        """Of the main process, which is also the ID of its process group; None if it was not started."""
        return self._process.pid if self._process is not None else None

    def __enter__(self) -> Self:
        check_port(self.port)
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("wb") as log:
            try:
                self._process = subprocess.Popen(
                    self.command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env=dict(self._environment) if self._environment is not None else None,
                    start_new_session=True,
                )
            except OSError as error:
                raise LabError(f"{self.command[0]} cannot be started: {error}") from error
        return self.ready() if self._wait else self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def ready(self) -> Self:
        """Wait until the health check succeeds; stops the server if it fails."""
        if self._process is None:
            raise LabError("the server was not started, or has been stopped")
        try:
            self._wait_until_healthy(self._process)
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Stop the whole process group, first with SIGTERM, then with SIGKILL. Idempotent."""
        process = self._process
        if process is None:
            return
        _signal_group(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=self._grace_s)
        # Always: children may outlive the main process.
        _signal_group(process.pid, signal.SIGKILL)
        process.wait()
        self._process = None

    def wait(self) -> None:
        """Wait until the server exits by itself, which raises LabError."""
        if self._process is not None:
            self._process.wait()
            raise LabError(f"the server exited: {self.last_error()}; log: {self.log}")

    def last_error(self) -> str:
        """The last line of the log with an error, or else the last line."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-400:]
        errors = [match[0].strip() for line in lines if (match := _ERROR_LINE.search(line))]
        if errors:
            return errors[-1][:300]
        return next((line.strip()[:300] for line in reversed(lines) if line.strip()), "no output")

    def _wait_until_healthy(self, process: subprocess.Popen[bytes]) -> None:
        started = time.monotonic()
        reported_at = 0.0
        while True:
            with suppress(subprocess.TimeoutExpired):
                code = process.wait(timeout=0.25)
                raise LabError(
                    f"the server exited with code {code} before it was ready: {self.last_error()}; "
                    f"log: {self.log}"
                )
            if self._answers():
                return
            waited = time.monotonic() - started
            if waited > self._timeout_s:
                raise LabError(
                    f"{self.base_url}{self._health} did not respond within {self._timeout_s:.0f} s; "
                    f"the server was stopped; log: {self.log}"
                )
            if waited - reported_at >= 15:
                reported_at = waited
                self._say(f"waiting for {self.base_url}{self._health} [{waited:.0f} s]")

    def _answers(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=2)
        try:
            connection.request("GET", self._health)
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


def _signal_group(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
