"""Whether a recorded stream was cut into the steps that were asked for, by the engine's log and the wire.

A verdict about a release rests on the condition under which its stream was made. Three things are compared:
the steps that the engine sent with those of the schedule, what the API server's code took at a time with what
was sent, and the token ids of each event with the ids of a step. A stream that fails is not scored.
"""

import json
from collections.abc import Sequence
from itertools import islice

from inspector.analysis.reading import read
from inspector.capture.capture import Capture, EventKind
from inspector.lab.standin.serving import EngineProcess, Served
from inspector.lab.standin.steps import schedule_of
from inspector.protocol.wire.endpoints import spec_of


def chunking_fault(engine: EngineProcess, capture: Capture, schedule: str) -> str | None:
    """Why no verdict may rest on a stream; None when its steps were those asked for."""
    if not capture.header.request.get("stream") or (capture.header.status or 0) >= 400:
        return None
    own = request_id_of(capture)
    if own is None:
        return None if not capture.events else "no event says the request's id"
    served = engine.served(own)
    if not served:
        return f"the engine's log has no stream {own}"
    for one in served:
        if fault := _steps_fault(one, schedule):
            return fault
    if len(served) == 1 and spec_of(capture.header.endpoint).carries_ids:
        return _wire_fault(capture, served[0].steps)
    return None


def request_id_of(capture: Capture) -> str | None:
    """The server's own id of a request, with which the engine's id of it begins."""
    for event in capture.events:
        if event.kind is not EventKind.SSE:
            continue
        try:
            chunk = json.loads(event.data)
            found = chunk.get("id") or chunk["response"]["id"]
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
        if isinstance(found, str):
            return found
    return None


def _steps_fault(served: Served, schedule: str) -> str | None:
    sent = [len(step) for step in served.steps]
    if served.schedule != schedule:
        return f"the engine followed the schedule {served.schedule}, not {schedule}"
    asked = list(islice(schedule_of(schedule).sizes(), len(sent)))
    if sent[:-1] != asked[:-1] or (sent and sent[-1] > asked[-1]):
        return f"the engine sent steps of {_shown(sent)} tokens instead of {_shown(asked)}"
    taken = list(served.taken) if served.taken is not None else None
    if taken is not None and taken != sent[: len(taken)]:
        return f"the server took {_shown(taken)} tokens at a time instead of {_shown(sent)}"
    return None


def _wire_fault(capture: Capture, steps: Sequence[Sequence[int]]) -> str | None:
    """Each event's ids must be those of one step; a server may leave out steps without text."""
    tokens = read(capture).choice.tokens
    events: dict[int, list[int]] = {}
    for token_id, event in zip(tokens.ids, tokens.events, strict=True):
        events.setdefault(event, []).append(token_id)
    waiting = iter(steps)
    for event, ids in events.items():
        if not any(list(step) == ids for step in waiting):
            return f"the {len(ids)} token IDs of event {event} are not those of one step"
    return None


def _shown(sizes: Sequence[int]) -> str:
    return ", ".join(map(str, sizes[:12])) + (", …" if len(sizes) > 12 else "")
