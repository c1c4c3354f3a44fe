"""Real captures that were damaged at random: for tests that nothing which a server can send raises."""

import json
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from inspector.capture import Capture, End, Endpoint, EventKind, Header
from inspector.store import FIXTURES, load

__all__ = ["JSON", "mutated"]

REAL = [capture for path in sorted(FIXTURES.glob("*.jsonl")) for capture in load(path)]

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.sampled_from([200005, 200008, 17196, 35644, 200007, 200006, 173781, 61138, 13225])
    | st.text(max_size=8)
    | st.sampled_from(
        ["\ud800", "\ufffd", "<|start|>", "analysis", "token_id:7", "x" * 300, "a\n", "function_call"]
    ),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["index", "delta", "text", "id", "type", "token_ids", "content", "message", "name"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


def paths(value: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [here]
    if isinstance(value, dict):
        for key, inner in value.items():
            found += paths(inner, (*here, key))
    elif isinstance(value, list):
        for place, inner in enumerate(value[:6]):
            found += paths(inner, (*here, place))
    return found


def put(value: Any, path: Sequence[Any], new: Any) -> Any:
    if not path:
        return new
    if isinstance(value, dict):
        return {**value, path[0]: put(value[path[0]], path[1:], new)}
    return [*value[: path[0]], put(value[path[0]], path[1:], new), *value[path[0] + 1 :]]


@st.composite
def mutated(draw: st.DrawFn) -> Capture:
    capture = draw(st.sampled_from(REAL))
    events = list(capture.events[:40])
    for _ in range(draw(st.integers(1, 6))):
        place = draw(st.integers(0, len(events) - 1))
        event = events[place]
        match draw(
            st.sampled_from(["drop", "twice", "swap", "cut", "kind", "value", "value", "value", "value"])
        ):
            case "drop" if len(events) > 1:
                del events[place]
            case "twice":
                events.insert(place, event)
            case "swap":
                other = draw(st.integers(0, len(events) - 1))
                events[place], events[other] = events[other], events[place]
            case "cut":
                events[place] = event._replace(data=event.data[: draw(st.integers(0, len(event.data)))])
            case "kind":
                events[place] = event._replace(kind=draw(st.sampled_from(EventKind)))
            case _:
                try:
                    payload = json.loads(event.data)
                except ValueError:
                    continue
                path = draw(st.sampled_from(paths(payload)))
                events[place] = event._replace(data=json.dumps(put(payload, path, draw(JSON))))
    header = Header(
        endpoint=draw(st.sampled_from([capture.header.endpoint] * 4 + list(Endpoint))),
        status=draw(st.sampled_from([None, 200, 400, 500])),
        request=draw(
            st.sampled_from([{}, capture.header.request, {"stop": "a", "echo": True, "prompt": [200006]}])
        ),
    )
    end = draw(st.sampled_from([None, End(at_s=None, cut=True, detail="cut"), End(at_s=1.0, cut=False)]))
    return Capture(header=header, events=events, end=end)
