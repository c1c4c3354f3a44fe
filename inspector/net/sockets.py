r"""Listening sockets that send each write at once.

asyncio sets TCP_NODELAY only on sockets whose protocol number says TCP. `socket.socket()` and
`socket.create_server` leave that number 0, and Streamlit binds its port with the first, so a small write
waits for the client's acknowledgement of the one before. On Linux a request on a kept-alive connection then
takes 44 ms rather than 0.3 ms (medians of 40 requests, three starts each); a stream of events is not slower.
uvloop sets the option itself, so this shows only where it is not installed. To repeat it, take
`listening_without_delay()` out of app.py, start the dashboard without uvloop, and run

    curl -s -o /dev/null -w '%{time_total}\n' 'http://127.0.0.1:8501/_stcore/health?[1-40]'
"""

import asyncio
import errno
import os
import socket
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from math import inf
from typing import Any, Final

_OPEN: Final = "/dev/fd"
_EACH_S: Final = 60.0
"""Seconds between two lines about refused connections."""
_RETRY_S: Final = 2.0
"""asyncio listens again a second after a refused connection; what it logs until then repeats the refusal."""
_NO_ROOM: Final = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))
"""Why the system accepts no further connection."""


def without_delay(listening: socket.socket) -> None:
    """Make a listening TCP socket's connections send each write at once; they inherit the option."""
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def listening_without_delay() -> int:
    """Do so for every TCP socket that this process listens on; how many there are.

    For a server that binds its own port. On a system without /dev/fd it changes nothing.
    """
    changed = 0
    with suppress(OSError):
        for name in os.listdir(_OPEN):
            with suppress(OSError):  # closed since, or none that can be asked
                changed += _changed(int(name))
    return changed


def _changed(number: int) -> bool:
    if not stat.S_ISSOCK(os.fstat(number).st_mode):
        return False
    with socket.socket(fileno=os.dup(number)) as duplicate:
        tcp = duplicate.family in {socket.AF_INET, socket.AF_INET6} and duplicate.type == socket.SOCK_STREAM
        if not (tcp and duplicate.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)):
            return False
        without_delay(duplicate)
    return True


def say_once_that_none_is_accepted(
    say: Callable[[str], None], *, clock: Callable[[], float] = time.monotonic
) -> None:
    """Have the running loop say in one line a minute that it accepts no connections.

    asyncio logs a traceback for each of the 2,048 attempts that it makes in a second.
    """
    next_s, last_s = clock(), -inf

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        nonlocal next_s, last_s
        error, now_s = context.get("exception"), clock()
        if isinstance(error, ValueError) and now_s - last_s < _RETRY_S:
            return  # it tries again, once for each attempt, and the socket was closed meanwhile
        if "socket" not in context or not isinstance(error, OSError) or error.errno not in _NO_ROOM:
            loop.default_exception_handler(context)
            return
        last_s = now_s
        if now_s >= next_s:
            next_s = now_s + _EACH_S
            say(f"no new connection is accepted ({error.strerror}); raise the limit, e.g. ulimit -n 4096")

    asyncio.get_running_loop().set_exception_handler(handle)
