"""Schedules: the number of tokens of each engine step, and events such as stalls and aborts.

A schedule is one word: sizes, then events with their steps.

    3                  one token (the prefill), then 3 at a time, as `--stream-interval 3` does
    ragged:7           one token, then 1 to 8 drawn from seed 7, as with speculative decoding; seed 1 if none
    burst:16           one token at a time, and every fourth step has 16
    3+stall:500@4      500 ms pass before the fourth step
    3+abort@4          the fourth step is the last: finish reason abort; also length and error
    3+die@4            the engine dies before the fourth step
"""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from inspector.capture.errors import LabError
from inspector.matrix.results import UNSTREAMED

RAGGED: Final = "ragged"
"""The schedule of speculative decoding with the seed that the matrix uses."""


CONDITIONS: Final = ("1", "3", RAGGED, UNSTREAMED)
"""Default conditions of the matrix on the stand-in engine."""

_SPECULATED: Final = 8
"""Maximum tokens of a ragged step."""

_BURST_EVERY: Final = 4

_SIZES: Final = re.compile(
    r"(?P<size>[1-9]\d{0,3})|ragged(?::(?P<seed>\d{1,9}))?|burst:(?P<burst>[1-9]\d{0,3})"
)
_EVENT: Final = re.compile(
    r"(?:stall:(?P<ms>\d{1,6})|(?P<kind>abort|length|error|die))@(?P<step>[1-9]\d{0,5})"
)


class StepEventKind(StrEnum):
    """Kinds of events in a schedule."""

    STALL = "stall"
    ABORT = "abort"
    LENGTH = "length"
    ERROR = "error"
    DIE = "die"


@dataclass(frozen=True, slots=True)
class StepEvent:
    """An event at one step, counted from 1."""

    kind: StepEventKind
    step: int
    ms: int = 0


@dataclass(frozen=True, slots=True)
class Schedule:
    """The sizes of a stream's steps, and its events."""

    text: str
    size: int = 0
    """Tokens of every step but the first; 0 if sizes vary."""
    seed: int | None = None
    burst: int = 0
    events: tuple[StepEvent, ...] = ()

    def sizes(self) -> Iterator[int]:
        """Tokens of each step, endless; the same for every stream of this schedule."""
        yield 1
        draw = random.Random(self.seed)  # noqa: S311 -- sizes, not secrets
        step = 1
        while True:
            step += 1
            if self.size:
                yield self.size
            elif self.burst:
                yield 1 if step % _BURST_EVERY else self.burst
            else:
                yield draw.randint(1, _SPECULATED)

    def at(self, step: int) -> tuple[StepEvent, ...]:
        """The events at a step."""
        return tuple(event for event in self.events if event.step == step)


def check_condition(text: str) -> None:
    """Raise LabError for text that is neither a schedule nor `unstreamed`."""
    if text != UNSTREAMED:
        schedule_of(text)


def schedule_of(text: str) -> Schedule:
    """Parse a schedule; the LabError for other text names the syntax."""
    sizes, *event_texts = text.split("+")
    size_match = _SIZES.fullmatch(sizes)
    event_matches = [_EVENT.fullmatch(event) for event in event_texts]
    if size_match is None or None in event_matches:
        raise LabError(
            f"{text!r} is not a schedule of steps; use 3, ragged, ragged:7 or burst:16, and then, if wanted, "
            "+stall:500@4, +abort@4, +length@4, +error@4 or +die@4"
        )
    return Schedule(
        text=text,
        size=int(size_match["size"] or 0),
        seed=int(size_match["seed"] or 1) if sizes.startswith(RAGGED) else None,
        burst=int(size_match["burst"] or 0),
        events=tuple(
            StepEvent(StepEventKind(event["kind"] or "stall"), int(event["step"]), int(event["ms"] or 0))
            for event in event_matches
            if event is not None
        ),
    )
