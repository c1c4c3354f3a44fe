"""A capture file reads back as it was written, and damage is told, never passed over."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.capture.capture import (
    MIGRATIONS,
    VERSION,
    Capture,
    End,
    Endpoint,
    Event,
    EventKind,
    Header,
    event_line,
    header_line,
    parse,
    render,
)
from inspector.capture.errors import CaptureError
from inspector.capture.redaction import redact
from inspector.files.store import FIXTURES

CAPTURE = Capture(
    header=Header(
        endpoint=Endpoint.RESPONSES,
        request={"model": "openai/gpt-oss-20b", "input": "Hi", "stream": True},
        model="openai/gpt-oss-20b",
        server_version="0.13.0",
        status=200,
        started_at="2025-11-20T22:48:24+00:00",
        source="written by hand",
        script=(200005, 35644, 200008, 12194, 200007),
        extra={"a_key_of_tomorrow": {"kept": True}},
    ),
    events=[
        Event("keep-alive", 0.01, kind=EventKind.COMMENT),
        Event(
            '{"type":"response.created","sequence_number":0,'
            '"response":{"object":"response","model":"openai/gpt-oss-20b"}}',
            0.0123,
            "response.created",
        ),
        Event(
            '{"type":"response.reasoning_text.delta","sequence_number":1,"item_id":"rs_1",'
            '"output_index":0,"content_index":0,"delta":"Hi \\ud800"}',
            None,
            "response.reasoning_text.delta",
        ),
        Event("[DONE]", 2.0),
        Event("Internal Server Error", 2.5, kind=EventKind.BODY),
    ],
    end=End(at_s=2.5, cut=True, detail="peer closed the connection"),
    notes=("Nothing of this came from a server.",),
)
FORMAT_1 = FIXTURES / "formats" / "format-1.jsonl"
HEADER = '{"harmony_capture": 1, "endpoint": "chat"}'


def test_a_file_of_format_1_gives_this_capture() -> None:
    assert parse(FORMAT_1.read_text("utf-8").split("\n"), "format-1.jsonl") == CAPTURE


def test_a_capture_is_written_as_these_lines() -> None:
    assert list(render(Capture(header=CAPTURE.header, events=CAPTURE.events[:2], end=CAPTURE.end))) == [
        '{"harmony_capture": 1, "endpoint": "responses", "request": {"model": "openai/gpt-oss-20b", '
        '"input": "Hi", "stream": true}, "model": "openai/gpt-oss-20b", "server_version": "0.13.0", '
        '"status": 200, "started_at": "2025-11-20T22:48:24+00:00", "source": "written by hand", '
        '"script": [200005, 35644, 200008, 12194, 200007], "a_key_of_tomorrow": {"kept": true}}',
        '{"t": 0.01, "comment": "keep-alive"}',
        '{"t": 0.0123, "event": "response.created", "data": "{\\"type\\":\\"response.created\\",'
        '\\"sequence_number\\":0,\\"response\\":{\\"object\\":\\"response\\",\\"model\\":\\"openai/gpt-oss-20b\\"}}"}',
        '{"t": 2.5, "end": "cut", "detail": "peer closed the connection"}',
    ]


def test_each_number_the_format_has_had_has_a_file_that_loads_and_a_way_up() -> None:
    assert set(MIGRATIONS) == set(range(1, VERSION))
    for number in range(1, VERSION + 1):
        path = FIXTURES / "formats" / f"format-{number}.jsonl"
        assert parse(path.read_text("utf-8").split("\n"), path.name).events


TEXTS = st.text(st.characters(), max_size=20) | st.sampled_from(
    ["\ud800", "\x00", "\u2028", "<script>", "\u202e"]
)
TIMES = st.none() | st.floats(0, 1e8) | st.integers(0, 1000).map(float)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(TEXTS, JSON, max_size=4)
EVENTS = st.builds(Event, TEXTS, TIMES, TEXTS, st.just(EventKind.SSE)) | st.builds(
    Event, TEXTS, TIMES, st.just(""), st.sampled_from(EventKind)
)
HEADERS = st.builds(
    Header,
    endpoint=st.sampled_from(Endpoint),
    request=OBJECTS.map(redact),
    model=st.none() | TEXTS,
    server_version=st.none() | TEXTS,
    status=st.none() | st.integers(100, 599),
    started_at=st.none() | TEXTS.filter(bool),
    source=TEXTS,
    script=st.none() | st.lists(st.integers()).map(tuple),
    extra=st.dictionaries(TEXTS.map("x_{}".format), JSON, max_size=2),
)
CAPTURES = st.builds(
    Capture,
    header=HEADERS,
    events=st.lists(EVENTS, max_size=6),
    end=st.none() | st.builds(End, at_s=TIMES, cut=st.booleans(), detail=TEXTS),
    notes=st.lists(TEXTS, max_size=2).map(tuple),
)


@given(capture=CAPTURES)
def test_what_is_written_reads_back(capture: Capture) -> None:
    lines = list(render(capture))
    assert all(line.isascii() and "\n" not in line for line in lines)
    assert parse(lines, "x") == capture
    assert parse([f"{line}\r\n" for line in lines], "x") == capture


def test_a_file_cut_anywhere_keeps_its_whole_lines_and_says_what_is_lost() -> None:
    text = FORMAT_1.read_text("utf-8")
    header_end = text.index("\n")
    for cut in range(header_end, len(text)):
        part = text[:cut]
        complete_lines = part.count("\n") + 1 - (text[cut] != "\n" and not part.endswith("\n"))
        capture = parse(part.split("\n"), "x")
        rest = part.rpartition("\n")[2]
        lines_read = len(capture.events) + 1 + (capture.end is not None)
        if text[cut] == "\n" or not rest:
            assert capture.notes == CAPTURE.notes
        else:
            lost = f"Line {lines_read + 1} is truncated after {len(rest.strip()):,} characters"
            assert capture.notes == (*CAPTURE.notes, f"{lost}; all lines before it were read.")
        assert lines_read == complete_lines - (not rest)
        assert list(capture.events) == list(CAPTURE.events[: len(capture.events)])


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (
            [],
            "f:1: the header line is truncated or not JSON; events need the header, record again",
        ),
        (
            ['{"harmony_cap'],
            "f:1: the header line is truncated or not JSON; events need the header, record again",
        ),
        (["[]"], 'f:1: not a capture: the first line has no "harmony_capture" number'),
        (['{"harmony_capture": true}'], 'f:1: not a capture: the first line has no "harmony_capture" number'),
        (
            ['{"harmony_capture": 2, "endpoint": "chat", "what": "ever"}'],
            "f:1: format 2 is newer than the supported 1; update the program",
        ),
        (['{"harmony_capture": 0}'], "f:1: format 0 does not exist"),
        (
            ['{"harmony_capture": 1, "endpoint": ["chat"]}'],
            "f:1: the header's endpoint is a list, not one of chat, responses, completions, messages, tokens",
        ),
        (
            ['{"harmony_capture": 1, "endpoint": "chat", "status": true}'],
            "f:1: the header's status is True, not a number",
        ),
        (
            ['{"harmony_capture": 1, "endpoint": "chat", "model": {}}'],
            "f:1: the header's model is a dict, not text",
        ),
        (
            ['{"harmony_capture": 1, "endpoint": "chat", "script": [1.5]}'],
            "f:1: the header's script contains something other than token IDs",
        ),
        (
            [HEADER, '{"data": "a"', '{"data": "b"}'],
            "f:2: damaged JSON; keep only the lines before it, or record again",
        ),
        (
            [HEADER, '{"data": "a"} x', '{"data": "b"}'],
            "f:2: damaged JSON; keep only the lines before it, or record again",
        ),
        ([HEADER, "[1]"], "f:2: expected an object, found a list"),
        ([HEADER, '"a"'], "f:2: expected an object, found 'a'"),
        (
            [HEADER, "", '{"t": 1}'],
            "f:3: no data, comment, body or end with text; the line is damaged or not part of a capture",
        ),
        (
            [HEADER, '{"data": 1}'],
            "f:2: no data, comment, body or end with text; the line is damaged or not part of a capture",
        ),
        (
            [HEADER, '{"data": "a", "event": 1}'],
            "f:2: no data, comment, body or end with text; the line is damaged or not part of a capture",
        ),
        ([HEADER, '{"t": NaN, "data": "a"}'], "f:2: t is nan, not seconds from the request"),
        ([HEADER, '{"t": -0.1, "data": "a"}'], "f:2: t is -0.1, not seconds from the request"),
        ([HEADER, '{"t": true, "data": "a"}'], "f:2: t is True, not seconds from the request"),
        ([HEADER, '{"t": "1", "data": "a"}'], "f:2: t is '1', not seconds from the request"),
        ([HEADER, '{"t": 1e400, "data": "a"}'], "f:2: t is inf, not seconds from the request"),
        (
            [HEADER, '{"t": ' + "9" * 400 + ', "data": "a"}'],
            f"f:2: t is {'9' * 37}..., not seconds from the request",
        ),
        ([HEADER, '{"end": ["cut"]}'], 'f:2: end is a list, not "closed" or "cut"'),
        ([HEADER, HEADER], "f:2: a second capture begins here; split the file, each file is one capture"),
        (
            [HEADER, '{"end": "closed"}', '{"data": "a"}'],
            "f:3: lines follow the end of the capture; split the file, each file is one capture",
        ),
    ],
)
def test_damage_is_refused_with_one_sentence_that_names_the_line(lines: list[str], sentence: str) -> None:
    with pytest.raises(CaptureError) as refused:
        parse(lines, "f")
    assert str(refused.value) == sentence


@pytest.mark.parametrize(
    "line", ["[" * 10_000, '{"data":' * 10_000, '{"t": ' + "9" * 5000 + ', "data": "a"}']
)
def test_nests_and_numbers_beyond_python_are_refused_or_cut_off(line: str) -> None:
    capture = parse([HEADER, '{"data": "a"}', line], "f")
    assert capture.events == [Event("a")]
    assert capture.notes == (
        f"Line 3 is truncated after {len(line):,} characters; all lines before it were read.",
    )
    with pytest.raises(CaptureError, match=r"^f:1: the header line is truncated or not JSON"):
        parse([line], "f")


def test_blank_lines_and_keys_that_nobody_knows_do_no_harm() -> None:
    lines = [
        "",
        HEADER,
        " ",
        '  {"data": "a", "id": 7, "t": null}  ',
        "",
        '{"t": 3, "end": "closed"}',
        "",
        "",
    ]
    assert parse(lines, "f") == Capture(
        header=Header(endpoint=Endpoint.CHAT), events=[Event("a")], end=End(at_s=3.0, cut=False)
    )


def _by_the_standard_library(line: str) -> Event | None:
    """A line as Python's own JSON reads it; None where it holds no usual event."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict) or not isinstance(row.get("data"), str):
        return None
    at_s = row.get("t")
    if at_s is not None and (type(at_s) not in {int, float} or not 0 <= at_s < 1e9):
        return None
    name = row.get("event", "")
    return Event(row["data"], None if at_s is None else float(at_s), name) if isinstance(name, str) else None


