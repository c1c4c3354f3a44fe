"""Random streams of Messages as events, well formed or changed in some places, and captures of them."""

import json
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from inspector.capture.capture import Capture, End, Endpoint, Event, Header

__all__ = ["capture_of", "damaged", "streams"]

Payload = dict[str, Any]

_TEXTS = st.lists(st.text(st.characters(codec="utf-8"), max_size=4), max_size=4)
_VALUES = st.one_of(st.none(), st.integers(-9, 9), st.text(st.characters(codec="utf-8"), max_size=3))
_INPUTS = st.dictionaries(st.text("ab", max_size=2), _VALUES, max_size=2)
_PING: Payload = {"type": "ping"}
_FIRST: Payload = {
    "type": "message_start",
    "message": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "gpt-oss",
        "content": [],
        "stop_reason": None,
        "usage": {"input_tokens": 9, "output_tokens": 1},
    },
}
_LAST: list[Payload] = [
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 1}},
    {"type": "message_stop"},
]


@st.composite
def streams(draw: st.DrawFn) -> list[Payload]:
    """The events of a whole response."""
    events = [_FIRST]
    for index in range(draw(st.integers(0, 4))):
        match draw(st.sampled_from(["thinking", "text", "tool_use"])):
            case "tool_use":
                block = {"type": "tool_use", "id": f"call_{index}", "name": draw(st.sampled_from("fg"))}
                whole = json.dumps(draw(_INPUTS), ensure_ascii=draw(st.booleans()))
                cut = draw(st.integers(0, len(whole)))
                pieces = draw(st.sampled_from([[], [""], ["", whole], [whole[:cut], whole[cut:]]]))
                started: Payload = {**block, "input": {}}
                deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
            case kind:
                started = {"type": kind, kind: draw(st.sampled_from(["", "a"]))}
                deltas = [{"type": f"{kind}_delta", kind: text} for text in draw(_TEXTS)]
        events.append({"type": "content_block_start", "index": index, "content_block": started})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    events += _LAST
    for _ in range(draw(st.integers(0, 2))):
        events.insert(draw(st.integers(0, len(events) - 1)), _PING)
    return events


@st.composite
def damaged(draw: st.DrawFn) -> list[Payload]:
    """Events of a response of which some were lost, repeated, moved or changed."""
    events: list[Payload] = json.loads(json.dumps(draw(streams())))
    for _ in range(draw(st.integers(1, 3))):
        if not events:
            break
        at, to = draw(st.integers(0, len(events) - 1)), draw(st.integers(0, len(events) - 1))
        match draw(st.sampled_from(["lose", "repeat", "move", "without", "null", "index"])):
            case "lose":
                del events[at]
            case "repeat":
                events.insert(to, json.loads(json.dumps(events[at])))
            case "move":
                events.insert(to, events.pop(at))
            case "index":
                events[at]["index"] = draw(st.integers(-1, 5))
            case change:
                inside = [events[at], *(value for value in events[at].values() if isinstance(value, dict))]
                fields = draw(st.sampled_from(inside))
                key = draw(st.sampled_from(sorted(fields))) if fields else ""
                fields.pop(key, None)
                if change == "null":
                    fields[key] = None
    return events


def capture_of(events: Sequence[Payload]) -> Capture:
    """A recording of a stream, each event with its type as its name."""
    header = Header(
        endpoint=Endpoint.MESSAGES, model="gpt-oss", status=200, started_at="2026-01-01T00:00:00+00:00"
    )
    sent = [
        Event(json.dumps(event), number / 10, event.get("type") or "") for number, event in enumerate(events)
    ]
    return Capture(header=header, events=sent, end=End(at_s=99.0, cut=False))
