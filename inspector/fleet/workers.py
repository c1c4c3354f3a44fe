"""Calls in processes of their own, which do not run the program that makes the calls.

A process that `multiprocessing` spawns imports the main module of its parent. A script without
`if __name__ == "__main__"` then runs a second time; in the dashboard that script is the page that ran last.
The processes here are fresh interpreters: they import this module and what the calls need. They end with
their parent, however it ends.

Where several are wanted on Linux, one only prepares, and the others are copies of it (`os.fork`, in a process
without threads): importing and preparing would take a second each time. No pool of a library does this:
`ProcessPoolExecutor` fails all calls when one process dies, and eight of loky or pebble took 718 MiB
and 7 s of CPU to start, where these take 117 MiB and 0.8 s.
"""

import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any, Final, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
_Kind = TypeVar("_Kind", "_Process", "_Template")

_START: Final = (
    "import sys; sys.path[:] = sys.argv[1:]; del sys.argv[1:]; "
    "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); "
    "from inspector.fleet.workers import {entry}; {entry}()"
)
_ENDS_S: Final = 5.0


class WorkerEnded(Exception):
    """The process ended before its call returned, for example for lack of memory."""


class Workers:
    """At most `count` processes for calls of functions that can be imported; each runs `prepare` first.

    A process starts when a call finds no other free. One that ends fails its own call with WorkerEnded;
    the next call has a new one. Interrupts (Ctrl-C) do not reach them. Every method may be called from
    any thread.
    """

    def __init__(self, count: int, *, prepare: Callable[[], object]) -> None:
        self._prepare = prepare
        self._threads = ThreadPoolExecutor(count, "workers")
        self._lock = threading.Lock()
        self._starting = threading.Lock()
        self._idle: list[_Process] = []
        self._all: set[_Process | _Template] = set()
        self._closed = False
        self._copied = count > 1 and sys.platform == "linux"
        self._template: _Template | None = None
        weakref.finalize(self, _kill, self._all)

    def submit(self, call: Callable[P, R], /, *args: P.args, **keywords: P.kwargs) -> "Future[R]":
        """Call a function there; RuntimeError after `shutdown`."""
        return self._threads.submit(self._run, call, args, keywords)

    def shutdown(self, *, wait: bool = True) -> None:
        """Finish all calls and end the processes; with `wait` false, end them now and drop the calls."""
        if not wait:
            with self._lock:
                self._closed = True
            self._threads.shutdown(wait=False, cancel_futures=True)
            _kill(self._all)
            return
        self._threads.shutdown(wait=True)
        with self._lock:
            self._closed = True
        _kill(self._all)

    def _run(self, call: Callable[..., R], args: tuple[Any, ...], keywords: dict[str, Any]) -> R:
        request = pickle.dumps((call, args, keywords))
        process = self._idle_process()
        try:
            if process is None:
                process = self._new_process()
            value: R = process.call(request)
        except _Raised as raised:
            raise raised.error from None
        except (OSError, EOFError, ValueError) as error:  # a closed pipe is a ValueError
            if process is not None:
                self._discard(process)
                process = None
            raise WorkerEnded("the process ended before its call returned") from error
        finally:
            if process is not None:
                with self._lock:
                    self._idle.append(process)
        return value

    def _idle_process(self) -> "_Process | None":
        """A process that has nothing to do."""
        with self._lock:
            if self._closed:
                raise WorkerEnded("the processes were ended")
            process = self._idle.pop() if self._idle else None
        if process is None or process.alive:
            return process
        self._discard(process)  # ended by the system while it had nothing to do
        return None

    def _new_process(self) -> "_Process":
        """One more process that has run `prepare`."""
        if (copy := self._copy()) is not None:
            return self._tracked(copy)
        try:
            made = _fresh()
        except OSError as error:
            raise WorkerEnded(f"the process cannot be started ({error})") from error
        process = self._tracked(made)
        try:
            process.call(pickle.dumps((self._prepare, (), {})))
        except BaseException:  # what `prepare` raised too: no call may run without it
            self._discard(process)
            raise
        return process

    def _copy(self) -> "_Process | None":
        """A copy of the process that has prepared; None where there can be none."""
        with self._starting:
            try:
                if self._copied and self._template is None:
                    self._template = self._tracked(_Template())
                    self._template.prepare(self._prepare)
                return self._template.copy() if self._copied and self._template is not None else None
            except (OSError, EOFError):
                self._copied = False  # it ended, or this system has no handles of processes
                return None

    def _tracked(self, process: "_Kind") -> "_Kind":
        """Remember a process, so that it ends with the others."""
        with self._lock:
            self._all.add(process)
            closed = self._closed
        if closed:
            process.kill()
            raise EOFError
        return process

    def _discard(self, process: "_Process") -> None:
        with self._lock:
            self._all.discard(process)
        process.kill()


def _kill(processes: "set[_Process | _Template]") -> None:
    # The one that was copied ends last, as it counts what its copies took.
    for process in sorted(processes, key=lambda process: isinstance(process, _Template)):
        process.kill()


