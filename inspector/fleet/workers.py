"""Calls in processes of their own, which do not run the program that makes the calls.

A process that `multiprocessing` spawns imports the main module of its parent. A script without
`if __name__ == "__main__"` then runs a second time; in the dashboard that script is the page that ran last.
The processes here are fresh interpreters: they import this module and what the calls need. They end with
their parent, however it ends.

Where several are wanted on Linux, one only prepares, and the others are copies of it (`os.fork`, in a process
without threads): importing and preparing would take a second each time.
"""

import os
import pickle
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from queue import SimpleQueue
from typing import IO, Any, Final, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
_Kind = TypeVar("_Kind", "_Process", "_Original")

_START: Final = (
    "import sys; sys.path[:] = sys.argv[1:]; del sys.argv[1:]; "
    "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); "
    "from inspector.fleet.workers import {entry}; {entry}()"
)
_READY: Final = b"+"
_COPY: Final = b"c"
_PID: Final = struct.Struct("<Q")
_ENDS_S: Final = 5.0
_LENGTH: Final = struct.Struct("<Q")


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
        self._all: set[_Process | _Original] = set()
        self._closed = False
        self._copied = count > 1 and sys.platform == "linux"
        self._original: _Original | None = None
        weakref.finalize(self, _kill, self._all)

    def submit(self, call: Callable[P, R], /, *args: P.args, **keywords: P.kwargs) -> "Future[R]":
        """Call a function there; RuntimeError after `shutdown`."""
        return self._threads.submit(self._asked, call, args, keywords)

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

    def _asked(self, call: Callable[..., R], args: tuple[Any, ...], keywords: dict[str, Any]) -> R:
        question = pickle.dumps((call, args, keywords))
        process = self._free()
        try:
            if process is None:
                process = self._started()
            value: R = process.ask(question)
        except _Raised as raised:
            raise raised.error from None
        except (OSError, EOFError, ValueError) as error:  # a closed pipe is a ValueError
            if process is not None:
                self._forget(process)
                process = None
            raise WorkerEnded("the process ended before its call returned") from error
        finally:
            if process is not None:
                with self._lock:
                    self._idle.append(process)
        return value

    def _free(self) -> "_Process | None":
        """A process that has nothing to do."""
        with self._lock:
            if self._closed:
                raise WorkerEnded("the processes were ended")
            process = self._idle.pop() if self._idle else None
        if process is None or process.alive:
            return process
        self._forget(process)  # ended by the system while it had nothing to do
        return None

    def _started(self) -> "_Process":
        """One more process that has run `prepare`."""
        if (copy := self._copy()) is not None:
            return self._kept(copy)
        try:
            made = _fresh()
        except OSError as error:
            raise WorkerEnded(f"the process cannot be started ({error})") from error
        process = self._kept(made)
        try:
            process.ask(pickle.dumps((self._prepare, (), {})))
        except BaseException:  # what `prepare` raised too: no call may run without it
            self._forget(process)
            raise
        return process

    def _copy(self) -> "_Process | None":
        """A copy of the process that has prepared; None where there can be none."""
        with self._starting:
            try:
                if self._copied and self._original is None:
                    self._original = self._kept(_Original())
                    self._original.prepare(self._prepare)
                return self._original.copy() if self._copied and self._original is not None else None
            except (OSError, EOFError):
                self._copied = False  # it ended, or this system has no handles of processes
                return None

    def _kept(self, process: "_Kind") -> "_Kind":
        """Remember a process, so that it ends with the others."""
        with self._lock:
            self._all.add(process)
            closed = self._closed
        if closed:
            process.kill()
            raise EOFError
        return process

    def _forget(self, process: "_Process") -> None:
        with self._lock:
            self._all.discard(process)
        process.kill()


def _kill(processes: "set[_Process | _Original]") -> None:
    # The one that was copied ends last, as it counts what its copies took.
    for one in sorted(processes, key=lambda one: isinstance(one, _Original)):
        one.kill()


