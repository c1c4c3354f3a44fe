"""Local files of a scan, opened and read without waiting: one file may not hold up thousands.

Files of the kernel, such as /proc/kmsg, are regular files of no size whose read waits for what comes next.
"""

import errno
import os
import stat
from io import BufferedReader


def open_at_once(path: str) -> BufferedReader:
    """A regular file, open for reading; raises OSError for any other, also for a pipe that nobody writes."""
    file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115 -- the caller closes it
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is not a regular file")
    return file


def read_at_once(file: BufferedReader, limit_bytes: int) -> bytes:
    """What a file holds, at most `limit_bytes`; raises OSError where a read would wait."""
    # Room for the largest file would cost more than reading a usual one.
    size = os.fstat(file.fileno()).st_size
    content: bytes | None = file.read(min(size + 1, limit_bytes))
    if content is None:
        raise OSError(errno.EAGAIN, "it has no content yet, and reading it would wait")
    if size < len(content) < limit_bytes:
        content += file.read(limit_bytes - len(content)) or b""
    return content


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)
