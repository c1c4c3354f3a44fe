"""Coroutines that begin where bytes arrive, not in the next turn of the event loop.

A task that waits for bytes runs one turn after they came, which delays an event that comes alone. To pass it
on rarely takes a wait, so that begins in the call of the loop, and only what is left is for the task.
"""

from collections.abc import Coroutine, Generator
from typing import Any


class Begun:
    """A coroutine, run at once until it waits for something or ends; awaiting it does the rest.

    What it raises is raised where it is awaited. It must not depend on the current task.
    """

    def __init__(self, steps: Coroutine[Any, None, None]) -> None:
        self._steps = steps
        self._waits_for: Any = None
        self._error: Exception | None = None
        self.over = False
        """Whether it ended, and raised nothing."""
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
                self._go_on(error)
            else:
                self._go_on(None)

    def throw(self, error: BaseException) -> None:
        """Raise an error where it waits, such as the cancellation of its task; it may not wait again."""
        if not self.over and self._error is None:
            try:
                self._go_on(error)
            finally:
                self._steps.close()

    def _go_on(self, error: BaseException | None) -> None:
        try:
            self._waits_for = self._steps.send(None) if error is None else self._steps.throw(error)
        except StopIteration:
            self.over = True