SPLINTERS = (
    *('"data"', '"t"', '"event"', '"end"', ":", ",", "{", "}", "null", "true", "1e9", "1e400", "-0.0", "NaN"),
    *(
        "Infinity",
        "007",
        "1_0",
        "3",
        "0.5",
        '"a"',
        '"\\ud83d"',
        '"\\ud83d\\ude00"',
        '"\\q"',
        '"\t"',
        '"\x00"',
    ),
    *(
        '"\u2028"',
        '"\ud800"',
        '"\x7f"',
        "\ufeff",
        "\u00a0",
        " ",
        "\r",
        '"x":[1,{"y":"\\/"}]',
        "/**/",
        "'a'",
        "b'",
    ),
)


@given(
    st.sampled_from(
        ['{"t":0.5,"data":"a","event":"e"}', '{"data":"[DONE]"}', '{"t":1.25,"data":"{\\"id\\":1}"}']
    ),
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 6), st.sampled_from(SPLINTERS)), max_size=4),
)
def test_the_short_way_of_a_line_reads_what_the_standard_library_reads(
    line: str, changes: list[tuple[int, int, str]]
) -> None:
    for at, removed, inserted in changes:
        line = line[:at] + inserted + line[at + removed :]
    expected = _by_the_standard_library(line.strip())
    try:
        events = list(parse([HEADER, line, '{"data": "later"}'], "f").events)
    except CaptureError:
        events = []
    read = events[0] if events and events[-1:] == [Event("later")] and len(events) == 2 else None
    if read is None or read.kind is EventKind.SSE:
        assert read == expected


