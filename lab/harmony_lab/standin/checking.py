"""Check by the engine's log and the wire that a recorded stream followed its schedule.

Otherwise the stream says nothing about the release under that condition, and is not scored. Compared are the
steps of the engine with the schedule, the sizes that the API server took with those that were sent, and the
token IDs of each event with those of a step.
"""

import json
from collections.abc import Sequence
from itertools import islice

from harmony_lab.standin.serving import EngineProcess, Served
from harmony_lab.standin.steps import schedule_of
from inspector.analysis.reading import read
from inspector.capture.capture import Capture, EventKind
from inspector.protocol.wire.endpoints import envelope_of, spec_of


def chunking_fault(engine: EngineProcess, capture: Capture, schedule: str) -> str | None:
    """Why a stream cannot be scored; None if it followed the schedule."""
    if not capture.header.request.get("stream") or (capture.header.status or 0) >= 400:
        return None
    server_id = request_id_of(capture)
    if server_id is None:
        return None if not capture.events else "no event says the request's id"
    served = engine.served(server_id)
    if not served:
        return f"the engine's log has no stream {server_id}"
    for request in served:
        if fault := _steps_fault(request, schedule):
            return fault
    if len(served) == 1 and spec_of(capture.header.endpoint).carries_ids:
        return _wire_fault(capture, served[0].steps)
    return None


def request_id_of(capture: Capture) -> str | None:
    """The server's ID of a request, which the engine's ID contains."""
    for event in capture.events:
        if event.kind is not EventKind.SSE:
            continue
        try:
            chunk = json.loads(event.data)
            request_id = envelope_of(chunk).get("id")
        except (ValueError, AttributeError):
            continue
        if isinstance(request_id, str):
            return request_id
    return None


def _steps_fault(served: Served, schedule: str) -> str | None:
    sent = [len(step) for step in served.steps]
    if served.schedule != schedule:
        return f"the engine followed the schedule {served.schedule}, not {schedule}"
    scheduled = list(islice(schedule_of(schedule).sizes(), len(sent)))
    if sent[:-1] != scheduled[:-1] or (sent and sent[-1] > scheduled[-1]):
        return f"the engine sent steps of {_listed(sent)} tokens instead of {_listed(scheduled)}"
    taken = list(served.taken) if served.taken is not None else None
    if taken is not None and taken != sent[: len(taken)]:
        return f"the server took {_listed(taken)} tokens at a time instead of {_listed(sent)}"
    return None


def _wire_fault(capture: Capture, steps: Sequence[Sequence[int]]) -> str | None:
    """Each event must have the IDs of one step; servers may skip steps without text."""
    tokens = read(capture).choice.tokens
    events: dict[int, list[int]] = {}
    for token_id, event in zip(tokens.ids, tokens.events, strict=True):
        events.setdefault(event, []).append(token_id)
    waiting = iter(steps)
    for event, ids in events.items():
        if not any(list(step) == ids for step in waiting):
            return f"the {len(ids)} token IDs of event {event} are not those of one step"
    return None


def _listed(sizes: Sequence[int]) -> str:
    return ", ".join(map(str, sizes[:12])) + (", …" if len(sizes) > 12 else "")
