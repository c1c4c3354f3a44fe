"""The lines of a capture file are the same however many are decoded at a time."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.capture.capture import Capture, End, Endpoint, Event, Header, parse, parse_content, render
from inspector.capture.errors import CaptureError

HEADER = '{"harmony_capture": 1, "endpoint": "chat"}'


def outcome(read: Callable[[], Capture]) -> Capture | str:
    try:
        return read()
    except CaptureError as error:
        return str(error)


LINES = (
    *('{"t": 0.5, "data": "a", "event": "e"}', '{"data": "[DONE]"}', '{"comment": "keep-alive"}'),
    *('{"t": 1, "data": "\\ud83d"}', '{"t": 2e9, "data": "late"}', '{"t": -1, "data": "early"}'),
    *(
        '{"end": "closed"}',
        '{"end": "cut", "detail": "reset"}',
        "",
        " ",
        "\r",
        '{"data": "no end',
        "[1]",
        "null",
    ),
    *('{"data": "a"}{"data": "b"}', '{"data": "\u00e9\u2028"}', HEADER, "\x00"),
)


@given(
    lines=st.lists(st.sampled_from(LINES), max_size=8),
    usual=st.integers(0, 3),
    before=st.sampled_from(["", "\n", " \n"]),
    stop=st.integers(0, 3),
)
def test_many_lines_at_a_time_are_read_as_one_by_one(
    lines: list[str], usual: int, before: str, stop: int
) -> None:
    text = before + "\n".join([HEADER, *['{"t": 0.25, "data": "u"}'] * usual, *lines]) + "\n"
    text = text[: len(text) - stop]
    line_by_line = outcome(lambda: parse([f"{line}\n" for line in text.split("\n")], "f"))
    assert outcome(lambda: parse_content(text.encode(), "f")) == line_by_line


def test_a_file_of_many_slabs_has_each_line_once() -> None:
    data = ["x" * (k * 7919 % 3000) for k in range(2000)]  # 3 MB
    data[7] = "y" * 3_000_000  # a line that is longer than what is decoded at a time
    events = [Event(text, k / 8) for k, text in enumerate(data)]
    capture = Capture(header=Header(endpoint=Endpoint.CHAT), events=events, end=End(at_s=300.0, cut=False))
    content = "".join(f"{line}\n" for line in render(capture)).encode()
    assert parse_content(content, "f") == capture
    odd = content.replace(b'"yyy', b'"\\ud800yyy')
    assert [event.data for event in parse_content(odd, "f").events] == [
        *data[:7],
        f"\ud800{data[7]}",
        *data[8:],
    ]


@pytest.mark.parametrize(
    "lines",
    [
        '{"data": "a"} {"data": "b"}\n\n',  # as many objects as lines
        '{"data": "a"} {"data": "b"}\n\n{"data": "c"}\n',
        '{"data":\n"a"}\n{"data": "b"}{"data": "c"}\n{"data": "d"}\n',
        '\n{"data": "a"}\r\n{"data": "b"} {"data": "c"}\r\n[1]\n',
    ],
)
def test_as_many_objects_as_lines_are_not_one_on_each(lines: str) -> None:
    text = f"{HEADER}\n{lines}"
    line_by_line = outcome(lambda: parse([f"{line}\n" for line in text.split("\n")], "f"))
    assert outcome(lambda: parse_content(text.encode(), "f")) == line_by_line


def test_lines_are_counted_however_they_are_read() -> None:
    content = "\n".join([HEADER, *['{"data": "u"}'] * 5, "[1]", ""]).encode()
    assert "f:7:" in str(outcome(lambda: parse_content(content, "f")))
