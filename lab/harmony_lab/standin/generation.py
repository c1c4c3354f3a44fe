"""One request in the engine: the tokens that it samples, in steps, and when it ends. No sockets, no clock.

It stops as vLLM's engine does: at the end token, a stop token of the request, the token budget or the context
length; the step is cut after that token. Stop strings are the API server's task.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Final

from harmony_lab.standin.layouts import Layout
from harmony_lab.standin.steps import Schedule, StepEventKind
from inspector.protocol.harmony.vocab import Marker

_DEFAULT_MAX_TOKENS: Final = 16
_FINAL_ONLY: Final = 2


class Finish(IntEnum):
    """Finish reasons with vLLM's numbers."""

    STOP = 0
    LENGTH = 1
    ABORT = 2
    ERROR = 3


_ENDS: Final = {
    StepEventKind.ABORT: Finish.ABORT,
    StepEventKind.LENGTH: Finish.LENGTH,
    StepEventKind.ERROR: Finish.ERROR,
}


@dataclass(frozen=True, slots=True)
class EngineStep:
    """The output of one engine step for one request."""

    ids: tuple[int, ...]
    finish: Finish | None = None
    stop_reason: int | None = None


@dataclass(slots=True, kw_only=True)
class Generation:
    """One request and its progress."""

    request_id: str
    tokens: Sequence[int]
    """The tokens to sample; the return token follows the last one."""
    schedule: Schedule
    client: int = 0
    script: str = ""
    """The script that the prompt names."""
    eos: int | None = Marker.RETURN.value
    stop_ids: frozenset[int] = frozenset()
    max_tokens: int = _DEFAULT_MAX_TOKENS
    min_tokens: int = 0
    room: int = 4096
    """Tokens that the context leaves after the prompt."""
    streamed: bool = True
    steps: list[tuple[int, ...]] = field(default_factory=list)
    """The steps so far."""
    finish: Finish | None = None
    _sizes: Iterator[int] | None = None
    _at: int = 0

    def wait_ms(self) -> int:
        """Milliseconds that the schedule waits before the next step."""
        return sum(event.ms for event in self.schedule.at(len(self.steps) + 1))

    def dies(self) -> bool:
        """Whether the engine dies before the next step."""
        return any(event.kind is StepEventKind.DIE for event in self.schedule.at(len(self.steps) + 1))

    def next_step(self) -> EngineStep:
        """Sample the next step."""
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
            ends = [_ENDS[event.kind] for event in self.schedule.at(len(self.steps)) if event.kind in _ENDS]
            finish = ends[0] if ends else None
        self.finish = finish
        return EngineStep(tuple(ids), finish, stop_reason)

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
    """A request as the API server sent it; missing parameters have vLLM's defaults."""
    params: Mapping[str, Any] = layout.value(row, "sampling_params") or {}
    # A field of the request up to 0.14, a sampling parameter from 0.18.
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