class _Raised(Exception):
    """A call raised an exception there."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error


class _Process:
    """An interpreter that makes one call after another."""

    def __init__(
        self,
        questions: IO[bytes],
        answers: IO[bytes],
        *,
        alive: Callable[[], bool],
        kill: Callable[[], None],
    ) -> None:
        self._questions, self._answers = questions, answers
        self._alive, self._kill = alive, kill

    def ask(self, question: bytes) -> Any:
        """What a call returns; raises _Raised for its exception, OSError or EOFError if the process ends."""
        _write(self._questions, question)
        returned, value = pickle.loads(_read(self._answers))  # noqa: S301 -- our own process made it
        if not returned:
            raise _Raised(value)
        return value

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._alive()

    def kill(self) -> None:
        """End it at once."""
        self._kill()
        self._answers.close()
        with suppress(OSError):  # what was not sent cannot be sent
            self._questions.close()


def _interpreter(entry: str, **streams: Any) -> "subprocess.Popen[bytes]":
    paths = [os.path.abspath(one) for one in sys.path if isinstance(one, str)]
    return subprocess.Popen([sys.executable, "-c", _START.format(entry=entry), *paths], **streams)


def _fresh() -> _Process:
    process = _interpreter(serve.__name__, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None  # noqa: S101 -- pipes, as asked for
    assert process.stdout is not None  # noqa: S101

    def kill() -> None:
        process.kill()
        process.wait()

    return _Process(process.stdin, process.stdout, alive=lambda: process.poll() is None, kill=kill)


class _Original:
    """A fresh interpreter that only prepares; others start as copies of it."""

    def __init__(self) -> None:
        self._line, theirs = socket.socketpair()
        with theirs:
            self._process = _interpreter(copy_itself.__name__, stdin=theirs)
        self._ready = False

    def prepare(self, call: Callable[[], object]) -> None:
        """Make a call there; raises OSError or EOFError if it fails."""
        with self._line.makefile("wb") as stream:
            _write(stream, pickle.dumps(call))
        if self._line.recv(1) != _READY:
            raise EOFError
        self._ready = True

    def copy(self) -> _Process:
        """A copy of it; raises OSError or EOFError if that cannot be had."""
        with ExitStack() as theirs, ExitStack() as ours:
            pipes = []
            for mine in (1, 0):
                ends = os.pipe()
                ours.callback(os.close, ends[mine])
                theirs.callback(os.close, ends[1 - mine])
                pipes.append(ends)
            [[read, questions], [answers, write]] = pipes
            socket.send_fds(self._line, [_COPY], [read, write])
            told = self._line.recv(_PID.size)
            if len(told) < _PID.size:
                raise EOFError
            handle = _Handle(*_PID.unpack(told))
            ours.pop_all()
        streams = os.fdopen(questions, "wb"), os.fdopen(answers, "rb")
        return _Process(*streams, alive=lambda: handle.alive, kill=handle.kill)

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
        return any(not _ended(one, 0) for one in self._descriptor)

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


def _write(stream: IO[bytes], content: bytes) -> None:
    stream.write(_LENGTH.pack(len(content)))
    stream.write(content)
    stream.flush()


def _read(stream: IO[bytes]) -> bytes:
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    [length] = _LENGTH.unpack(head)
    content = stream.read(length)
    if len(content) < length:
        raise EOFError
    return content


def copy_itself() -> None:
    """Prepare as standard input says, and make a copy of this process for each two pipes that come there."""
    line = socket.socket(fileno=os.dup(0))
    with open(os.devnull, "r+b") as nothing:
        os.dup2(nothing.fileno(), 0)
        os.dup2(nothing.fileno(), 1)
    with line.makefile("rb") as stream:
        prepare = pickle.loads(_read(stream))  # noqa: S301 -- the parent made it
    prepare()
    signal.signal(signal.SIGCHLD, _reap)
    line.sendall(_READY)
    while True:
        told, pipes, *_ = socket.recv_fds(line, len(_COPY), 2)
        if not told:  # the parent has ended, or ends this one
            _reap()
            os._exit(0)
        if (pid := os.fork()) == 0:
            line.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for standard, pipe in enumerate(pipes):
                os.dup2(pipe, standard)
                os.close(pipe)
            serve()
            os._exit(0)
        for pipe in pipes:
            os.close(pipe)
        line.sendall(_PID.pack(pid))


def serve() -> None:
    """Make the calls that come on standard input, until it ends: then the parent has ended."""
    calls, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with open(os.devnull, "r+b") as nothing:  # what a call prints is no answer
        os.dup2(nothing.fileno(), 0)
        os.dup2(nothing.fileno(), 1)
    waiting: SimpleQueue[bytes] = SimpleQueue()

    def read() -> None:
        with suppress(EOFError, OSError):
            while True:
                waiting.put(_read(calls))
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    with suppress(OSError):
        while True:
            _write(answers, _answer(waiting.get()))


def _reap(*_: object) -> None:
    """Count what copies took that have ended, and leave nothing of them behind."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass


def _answer(question: bytes) -> bytes:
    try:
        call, args, keywords = pickle.loads(question)  # noqa: S301 -- the parent made it
        return pickle.dumps((True, call(*args, **keywords)))
    except Exception as error:
        try:
            pickle.loads(told := pickle.dumps((False, error)))  # noqa: S301 -- whether the parent can read it
        except Exception:
            told = pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")))
        return told
