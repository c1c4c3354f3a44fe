"""Responses that the disk did not take, said at once and then each minute with their number."""

import errno
from collections import Counter
from collections.abc import Callable
from threading import Lock, Timer
from typing import Final

from inspector.capture.errors import InspectorError, StoreError
from inspector.capture.formats import count

EACH_S: Final = 60.0

_REASONS: Final = {
    errno.ENOSPC: "disk full",
    errno.EDQUOT: "disk full",
    errno.EFBIG: "file too large",
    errno.ENOENT: "folder removed",
    errno.ENOTDIR: "folder removed",
    errno.EMFILE: "too many open files",
    errno.ENFILE: "too many open files",
    errno.EACCES: "not permitted",
    errno.EPERM: "not permitted",
    errno.EROFS: "not permitted",
    errno.EIO: "disk error",
}


def reason_of(error: InspectorError) -> str:
    """Why a recording failed, as one of few labels."""
    code = error.errno if isinstance(error, StoreError) else None
    return "other" if code is None else _REASONS.get(code, "other")


def later(call: Callable[[], None]) -> None:
    """Make a call in a minute."""
    timer = Timer(EACH_S, call)
    timer.daemon = True
    timer.start()


class UnrecordedLog:
    """Says the first failure at once, and the number of further ones each minute while there are any.

    `later` makes a call in a minute. Every method may be called from any thread.
    """

    def __init__(
        self, say: Callable[[str], None], *, later: Callable[[Callable[[], None]], None] = later
    ) -> None:
        self._say = say
        self._later = later
        self._lock = Lock()
        self._reasons: Counter[str] = Counter()
        self._sentence = ""
        self._waits = False

    def add(self, error: InspectorError) -> None:
        """A response was not recorded."""
        with self._lock:
            self._reasons[reason_of(error)] += 1
            self._sentence = str(error)
            if self._waits:
                return
            self._waits = True
        self.flush()
        self._later(self._minute)

    def flush(self) -> None:
        """Say what was not said yet."""
        with self._lock:
            reasons, self._reasons = self._reasons, Counter()
            sentence = self._sentence
        if reasons:
            number = count(reasons.total(), "response")
            words = ", ".join(f"{reason}: {times:,}" for reason, times in reasons.most_common())
            self._say(f"{number} not recorded ({words}): {sentence}")

    def _minute(self) -> None:
        with self._lock:
            self._waits = bool(self._reasons)
        if self._waits:
            self.flush()
            self._later(self._minute)
