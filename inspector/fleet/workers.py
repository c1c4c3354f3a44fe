"""Calls in processes of their own, which do not run the program that makes the calls.

A process that `multiprocessing` does not fork imports the main module of its parent: a script without
`if __name__ == "__main__"` runs a second time; in the dashboard that script is the page that ran last. One
that it forks has the locks that threads held. So a fresh interpreter, the host, has the processes: it has
neither a main module nor threads. On Linux it prepares once and forks; elsewhere each process prepares.

No other pool does this. The fork server of `multiprocessing` imports the main module too, preloads without
the program's `sys.path`, is one for the whole program, and keeps what it imported, and the environment, to
its end. `ProcessPoolExecutor` and loky fail all calls when one process ends, and pebble starts processes as
`multiprocessing` does.
"""

import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from multiprocessing import Pipe, Process, active_children, parent_process, set_start_method
from multiprocessing.connection import Connection
from typing import Any, Final, ParamSpec, TypeVar

from inspector.capture.errors import InspectorError

P = ParamSpec("P")
R = TypeVar("R")

_FORKS: Final = sys.platform == "linux"
_HOST: Final = (
    "import pickle, signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); "
    "_, control, prepare, *sys.path = sys.argv; del sys.argv[1:]; "
    "from inspector.fleet.workers import host; host(int(control), pickle.loads(bytes.fromhex(prepare)))"
)


class WorkerEnded(Exception):
    """The process ended before its call returned, for example for lack of memory."""


class Workers:
    """At most `count` processes for calls of functions that can be imported, made after `prepare`.

    One that ends fails its own call with WorkerEnded; the next call has a new one. Interrupts (Ctrl-C) do not
    reach them, and they end with this process, however it ends. Every method may be called from any thread.
    """

    def __init__(self, count: int, *, prepare: Callable[[], object]) -> None:
        if sys.platform == "win32":  # no socket there hands a descriptor to another process
            raise InspectorError("this needs several processes, which do not work on Windows; run it in WSL")
        self._prepare = prepare
        self._threads = ThreadPoolExecutor(count, "workers")
        self._of_thread = threading.local()
        self._lock = threading.Lock()
        self._host: _Host | None = None
        self._end_host: Callable[[], object] = lambda: None
        self._closed = False

    def submit(self, call: Callable[P, R], /, *args: P.args, **keywords: P.kwargs) -> "Future[R]":
        """Call a function there; RuntimeError after `shutdown`."""
        return self._threads.submit(self._run, call, args, keywords)

    def shutdown(self, *, wait: bool = True) -> None:
        """Finish all calls and end the processes; with `wait` false, end them now and drop the calls."""
        self._threads.shutdown(wait=wait, cancel_futures=not wait)
        with self._lock:
            self._closed = True
            self._end_host()

    def _run(self, call: Callable[..., R], args: tuple[Any, ...], keywords: dict[str, Any]) -> R:
        request = pickle.dumps((call, args, keywords))
        try:
            response = self._sent(request).recv_bytes()
        except (OSError, EOFError) as error:
            raise WorkerEnded("the process ended before its call returned") from error
        returned, value = pickle.loads(response)  # noqa: S301 -- our own process made it
        if not returned:
            raise value
        result: R = value
        return result

    def _sent(self, request: bytes) -> Connection:
        """The line to a process that has a request."""
        with suppress(AttributeError, OSError):  # this thread has none, or it has ended
            line: Connection = self._of_thread.line
            line.send_bytes(request)
            return line
        line = self._of_thread.line = self._new_line()
        line.send_bytes(request)
        return line

    def _new_line(self) -> Connection:
        """A line to a new process."""
        ours, theirs = Pipe()
        with theirs, self._lock:
            if self._closed:
                raise WorkerEnded("the processes were ended")
            with suppress(OSError):  # the host has ended
                if self._host is not None:
                    self._host.start(theirs)
                    return ours
            self._end_host()
            try:
                self._host = _Host(self._prepare)
            except OSError as error:
                raise WorkerEnded(f"the process cannot be started ({error})") from error
            self._end_host = weakref.finalize(self, self._host.end)
            self._host.start(theirs)
            return ours


class _Host:
    """The process that has the others."""

    def __init__(self, prepare: Callable[[], object]) -> None:
        self._control, theirs = socket.socketpair()
        paths = [os.path.abspath(path) for path in sys.path if isinstance(path, str)]
        command = [sys.executable, "-c", _HOST, str(theirs.fileno()), pickle.dumps(prepare).hex(), *paths]
        with theirs:
            try:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    pass_fds=[theirs.fileno()],
                )
            except OSError:
                self._control.close()
                raise

    def start(self, line: Connection) -> None:
        """Start a process with its end of a line; raises OSError if the host has ended."""
        socket.send_fds(self._control, [b"+"], [line.fileno()])

    def end(self) -> None:
        """End all."""
        self._control.close()
        self._process.terminate()
        self._process.wait()


def host(control: int, prepare: Callable[[], object]) -> None:
    """Start a process for each line that arrives, and end all of them at the end of the input."""
    lines = socket.socket(fileno=control)
    if _FORKS:
        prepare()
    signal.signal(signal.SIGTERM, _end)
    set_start_method("fork" if _FORKS else "spawn")
    while descriptors := socket.recv_fds(lines, 1, 1)[1]:
        with Connection(descriptors[0]) as line:
            Process(target=_serve, args=(line, prepare), daemon=True).start()
    _end()


def _end(*_: object) -> None:
    for process in active_children():
        process.kill()
        process.join()  # and count what it took
    os._exit(0)


def _serve(line: Connection, prepare: Callable[[], object]) -> None:
    """Make the calls that come over the line, until it or the host ends."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_host, daemon=True).start()
    if not _FORKS:
        prepare()
    with suppress(EOFError, OSError):
        while True:
            line.send_bytes(_response(line.recv_bytes()))


def _end_with_host() -> None:
    if (parent := parent_process()) is not None:
        parent.join()
    os._exit(1)


def _response(request: bytes) -> bytes:
    try:
        call, args, keywords = pickle.loads(request)  # noqa: S301 -- the parent made it
        return pickle.dumps((True, call(*args, **keywords)))
    except Exception as error:
        try:
            pickle.loads(response := pickle.dumps((False, error)))  # noqa: S301 -- can the parent read it?
        except Exception:
            response = pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")))
        return response
