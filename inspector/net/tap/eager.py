"""Coroutines that begin in the call of the event loop that has the bytes, not in its next turn.

A task that waits for bytes runs one turn after they came, which delays an event that comes alone. Passing an
event on rarely has to wait. So it begins at once, and the task does only what is left.
"""

from collections.abc import Coroutine, Generator
from typing import Any


class EagerCoroutine:
    """Runs a coroutine at once until it waits or ends; awaiting this object does the rest.

    What it raises is raised where it is awaited. It must not depend on the current task.
    """

    def __init__(self, steps: Coroutine[Any, None, None]) -> None:
        self._steps = steps
        self._waits_for: Any = None
        self._error: Exception | None = None
        self.over = False
        """Whether it ended without raising."""
        try:
            self._waits_for = steps.send(None)
        except StopIteration:
            self.over = True
        except Exception as error:
            self._error = error

    def __await__(self) -> Generator[Any, None, None]:
        if self._error is not None:
            raise self._error
        while not self.over:
            try:
                yield self._waits_for
            except BaseException as error:
                self._resume(error)
            else:
                self._resume(None)

    def throw(self, error: BaseException) -> None:
        """Raise an error where it waits, such as the cancellation of its task; it may not wait again."""
        if not self.over and self._error is None:
            try:
                self._resume(error)
            finally:
                self._steps.close()

    def _resume(self, error: BaseException | None) -> None:
        try:
            self._waits_for = self._steps.send(None) if error is None else self._steps.throw(error)
        except StopIteration:
            self.over = True