class _Raised(Exception):
    """A call raised an exception there."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error


class _Process:
    """An interpreter that makes one call after another."""

    def __init__(self, line: Connection, *, alive: Callable[[], bool], kill: Callable[[], None]) -> None:
        self._line, self._alive, self._kill = line, alive, kill

    def call(self, request: bytes) -> Any:
        """What a call returns; raises _Raised for its exception, OSError or EOFError if the process ends."""
        self._line.send_bytes(request)
        returned, value = pickle.loads(self._line.recv_bytes())  # noqa: S301 -- our own process made it
        if not returned:
            raise _Raised(value)
        return value

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._alive()

    def kill(self) -> None:
        """End it at once; a call that waits for it ends with EOFError, and closes the line."""
        self._kill()


def _line() -> tuple[Connection, socket.socket]:
    """Both ends of a line to a process: ours, and the one that it gets."""
    ours, theirs = socket.socketpair()
    return Connection(ours.detach()), theirs


def _interpreter(entry: str, line: socket.socket) -> "subprocess.Popen[bytes]":
    """A fresh interpreter with its end of a line as standard input."""
    paths = [os.path.abspath(path) for path in sys.path if isinstance(path, str)]
    return subprocess.Popen(
        [sys.executable, "-c", _START.format(entry=entry), *paths],
        stdin=line.fileno(),
        stdout=subprocess.DEVNULL,
    )


def _fresh() -> _Process:
    line, theirs = _line()
    with theirs:
        process = _interpreter(serve.__name__, theirs)

    def kill() -> None:
        process.kill()
        process.wait()

    return _Process(line, alive=lambda: process.poll() is None, kill=kill)


class _Template:
    """A fresh interpreter that only prepares; others start as copies of it."""

    def __init__(self) -> None:
        self._line, theirs = socket.socketpair()
        with theirs:
            self._process = _interpreter(copy_itself.__name__, theirs)
        self._connection = Connection(os.dup(self._line.fileno()))
        self._ready = False

    def prepare(self, call: Callable[[], object]) -> None:
        """Make a call there; raises OSError or EOFError if it fails."""
        self._connection.send(call)
        self._ready = bool(self._connection.recv())

    def copy(self) -> _Process:
        """A copy of it; raises OSError or EOFError if that cannot be had."""
        line, theirs = _line()
        try:
            with theirs:
                socket.send_fds(self._line, [b"c"], [theirs.fileno()])
            handle = _Handle(self._connection.recv())
        except BaseException:
            line.close()
            raise
        return _Process(line, alive=lambda: handle.alive, kill=handle.kill)

    def kill(self) -> None:
        """End it; its copies go on."""
        with suppress(OSError):
            self._line.shutdown(socket.SHUT_RDWR)
        if self._ready:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_ENDS_S)
        self._process.kill()
        self._process.wait()
        self._line.close()


class _Handle:
    """A process that is not our child, by a descriptor: its number may be that of another one later."""

    def __init__(self, pid: int) -> None:
        self._descriptor = [os.pidfd_open(pid)]

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return any(not _ended(descriptor, 0) for descriptor in self._descriptor)

    def kill(self) -> None:
        """End it at once."""
        with suppress(IndexError):
            descriptor = self._descriptor.pop()
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            _ended(descriptor, None)
            os.close(descriptor)


def _ended(descriptor: int, timeout_ms: int | None) -> bool:
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    return bool(waiting.poll(timeout_ms))


def _own_line() -> int:
    """The line that this process got as standard input; what a call reads or prints is elsewhere then."""
    line = os.dup(0)
    with open(os.devnull, "r+b") as nothing:
        os.dup2(nothing.fileno(), 0)
        os.dup2(nothing.fileno(), 1)
    return line


def copy_itself() -> None:
    """Prepare as the line says, and make a copy of this process for each line that comes over it."""
    line = socket.socket(fileno=_own_line())
    connection = Connection(os.dup(line.fileno()))
    connection.recv()()
    signal.signal(signal.SIGCHLD, _reap)
    connection.send(True)
    while True:
        asked, lines, *_ = socket.recv_fds(line, 1, 1)
        if not asked:  # the parent has ended, or ends this one
            _reap()
            os._exit(0)
        if (pid := os.fork()) == 0:
            connection.close()
            line.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.dup2(lines[0], 0)
            os.close(lines[0])
            serve()
            os._exit(0)
        os.close(lines[0])
        connection.send(pid)


def serve() -> None:
    """Make the calls that come over the line, until it ends: then the parent has ended."""
    line = Connection(_own_line())
    waiting: SimpleQueue[bytes] = SimpleQueue()

    def read() -> None:
        with suppress(EOFError, OSError):
            while True:
                waiting.put(line.recv_bytes())
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    with suppress(OSError):
        while True:
            line.send_bytes(_answer(waiting.get()))


def _reap(*_: object) -> None:
    """Count what copies took that have ended, and leave nothing of them behind."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass


def _answer(request: bytes) -> bytes:
    try:
        call, args, keywords = pickle.loads(request)  # noqa: S301 -- the parent made it
        return pickle.dumps((True, call(*args, **keywords)))
    except Exception as error:
        try:
            pickle.loads(told := pickle.dumps((False, error)))  # noqa: S301 -- whether the parent can read it
        except Exception:
            told = pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")))
        return told
