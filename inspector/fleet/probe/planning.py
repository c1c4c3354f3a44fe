"""A probe as a person asks for it, made ready: servers say what they are, prompts are rendered."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from inspector.capture.capture import Endpoint
from inspector.capture.errors import InspectorError
from inspector.fleet.probe.asks import asks_of
from inspector.fleet.probe.loads import Budget, Load, Sweep
from inspector.fleet.probe.mix import Ask, Mix
from inspector.fleet.probe.prompts import Prompt
from inspector.fleet.probe.running import Probe
from inspector.fleet.probe.sending import Side, side_of
from inspector.fleet.probe.shelf import ProbeShelf
from inspector.net.client.address import Server
from inspector.net.client.request import LiveRequest

SWEEP_WARM_UP: Final = 5
"""Requests before a sweep: a loss of a server that has just started would decide its first load."""
_WARM_UP_AT_MOST: Final = 10_000
_SAMPLING: Final = (
    "reasoning_effort",
    "max_tokens",
    "temperature",
    "top_p",
    "seed",
    "logprobs",
    "token_ids",
    "background",
)
"""Parameters of a request that hold no text of a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to probe and how. Raises InspectorError for what excludes each other."""

    servers: Sequence[tuple[Server, str]]
    """One server, or two to compare, each with a model; an empty name is the first model that it lists."""
    endpoints: Sequence[Endpoint]
    prompts: Sequence[Prompt] = ()
    scripted: Sequence[Ask] = ()
    """Requests that are ready: the lab's scripts."""
    controls: Mapping[str, Ask] = field(default_factory=dict)
    """Completions requests of `scripted`, by label."""
    like: LiveRequest | None = None
    """The sampling and the tools."""
    control: float = 0.0
    unstreamed: float = 0.0
    load: Load
    budget: Budget
    sweep: Sweep | None = None
    folder: Path | None = None
    """Where rows and captures go; a run that is there goes on."""
    keep_clean: float = 0.0
    redact: bool = False
    """Whether rows and captures are written without the text of prompts and responses."""
    warm_up: int = 0
    """Requests that are sent first, one after the other, and not counted."""

    def __post_init__(self) -> None:
        if not 1 <= len(self.servers) <= 2:
            raise InspectorError(f"{len(self.servers)} servers cannot be probed together; name one or two")
        if self.sweep is not None and (len(self.servers) > 1 or self.load.rate is not None):
            raise InspectorError(
                "a sweep tests one server and sets the load itself; remove the second server or the rate"
            )
        if not 0 <= self.warm_up <= _WARM_UP_AT_MOST:
            raise InspectorError(
                f"invalid warm-up: {self.warm_up}; choose 0 to {_WARM_UP_AT_MOST:,} requests"
            )
        if not (self.prompts or self.scripted):
            raise InspectorError("nothing to send; pass a prompt, a file of prompts, or a script")

    async def prepared(self) -> Probe:
        """The probe, ready to run; raises ConnectionFailed when a server cannot be asked."""
        names = ["A", "B"] if len(self.servers) == 2 else [""]
        sides = [
            await side_of(server, model, name=name)
            for name, (server, model) in zip(names, self.servers, strict=True)
        ]
        prompts = distinct(self.prompts)
        if self.redact:
            prompts = [replace(one, label=f"prompt {number}") for number, one in enumerate(prompts, 1)]
        asks = await asks_of(prompts, self.endpoints, sides[0], like=self.like)
        controls = dict(self.controls)
        if self.control:
            raw = await asks_of(prompts, [Endpoint.COMPLETIONS], sides[0], like=self.like)
            controls |= {ask.label: ask for ask in raw}
        mix = Mix(
            asks=[*asks, *self.scripted], controls=controls, control=self.control, unstreamed=self.unstreamed
        )
        shelf = None
        if self.folder is not None:
            shelf = ProbeShelf(
                self.folder, self._told(sides, mix), keep_clean=self.keep_clean, redact=self.redact
            )
        return Probe(sides, mix, self.load, self.budget, sweep=self.sweep, shelf=shelf, warm_up=self.warm_up)

    def _told(self, sides: Sequence[Side], mix: Mix) -> dict[str, Any]:
        """What makes two runs the same one; the budget may grow."""
        return {
            "format": 1,
            "servers": [[side.server.v1, side.model] for side in sides],
            "versions": [side.version for side in sides],
            "requests": self._shape() if self.redact else self._digest(),
            "control": mix.control,
            "unstreamed": mix.unstreamed,
            "concurrency": self.load.concurrency,
            "rate": self.load.rate,
            **({"redacted": True} if self.redact else {}),
            "sweep": None if self.sweep is None else [self.sweep.limit, self.sweep.smallest],
        }

    def _digest(self) -> str:
        # Not of the bodies: a server that renders the prompt writes the day into it.
        asked = [
            [asdict(prompt) for prompt in self.prompts],
            [endpoint.value for endpoint in self.endpoints],
            [[ask.label, ask.endpoint.value] for ask in self.scripted],
            None if self.like is None else asdict(replace(self.like, model="")),
        ]
        return hashlib.sha256(json.dumps(asked, sort_keys=True, default=list).encode()).hexdigest()

    def _shape(self) -> dict[str, Any]:
        """What is asked, without its text: by a digest of it, anyone could test guesses."""
        return {
            "prompts": len(self.prompts),
            "endpoints": [endpoint.value for endpoint in self.endpoints],
            "scripts": [[ask.label, ask.endpoint.value] for ask in self.scripted],
            "sampling": None if self.like is None else {key: getattr(self.like, key) for key in _SAMPLING},
        }


def distinct(prompts: Sequence[Prompt]) -> list[Prompt]:
    """Prompts with a label of their own each: rows and controls name them by it."""
    seen: dict[str, int] = {}
    found = []
    for prompt in prompts:
        seen[prompt.label] = times = seen.get(prompt.label, 0) + 1
        found.append(prompt if times == 1 else replace(prompt, label=f"{prompt.label} ({times})"))
    return found
