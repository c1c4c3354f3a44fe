"""Calls in processes of their own, which do not run the program that makes the calls.

A process that `multiprocessing` spawns imports the main module of its parent. A script without
`if __name__ == "__main__"` then runs a second time; in the dashboard that script is the page that ran last.
The processes here are fresh interpreters: they import this module and what the calls need. They end with
their parent, however it ends.
"""

import os
import pickle
import struct
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from queue import SimpleQueue
from typing import IO, Any, Final, ParamSpec, TypeVar

__all__ = ["WorkerEnded", "Workers", "serve"]

P = ParamSpec("P")
R = TypeVar("R")

_START: Final = (
    "import sys; sys.path[:] = sys.argv[1:]; del sys.argv[1:]; "
    "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); "
    "from inspector.workers import serve; serve()"
)
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
        self._idle: list[_Process] = []
        self._all: set[_Process] = set()
        self._closed = False
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
        with self._lock:
            if self._closed:
                raise WorkerEnded("the processes were ended")
            process = self._idle.pop() if self._idle else None
            if process is not None and not process.alive:  # ended by the system while it had nothing to do
                self._all.discard(process)
                process.kill()
                process = None
            fresh = process is None
            if process is None:
                try:
                    process = _Process()
                except OSError as error:
                    raise WorkerEnded(f"the process cannot be started ({error})") from error
                self._all.add(process)
        try:
            if fresh:
                process.ask(pickle.dumps((self._prepare, (), {})))
            value: R = process.ask(question)
        except _Raised as raised:
            raise raised.error from None
        except (OSError, EOFError, ValueError) as error:  # a closed pipe is a ValueError
            with self._lock:
                self._all.discard(process)
            process.kill()
            process = None
            raise WorkerEnded("the process ended before its call returned") from error
        finally:
            if process is not None:
                with self._lock:
                    self._idle.append(process)
        return value


def _kill(processes: "set[_Process]") -> None:
    for one in list(processes):
        one.kill()


class _Raised(Exception):
    """A call raised an exception there."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error


class _Process:
    """A fresh interpreter that makes one call after another."""

    def __init__(self) -> None:
        paths = [os.path.abspath(one) for one in sys.path if isinstance(one, str)]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START, *paths], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

        assert self._process.stdin is not None  # noqa: S101 -- pipes, as asked for
        assert self._process.stdout is not None  # noqa: S101
        self._questions, self._answers = self._process.stdin, self._process.stdout

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
        return self._process.poll() is None

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()
        self._process.wait()
        self._answers.close()
        with suppress(OSError):  # what was not sent cannot be sent
            self._questions.close()


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
