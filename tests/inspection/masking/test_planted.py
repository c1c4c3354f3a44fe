"""A text planted at every place of a capture: nothing of it is in the redacted copy."""

import json
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

import pytest

from inspector.capture.capture import Capture, End, Endpoint, Event, EventKind, Header, render
from inspector.files.store import FIXTURES, load_all
from inspector.inspection.masking import MaskingFailed, Standins, masked
from inspector.matrix.results import captures_of, every_run
from inspector.protocol.wire.stream import loads
from tests.support.builtin import CAPTURES

WORD: Final = "Zebulonquixote7413"
CODED: Final = b64encode(WORD.encode()).decode()
ESCAPED: Final = "".join(f"\\u{ord(char):04x}" for char in WORD)
SPELLED: Final = "".join(f"\\{char}" for char in WORD)
SPECIAL: Final = f"<|{WORD.lower()[:14]}|>"
FOREIGN: Final = "Бабушкаоберон"
FORMS: Final = {
    "another script": (FOREIGN, FOREIGN),
    "base64": (CODED, CODED),
    "JSON's escapes": (ESCAPED, ESCAPED),
    "a backslash before each letter": (SPELLED, SPELLED),
    "a name as of a special token": (SPECIAL, SPECIAL),
    "behind the phrases of a parser": (f"Unknown role: {WORD}\nharmony output parsing failed: {WORD}", WORD),
    "in the message of a known issue": (f"{WORD}The model `{WORD}` does not exist{WORD}", WORD),
}
"""Texts that are planted, and what of them is hidden."""
MODEL_NAMES: Final = {
    *("header.model", "request.model"),
    *("event.model", "event.response.model", "event.message.model", "event.__verbose.model"),
}
"""Model names stay: docs/sharing.md."""
UNKNOWN_ROLE: Final = "chat-unknown-role-vllm-0.13.0"
REFUSED_AT_MOST: Final = 0.01

TOP: Final = {"token": "Hi", "logprob": -0.1, "bytes": [72, 105], "top_logprobs": []}
LOGPROBS: Final = (
    {"choices": [{"index": 0, "delta": {}, "logprobs": {"content": [{**TOP, "top_logprobs": [TOP]}]}}]},
    {"choices": [{"index": 0, "logprobs": {"tokens": ["Hi"], "top_logprobs": [{"Hi": -0.1}]}}]},
    {"choices": [], "prompt_logprobs": [None, {"12194": {"logprob": -0.1, "decoded_token": "Hi"}}]},
    {"choices": [], "logprobs": [TOP]},
)
REQUEST: Final = {
    "prompt": [12194, "text"],
    "logit_bias": {"12194": 1.5, "text": 2},
    "stop_token_ids": [12194],
    "stop": ["text"],
    "metadata": {"id": 5},
    "chat_template_kwargs": {"enable_thinking": True, "text": 1},
    "response_format": {"type": "json_schema", "json_schema": {"name": "text", "schema": {"$ref": "#/text"}}},
    "tools": [
        {"type": "mcp", "server_label": "text", "headers": {"type": "text"}, "allowed_tools": ["text"]}
    ],
    "messages": [
        {
            "role": "user",
            "content": [{"type": "image_url", "image_url": {"url": "data:text", "detail": "low"}}],
        },
        {"role": "tool", "tool_call_id": "call", "content": "text", "name": "text"},
    ],
}


def sample() -> list[Capture]:
    """All built-in captures, one of the matrix for each endpoint and shape of events, one with all else."""
    captures = [capture for path in sorted(FIXTURES.glob("*.jsonl*")) for capture in load_all(path)]
    shapes = set[object]()
    for run in every_run()[::5]:
        for endpoint, _, capture in captures_of(run):
            shape = endpoint, run.streamed, frozenset(map(shape_of, capture.events))
            if shape not in shapes:
                shapes.add(shape)
                captures.append(capture)
    events = [Event(json.dumps(payload), 0.1) for payload in LOGPROBS]
    header = Header(endpoint=Endpoint.CHAT, request=REQUEST)
    return [*captures, Capture(header=header, events=events)]


def shape_of(event: Event) -> object:
    payload = loads(event.data)
    return event.kind, event.name, frozenset(payload) if isinstance(payload, dict) else None


