"""One request in the engine: which ids it samples, in steps, and when it ends. No sockets, no clock.

The rules of stopping are the engine's in vLLM too: end of text, the request's stop ids, the token budget and
the length of the context; a step that meets one of them is cut behind the token. Stop strings are the API
server's.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Final

from inspector.lab.standin.layouts import Layout
from inspector.lab.standin.steps import Happening, Schedule
from inspector.protocol.harmony.vocab import Marker

_DEFAULT_MAX_TOKENS: Final = 16
_FINAL_ONLY: Final = 2


class Finish(IntEnum):
    """vLLM's numbers for the end of a request."""

    STOP = 0
    LENGTH = 1
    ABORT = 2
    ERROR = 3


_ENDS: Final = {
    Happening.ABORT: Finish.ABORT,
    Happening.LENGTH: Finish.LENGTH,
    Happening.ERROR: Finish.ERROR,
}


@dataclass(frozen=True, slots=True)
class Step:
    """What one step of the engine brings for one request."""

    ids: tuple[int, ...]
    finish: Finish | None = None
    stop_reason: int | None = None


@dataclass(slots=True, kw_only=True)
class Generation:
    """One request and how far it is."""

    request_id: str
    tokens: Sequence[int]
    """What is sampled; after the last one the model would say return."""
    schedule: Schedule
    client: int = 0
    script: str = ""
    """What the prompt asked for."""
    eos: int | None = Marker.RETURN.value
    stop_ids: frozenset[int] = frozenset()
    max_tokens: int = _DEFAULT_MAX_TOKENS
    min_tokens: int = 0
    room: int = 4096
    """Tokens that the context leaves after the prompt."""
    streamed: bool = True
    steps: list[tuple[int, ...]] = field(default_factory=list)
    """The steps that were made."""
    finish: Finish | None = None
    _sizes: Iterator[int] | None = None
    _at: int = 0

    def wait_ms(self) -> int:
        """Milliseconds that the schedule waits before the next step."""
        return sum(turn.ms for turn in self.schedule.at(len(self.steps) + 1))

    def dies(self) -> bool:
        """Whether the engine dies before the next step."""
        return any(turn.what is Happening.DIE for turn in self.schedule.at(len(self.steps) + 1))

    def next_step(self) -> Step:
        """Make the next step."""
        if self._sizes is None:
            self._sizes = self.schedule.sizes()
        ids: list[int] = []
        finish: Finish | None = None
        stop_reason: int | None = None
        for _ in range(next(self._sizes)):
            ids.append(self.tokens[self._at] if self._at < len(self.tokens) else Marker.RETURN.value)
            self._at += 1
            finish, stop_reason = self._ends(ids[-1])
            if finish is not None:
                break
        self.steps.append(tuple(ids))
        if finish is None:
            ends = [_ENDS[turn.what] for turn in self.schedule.at(len(self.steps)) if turn.what in _ENDS]
            finish = ends[0] if ends else None
        self.finish = finish
        return Step(tuple(ids), finish, stop_reason)

    def _ends(self, token_id: int) -> tuple[Finish | None, int | None]:
        if self._at >= self.min_tokens:
            if token_id == self.eos:
                return Finish.STOP, None
            if token_id in self.stop_ids:
                return Finish.STOP, token_id
        if self._at >= min(self.max_tokens, self.room):
            return Finish.LENGTH, None
        return None, None


def generation_of(
    row: Sequence[Any],
    layout: Layout,
    *,
    tokens: Sequence[int],
    script: str,
    schedule: Schedule,
    max_model_len: int,
) -> Generation:
    """A request as the API server sent it; what its parameters leave out has vLLM's default."""
    params: Mapping[str, Any] = layout.value(row, "sampling_params") or {}
    # In the request's own field up to 0.14, among the parameters from 0.18.
    eos = params.get("_eos_token_id", layout.value(row, "eos_token_id"))
    return Generation(
        request_id=str(layout.value(row, "request_id")),
        tokens=tokens,
        schedule=schedule,
        client=int(layout.value(row, "client_index") or 0),
        script=script,
        eos=None if params.get("ignore_eos") else eos,
        stop_ids=frozenset(params.get("stop_token_ids") or ()),
        max_tokens=int(params.get("max_tokens") or _DEFAULT_MAX_TOKENS),
        min_tokens=int(params.get("min_tokens") or 0),
        room=max_model_len - len(layout.value(row, "prompt_token_ids") or ()),
        streamed=params.get("output_kind", 0) != _FINAL_ONLY,
    )
