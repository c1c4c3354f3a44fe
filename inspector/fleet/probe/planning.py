"""From options to a probe that can run: servers report their versions, prompts are rendered."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from inspector.capture.capture import Endpoint
from inspector.capture.errors import InspectorError
from inspector.fleet.probe.loads import Budget, ProbeLoad, Sweep
from inspector.fleet.probe.mix import Mix, ProbeRequest
from inspector.fleet.probe.prompts import ProbePrompt
from inspector.fleet.probe.runner import Probe
from inspector.fleet.probe.sender import Target, target_of
from inspector.fleet.probe.shelf import ProbeShelf
from inspector.net.client.address import Server
from inspector.net.client.ground_truth import answer_room, rendered_prompt
from inspector.net.client.request import LiveRequest, body
from inspector.net.client.server_info import open_client
from inspector.protocol.wire.endpoints import spec_of

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
"""Parameters of a request without text of a user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to probe and how. Raises InspectorError for options that exclude each other."""

    servers: Sequence[tuple[Server, str]]
    """One server, or two to compare, each with a model; an empty name is the first model that it lists."""
    endpoints: Sequence[Endpoint]
    prompts: Sequence[ProbePrompt] = ()
    scripted: Sequence[ProbeRequest] = ()
    """Requests that are ready: the lab's scripts."""
    controls: Mapping[str, ProbeRequest] = field(default_factory=dict)
    """Completions requests of `scripted`, by label."""
    like: LiveRequest | None = None
    """The sampling and the tools."""
    control: float = 0.0
    unstreamed: float = 0.0
    load: ProbeLoad
    budget: Budget
    sweep: Sweep | None = None
    folder: Path | None = None
    """Folder of rows and captures; a run that is in it is resumed."""
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
        """The probe, ready to run; raises ConnectionFailed if a server cannot be reached."""
        names = ["A", "B"] if len(self.servers) == 2 else [""]
        targets = [
            await target_of(server, model, name=name)
            for name, (server, model) in zip(names, self.servers, strict=True)
        ]
        prompts = distinct(self.prompts)
        if self.redact:
            prompts = [replace(prompt, label=f"prompt {number}") for number, prompt in enumerate(prompts, 1)]
        requests = await probe_requests(prompts, self.endpoints, targets[0], like=self.like)
        controls = dict(self.controls)
        if self.control:
            raw = await probe_requests(prompts, [Endpoint.COMPLETIONS], targets[0], like=self.like)
            controls |= {request.label: request for request in raw}
        mix = Mix(
            requests=[*requests, *self.scripted],
            controls=controls,
            control=self.control,
            unstreamed=self.unstreamed,
        )
        shelf = None
        if self.folder is not None:
            shelf = ProbeShelf(
                self.folder, self._identity(targets, mix), keep_clean=self.keep_clean, redact=self.redact
            )
        return Probe(
            targets, mix, self.load, self.budget, sweep=self.sweep, shelf=shelf, warm_up=self.warm_up
        )

    def _identity(self, targets: Sequence[Target], mix: Mix) -> dict[str, Any]:
        """What must be equal for a run to resume an earlier one; the budget may differ."""
        return {
            "format": 1,
            "servers": [[target.server.v1, target.model] for target in targets],
            "versions": [target.version for target in targets],
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
        content = [
            [asdict(prompt) for prompt in self.prompts],
            [endpoint.value for endpoint in self.endpoints],
            [[request.label, request.endpoint.value] for request in self.scripted],
            None if self.like is None else asdict(replace(self.like, model="")),
        ]
        return hashlib.sha256(json.dumps(content, sort_keys=True, default=list).encode()).hexdigest()

    def _shape(self) -> dict[str, Any]:
        """The requests without their text; a digest of the text would allow to test guesses."""
        return {
            "prompts": len(self.prompts),
            "endpoints": [endpoint.value for endpoint in self.endpoints],
            "scripts": [[request.label, request.endpoint.value] for request in self.scripted],
            "sampling": None if self.like is None else {key: getattr(self.like, key) for key in _SAMPLING},
        }


def distinct(prompts: Sequence[ProbePrompt]) -> list[ProbePrompt]:
    """Prompts with unique labels, by which rows and controls name them."""
    counts: dict[str, int] = {}
    labelled = []
    for prompt in prompts:
        counts[prompt.label] = times = counts.get(prompt.label, 0) + 1
        labelled.append(prompt if times == 1 else replace(prompt, label=f"{prompt.label} ({times})"))
    return labelled


async def probe_requests(
    prompts: Sequence[ProbePrompt],
    endpoints: Sequence[Endpoint],
    target: Target,
    *,
    like: LiveRequest | None = None,
) -> list[ProbeRequest]:
    """The requests of prompts on endpoints; `like` has the sampling. Prompts for completions are rendered."""
    template = like or LiveRequest(model=target.model)
    requests: list[ProbeRequest] = []
    for endpoint in endpoints:
        for prompt in prompts:
            extra = {**template.extra, **prompt.extra}
            limit = extra.pop("max_tokens", template.max_tokens)  # each endpoint has a name of its own for it
            request = replace(
                template,
                max_tokens=limit if isinstance(limit, int) else None,
                model=target.model,
                endpoint=endpoint,
                prompt=prompt.text,
                messages=prompt.messages,
                tools=prompt.tools or template.tools,
                tool_choice=template.tool_choice if prompt.tool_choice is None else prompt.tool_choice,
                extra=extra,
            )
            if spec_of(endpoint).raw:
                request = await _rendered(request, target)
            requests.append(
                ProbeRequest(label=prompt.label, endpoint=endpoint, body=body(request, target.engine))
            )
    # Endpoints take turns, not one after the other: what changes with time changes for all of them.
    count = len(prompts)
    return [requests[place * count + number] for number in range(count) for place in range(len(endpoints))]


async def _rendered(request: LiveRequest, target: Target) -> LiveRequest:
    async with open_client(target.server) as plain:
        rendered = await rendered_prompt(target.server, request, plain)
        request = replace(request, prompt_ids=rendered.ids)
        if request.max_tokens is None:
            room = await answer_room(target.server, request, plain)
            request = replace(request, max_tokens=room or 4096)
    return request
