"""How many tokens each step of a stream has, and what happens to it on the way.

A schedule is written as one word: sizes, then what happens at which step.

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

RAGGED: Final = "ragged"
"""The schedule of speculative decoding with the seed that the matrix uses."""

UNSTREAMED: Final = "unstreamed"
"""Beside the schedules a condition of the matrix: the same requests without `stream`, one token per step."""

CONDITIONS: Final = ("1", "3", RAGGED, UNSTREAMED)
"""Of a release of the matrix on the stand-in engine."""

_SPECULATED: Final = 8
"""Most tokens of a ragged step."""

_BURST_EVERY: Final = 4

_SIZES: Final = re.compile(
    r"(?P<size>[1-9]\d{0,3})|ragged(?::(?P<seed>\d{1,9}))?|burst:(?P<burst>[1-9]\d{0,3})"
)
_TURN: Final = re.compile(
    r"(?:stall:(?P<ms>\d{1,6})|(?P<what>abort|length|error|die))@(?P<step>[1-9]\d{0,5})"
)


class Happening(StrEnum):
    """What can happen to a stream at a step."""

    STALL = "stall"
    ABORT = "abort"
    LENGTH = "length"
    ERROR = "error"
    DIE = "die"


@dataclass(frozen=True, slots=True)
class Turn:
    """Something that happens at one step, counted from 1."""

    what: Happening
    step: int
    ms: int = 0


@dataclass(frozen=True, slots=True)
class Schedule:
    """The sizes of a stream's steps, and what happens to it."""

    text: str
    size: int = 0
    """Of every step but the first; 0 where sizes vary."""
    seed: int | None = None
    burst: int = 0
    turns: tuple[Turn, ...] = ()

    def sizes(self) -> Iterator[int]:
        """Tokens of each step, without end; the same for every stream of this schedule."""
        yield 1
        draw = random.Random(self.seed)  # noqa: S311 -- sizes, no secret
        step = 1
        while True:
            step += 1
            if self.size:
                yield self.size
            elif self.burst:
                yield 1 if step % _BURST_EVERY else self.burst
            else:
                yield draw.randint(1, _SPECULATED)

    def at(self, step: int) -> tuple[Turn, ...]:
        """What happens at a step."""
        return tuple(turn for turn in self.turns if turn.step == step)


def check_condition(text: str) -> None:
    """Raise LabError for what is neither a schedule nor `unstreamed`."""
    if text != UNSTREAMED:
        schedule_of(text)


def schedule_of(text: str) -> Schedule:
    """Read a schedule; raises LabError that says what may be written."""
    sizes, *turns = text.split("+")
    found = _SIZES.fullmatch(sizes)
    read = [_TURN.fullmatch(turn) for turn in turns]
    if found is None or None in read:
        raise LabError(
            f"{text!r} is not a schedule of steps; use 3, ragged, ragged:7 or burst:16, and then, if wanted, "
            "+stall:500@4, +abort@4, +length@4, +error@4 or +die@4"
        )
    return Schedule(
        text=text,
        size=int(found["size"] or 0),
        seed=int(found["seed"] or 1) if sizes.startswith(RAGGED) else None,
        burst=int(found["burst"] or 0),
        turns=tuple(
            Turn(Happening(turn["what"] or "stall"), int(turn["step"]), int(turn["ms"] or 0))
            for turn in read
            if turn is not None
        ),
    )
