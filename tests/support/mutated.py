"""Real captures that were damaged at random: for tests that nothing which a server can send raises."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import chain
from typing import Any

from hypothesis import strategies as st

from inspector.capture.capture import Capture, End, Endpoint, EventKind, Header, render
from inspector.files.store import FIXTURES, load_all
from inspector.matrix.results import all_runs, captures_of
from tests.support.deliveries.messages import as_messages

__all__ = ["JSON", "File", "Place", "kinds_of_places", "mutated", "mutated_files", "with_value"]

FIXTURE_CAPTURES = [capture for path in sorted(FIXTURES.glob("*.jsonl")) for capture in load_all(path)]
FIXTURE_CAPTURES += filter(None, map(as_messages, FIXTURE_CAPTURES))

File = Sequence[str]
"""The lines of a capture file."""
Place = tuple[int, tuple[Any, ...]]
"""A line, and a path in it; it leads into texts that are JSON."""

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


def parsed(value: Any) -> Any:
    """The value of a text that is a JSON object or list; anything else as it is."""
    with suppress(ValueError):
        if isinstance(value, str) and value.startswith(("{", "[")):
            return json.loads(value)
    return value


def paths(value: Any, parent: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    all_paths = [parent]
    value = parsed(value)
    if isinstance(value, dict):
        for key, inner in value.items():
            all_paths += paths(inner, (*parent, key))
    elif isinstance(value, list):
        for place, inner in enumerate(value[:6]):
            all_paths += paths(inner, (*parent, place))
    return all_paths


def replaced(value: Any, path: Sequence[Any], new: Any) -> Any:
    if not path:
        return new
    if value is not (inner := parsed(value)):
        return json.dumps(replaced(inner, path, new))
    if isinstance(value, dict):
        return {**value, path[0]: replaced(value[path[0]], path[1:], new)}
    return [*value[: path[0]], replaced(value[path[0]], path[1:], new), *value[path[0] + 1 :]]


@st.composite
def mutated(draw: st.DrawFn) -> Capture:
    capture = draw(st.sampled_from(FIXTURE_CAPTURES))
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
                swapped = draw(st.integers(0, len(events) - 1))
                events[place], events[swapped] = events[swapped], events[place]
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
                events[place] = event._replace(data=json.dumps(replaced(payload, path, draw(JSON))))
    header = Header(
        endpoint=draw(st.sampled_from([capture.header.endpoint] * 4 + list(Endpoint))),
        status=draw(st.sampled_from([None, 200, 400, 500])),
        request=draw(
            st.sampled_from([{}, capture.header.request, {"stop": "a", "echo": True, "prompt": [200006]}])
        ),
    )
    end = draw(st.sampled_from([None, End(at_s=None, cut=True, detail="cut"), End(at_s=1.0, cut=False)]))
    return Capture(header=header, events=events, end=end)


def with_value(lines: File, place: Place, value: Any) -> bytes:
    """A file with another value at a place; as it is where the place is gone."""
    line, path = place
    with suppress(KeyError, IndexError, TypeError):
        lines = [
            *lines[:line],
            json.dumps(replaced(json.loads(lines[line]), path, value)),
            *lines[line + 1 :],
        ]
    return "\n".join(lines).encode()


def label_at(line: str, path: Sequence[Any]) -> Any:
    """What an object says that it is."""
    value = parsed(line)
    for key in path:
        value = parsed(value[key])
    labels = [value.get(key) for key in ("type", "role", "channel")] if isinstance(value, dict) else []
    return next((label for label in labels if isinstance(label, str)), None)


@cache
def kinds_of_places() -> Sequence[tuple[File, Place]]:
    """A file and a place in it for every key of every kind of object, of each endpoint, streamed and not."""
    oldest, *_, newest = all_runs()
    recorded = (capture for run in (oldest, newest) for _, _, capture in captures_of(run))
    places_by_kind: dict[tuple[Any, ...], tuple[File, Place]] = {}
    for capture in chain(FIXTURE_CAPTURES, recorded):
        # The last events have the final object and the counts.
        events = [*capture.events[:20], *capture.events[20:][-20:]]
        lines = list(render(replace(capture, events=events)))
        for number, line in enumerate(lines):
            for path in paths(json.loads(line)):
                keys = [key for key in path if isinstance(key, str)]
                kind = (
                    capture.header.endpoint,
                    events[-1].kind,
                    number == 0,
                    *keys[-2:],
                    label_at(line, path[:-1]),
                )
                places_by_kind.setdefault(kind, (lines, (number, path)))
    return list(places_by_kind.values())


@st.composite
def mutated_files(draw: st.DrawFn) -> bytes:
    """A capture file with any JSON values at several places."""
    lines, _ = draw(st.sampled_from(kinds_of_places()))
    places = [place for file_lines, place in kinds_of_places() if file_lines is lines]
    content = "\n".join(lines).encode()
    for place in draw(st.lists(st.sampled_from(places), min_size=1, max_size=6)):
        content = with_value(content.decode().splitlines(), place, draw(JSON))
    return content