def test_a_request_is_written_without_its_secrets() -> None:
    request = {"model": "m", "api_key": "sk-1", "extra_headers": {"X-Goog-Api-Key": "sk-2"}}
    line = header_line(Header(endpoint=Endpoint.CHAT, request=request))
    assert "sk-" not in line
    assert json.loads(line)["request"] == {"model": "m", "extra_headers": {}}


def test_a_request_that_nests_too_deep_is_refused_as_ours() -> None:
    nest: dict[str, Any] = {}
    request = nest
    for _ in range(100_000):
        nest["a"] = {}
        nest = nest["a"]
    with pytest.raises(CaptureError, match=r"^request: nested too deeply to be written as JSON$"):
        header_line(Header(endpoint=Endpoint.CHAT, request=request))
    while request:  # taken apart by hand: freeing it at once would recurse as deep
        request = request.pop("a")


def test_extra_keys_cannot_take_the_place_of_known_ones() -> None:
    header = Header(endpoint=Endpoint.CHAT, extra={"endpoint": "tokens", "harmony_capture": 9, "own": 1})
    assert json.loads(header_line(header)) == {"harmony_capture": 1, "endpoint": "chat", "own": 1}


def test_an_event_line_has_only_what_is_known() -> None:
    assert event_line(Event("a")) == '{"data": "a"}'
    assert event_line(Event("a", 0.0, "e")) == '{"t": 0.0, "event": "e", "data": "a"}'


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.jsonl")), ids=lambda path: path.stem)
def test_a_built_in_file_is_written_again_as_it_stands(path: Path) -> None:
    lines = path.read_text("utf-8").splitlines()
    assert list(render(parse(lines, path.name))) == lines


@given(
    st.text(st.characters(codec=None)),
    st.none() | st.floats() | st.integers(0, 9),
    st.text(st.characters(codec=None), max_size=5),
    st.sampled_from(EventKind),
)
def test_the_line_of_an_event_is_json_as_the_standard_library_writes_it(
    data: str, at_s: float | None, name: str, kind: EventKind
) -> None:
    row: dict[str, object] = {} if at_s is None else {"t": at_s}
    row |= ({"event": name} if name else {}) | {kind.value: data}
    assert event_line(Event(data, at_s, name, kind)) == json.dumps(row)