def planted(capture: Capture, text: str, visited: set[object]) -> Iterator[tuple[str, Capture]]:
    """The capture with a text at one place, for each kind of place not yet `visited`, and adds it there."""
    header, end = capture.header, capture.end or End(at_s=None, cut=True)
    if "header" not in visited:
        visited.add("header")
        for name in ("model", "server_version", "owned_by", "started_at", "source"):
            for value in (text, f"{getattr(header, name) or ''}{text}"):
                fields: dict[str, Any] = {name: value}
                yield f"header.{name}", replace(capture, header=replace(header, **fields))
        extra = {**header.extra, text: [{text: text}]}
        yield "header.extra", replace(capture, header=replace(header, extra=extra))
        yield "notes", replace(capture, notes=(*capture.notes, f"The file: {text}"))
        yield "end.detail", replace(capture, end=replace(end, cut=True, detail=f"{end.detail}{text}"))
        yield "end.unread", replace(capture, end=replace(end, unread=text))
        comment = Event(f"keep-alive {text}", None, "", EventKind.COMMENT)
        yield "comment", replace(capture, events=[*capture.events, comment])
    for place, request in documents(dict(header.request), "request", text, visited, header.endpoint):
        if isinstance(request, dict):
            yield place, replace(capture, header=replace(header, request=request))
    for number, event in enumerate(capture.events):
        for place, changed in events(event, text, visited, header.endpoint):
            before, after = capture.events[:number], capture.events[number + 1 :]
            yield place, replace(capture, events=[*before, changed, *after])


def events(event: Event, text: str, visited: set[object], endpoint: Endpoint) -> Iterator[tuple[str, Event]]:
    if (name := (endpoint, event.kind, event.name)) not in visited:
        visited.add(name)
        yield "event name", event._replace(name=event.name + text)
        yield "raw event", event._replace(data=event.data + text)
        yield "raw event", event._replace(data=text)
    payload = loads(event.data)
    if payload is not None:
        for place, value in documents(payload, "event", text, visited, (endpoint, event.kind)):
            yield place, event._replace(data=json.dumps(value))


def documents(
    value: Any, place: str, text: str, visited: set[object], scope: object
) -> Iterator[tuple[str, Any]]:
    """JSON with a text in place of a value, behind a string, in place of a key, and under a new key."""
    if (scope, place, type(value)) not in visited:
        visited.add((scope, place, type(value)))
        yield place, text
        if isinstance(value, str):
            yield place, value + text
        if isinstance(value, dict):
            yield place, {**value, text: {text: [text], "content": text}}
    if isinstance(value, list):
        for number, item in enumerate(value):
            for inner, changed in documents(item, f"{place}[]", text, visited, scope):
                yield inner, [*value[:number], changed, *value[number + 1 :]]
    if isinstance(value, dict):
        for key, item in value.items():
            if (scope, place, key) not in visited:
                visited.add((scope, place, key))
                yield (
                    f"a key of {place}",
                    {text if key == name else name: member for name, member in value.items()},
                )
            for inner, changed in documents(item, f"{place}.{key}", text, visited, scope):
                yield inner, {**value, key: changed}


def left_in(capture: Capture, secret: str) -> set[str]:
    """Pieces of a text in the file, escaped or not, and in the strings of its JSON."""
    lines = list(render(capture))
    content = "\n".join([*lines, *(string for line in lines for string in strings(json.loads(line)))]).lower()
    pieces = windows(secret, 18 if "\\" in secret else 6) | windows(json.dumps(secret)[1:-1], 18)
    return {piece for piece in pieces if piece in content}


def windows(text: str, size: int) -> set[str]:
    return {text[at : at + size].lower() for at in range(len(text) - size + 1)}


def strings(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
            with suppress(ValueError):
                yield from strings(json.loads(value))
        case dict():
            for key, item in value.items():
                yield key
                yield from strings(item)
        case list():
            for item in value:
                yield from strings(item)
        case _:
            return


def attacked(captures: list[Capture], text: str, secret: str) -> tuple[Counter[str], int, int]:
    """Places where something of a planted text came through, how many were tried, and how many refused."""
    leaks, tried, refused = Counter[str](), 0, 0
    visited, standins = set[object](), Standins(text.encode())
    for capture in captures:
        for place, attack in planted(capture, text, visited):
            tried += 1
            try:
                copy = masked(attack, standins)
            except MaskingFailed:
                refused += 1
                continue
            if left_in(copy, secret):
                leaks[place] += 1
    return leaks, tried, refused


@pytest.mark.sweep
def test_a_text_planted_at_any_place_is_not_in_the_copy() -> None:
    leaks, tried, refused = attacked(sample(), WORD, WORD)
    assert set(leaks) <= MODEL_NAMES
    assert tried > 1000
    assert refused < REFUSED_AT_MOST * tried


@pytest.mark.parametrize(
    "form", [*list(FORMS)[:2], *(pytest.param(form, marks=pytest.mark.slow) for form in list(FORMS)[2:])]
)
def test_no_form_of_a_text_is_in_the_copy(form: str) -> None:
    text, secret = FORMS[form]
    leaks, tried, refused = attacked([CAPTURES[UNKNOWN_ROLE]], text, secret)
    assert set(leaks) <= MODEL_NAMES
    assert refused < tried / 4
