"""Where the events of a stream contradict the published schema or each other, whatever text they deliver.

A violation does not change the verdict, which is about delivery; it says why a client may fail on a stream
that was delivered completely. The rules are those of the endpoint (`wire.event_checks`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from inspector.capture.capture import Capture, Event, EventKind
from inspector.capture.formats import count
from inspector.protocol.wire.endpoints import spec_of
from inspector.protocol.wire.event_checks import ViolationCode, unlike_schema
from inspector.protocol.wire.excerpt import excerpt_of
from inspector.protocol.wire.stream import loads

_ERRORS_FROM: Final = 400
_UNNAMED: Final = (
    (ViolationCode.EVENT_UNNAMED, "", "An event has no name (`event:`), so the SDK skips it."),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaViolation:
    """One way in which the events break the schema, `times` times, first in `event`."""

    code: ViolationCode
    event: int
    times: int
    sentence: str
    """The first occurrence, in words."""

    def row(self) -> dict[str, Any]:
        """The row of `audit --json`."""
        return {
            "kind": self.code.kind.value,
            "code": self.code.value,
            "event": self.event,
            "times": self.times,
            "sentence": self.sentence,
        }


def schema_violations(capture: Capture) -> tuple[SchemaViolation, ...]:
    """Each way in which the streamed events break the schema, in their order; content never raises.

    A body that is not streamed has no events, an error page follows no schema, and the other events of an
    excerpt are unknown.
    """
    spec = spec_of(capture.header.endpoint)
    check_type = spec.event_check
    if check_type is None or (capture.header.status or 200) >= _ERRORS_FROM:
        return ()
    if excerpt_of(capture.header, capture.events, capture.end) is not None:
        return ()
    check = check_type()
    violations: dict[tuple[ViolationCode, str], SchemaViolation] = {}
    for index, event in enumerate(capture.events):
        if check.is_like_before(event.data) or (payload := _payload(event)) is None:
            continue
        type_name = check.type_of(payload)
        for code, subject, sentence in (
            *(_UNNAMED if spec.named and not event.name else ()),
            *unlike_schema(type_name, payload),
            *check.receive(type_name or "", payload),
        ):
            first = violations.get((code, subject))
            violations[code, subject] = (
                SchemaViolation(code=code, event=index, times=1, sentence=sentence)
                if first is None
                else replace(first, times=first.times + 1)
            )
    return tuple(violations.values())


def violations_sentence(violations: Sequence[SchemaViolation]) -> str | None:
    """In one sentence what a client may fail on; None without violations."""
    if not violations:
        return None
    rest = f" ({count(len(violations) - 1, 'more violation')})" if len(violations) > 1 else ""
    return f"By its schema, a client may fail on this stream: {violations[0].sentence}{rest}"


def _payload(event: Event) -> Mapping[str, Any] | None:
    """The object of an event that is part of the response: neither an error nor `[DONE]`."""
    if event.kind is not EventKind.SSE or event.data == "[DONE]":
        return None
    payload = loads(event.data)
    if not isinstance(payload, dict) or payload.get("error") is not None or payload.get("object") == "error":
        return None
    return payload
