"""The requests of a probe, and which of them is the n-th.

The n-th request is always the same, so a resumed run sends what is missing, and two servers get equal
requests.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from inspector.capture.capture import Endpoint
from inspector.capture.errors import InspectorError


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeRequest:
    """One request, apart from its model."""

    label: str
    """The prompt's name."""
    endpoint: Endpoint
    body: Mapping[str, Any]
    control: bool = False
    """True for a control request to completions, counted separately."""
    script: Sequence[int] | None = None
    """The tokens that a lab server samples; kept in the capture, and never used as evidence here."""

    @property
    def streamed(self) -> bool:
        """False for an unstreamed response."""
        return bool(self.body.get("stream"))

    def unstreamed(self) -> "ProbeRequest":
        """The same request without streaming."""
        members = {key: value for key, value in self.body.items() if key != "stream_options"}
        return replace(self, body={**members, "stream": False})


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """The requests in turn; a share of them as a control on completions, a share unstreamed."""

    requests: Sequence[ProbeRequest]
    controls: Mapping[str, ProbeRequest] = field(default_factory=dict)
    """By prompt: the same prompt on completions."""
    control: float = 0.0
    unstreamed: float = 0.0

    def __post_init__(self) -> None:
        if not self.requests:
            raise InspectorError("nothing to send; pass a prompt, a file of prompts, or a script")
        for name, share in (("control", self.control), ("unstreamed", self.unstreamed)):
            if not 0 <= share <= 1:
                raise InspectorError(f"invalid share for {name}: {share:g}; choose 0 to 1")

    def request(self, number: int) -> ProbeRequest:
        """The request of a number, counted from 0."""
        chosen = self.requests[number % len(self.requests)]
        if _falls(number, self.control) and chosen.label in self.controls:
            return replace(self.controls[chosen.label], control=True)
        return chosen.unstreamed() if _falls(number, self.unstreamed) else chosen


def _falls(number: int, share: float) -> bool:
    """True for `share` of all numbers, evenly spread."""
    return int((number + 1) * share) > int(number * share)
