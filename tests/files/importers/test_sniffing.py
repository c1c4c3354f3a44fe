"""Other programs' files become captures by their content; anything else is refused with one sentence."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.capture.capture import Endpoint, Event, parse, render
from inspector.capture.errors import CaptureError
from inspector.files.importers import FORMATS, sniff_and_read
from tests.support.foreign import BUILTIN, FOREIGN, LOG, RECORDED, STREAMED, known, read, refusal, sse
from tests.support.forms import FORMS


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", f"f: the file is empty; use {FORMATS}"),
        (b" \r\n\t", f"f: the file is empty; use {FORMATS}"),
        (b"\xef\xbb\xbf", f"f: the file is empty; use {FORMATS}"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", f"f: this is a PNG image; use {FORMATS}"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF", f"f: this is a JPEG image; use {FORMATS}"),
        (b"PK\x03\x04", f"f: this is a ZIP archive; extract it first, or use {FORMATS}"),
        (
            b"\x1f\x8b\x08",
            f"f: this is a gzip file inside another file; decompress it first, or use {FORMATS}",
        ),
        (b"abc\x00def", f"f: NUL byte at offset 3: this is not a text file; use {FORMATS}"),
        (b"\x00" * 1000, f"f: NUL byte at offset 0: this is not a text file; use {FORMATS}"),
        (b'{"a": "\x00"}', f"f: NUL bytes in the JSON: the file is damaged; use {FORMATS}"),
        (b"[" * 10_000, "f: the JSON is nested too deeply; no server sends that"),
        (b'{"a":' * 10_000, "f: the JSON is nested too deeply; no server sends that"),
        (b"[" * 10_000 + b"]" * 10_000, "f: the JSON is nested too deeply; no server sends that"),
        (
            b'{"harmony_capture": 1, "endp',
            "f:1: the header line is truncated or not JSON; events need",
        ),
        (
            b'{"harmony_capture": 9, "endpoint": "chat"}',
            "f:1: format 9 is newer than the supported 1; update",
        ),
        (
            b'{"a": 1,\n "b"',
            "f:2: the JSON is invalid or truncated at column 5 (Expecting ':' delimiter); save it again",
        ),
        (b'{"a": "\xff"}', "f: the JSON is damaged: byte 7 is not valid UTF-8; save it again"),
        (b"{}", f"f: unrecognized JSON object (keys: none); use {FORMATS}"),
        (b'{"<b>\\u202e": 1}', f"f: unrecognized JSON object (keys: '<b>\\u202e'); use {FORMATS}"),
        (
            b"Dear diary",
            f"f: unrecognized format; use {FORMATS}, or save",
        ),
        (b"\n<!DOCTYPE html><p>Log in", f"f: a web page; check the address that it came from; use {FORMATS}"),
        (b"<html lang=en>", "f: a web page"),
        (
            b"data: hello\n\n",
            "f: contains no event or body of chat completions, Responses, Messages or completions; use",
        ),
        (b"HTTP/1.1 200 OK\r\n\r\n", "f: headers without a body; let curl finish and save the output again"),
        (b"HTTP/1.1 200 OK\r\n\r\n<html></html>", "f: contains no event or body of chat completions"),
        (
            b'{"harmony_capture": 1, "endpoint": "chat"}\n{"data": "\xff"}\n{"data": ""}',
            "f:2: byte 53 is not valid UTF-8; the file",
        ),
    ],
)
def test_what_is_no_capture_is_refused_with_one_sentence(content: bytes, sentence: str) -> None:
    assert refusal(content).startswith(sentence)


def test_nul_bytes_nests_and_lone_surrogates_within_a_stream_are_kept() -> None:
    chunk = 'data: {"object":"chat.completion.chunk"}\n\n'
    assert read(f"$ curl -iN\nHTTP/1.1 200 OK\n\n{chunk}").header.status == 200
    for odd in ("a\x00b", "[" * 10_000, '{"a":"\\ud800"}', "\u202e<script>alert(1)</script>"):
        capture = read(f"data: {odd}\n\n{chunk}")
        assert capture.events[0] == Event(odd)
        assert capture.header.endpoint is Endpoint.CHAT


def test_a_capture_file_cut_within_a_character_keeps_its_whole_lines() -> None:
    content = '{"harmony_capture": 1, "endpoint": "chat"}\n{"data": "naïve"}\n{"data": "東'.encode()[:-1]
    capture = read(content)
    assert capture.events == [Event("naïve")]
    assert capture.notes == ("Line 3 is truncated after 11 characters; all lines before it were read.",)


SEEDS = [
    *("\n".join(render(known(name))).encode() for name in BUILTIN if "long" not in name),
    *(sse(known(name)) for name in BUILTIN if "long" not in name),
    *(path.read_bytes() for path in sorted(FOREIGN.iterdir()) if path.suffix != ".md"),
    json.dumps(RECORDED).encode(),
    (LOG + STREAMED).encode(),
    b"[200005, 35644, 200008, 1844, 3727]",
    *FORMS.values(),
    b"HTTP/1.1 500 Internal Server Error\r\nDate: x\r\n\r\nInternal Server Error",
]
ODD = [
    b"\x00",
    b"\xff",
    b"\r",
    b"\n\n",
    b'"',
    b"\\",
    b"{",
    b"[" * 2000,
    b"}",
    b"null",
    b"-",
    b"9" * 5000,
    b"data: ",
    b"NaN",
]


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A real file with a few cuts, repeats and replacements."""
    content = draw(st.sampled_from(SEEDS))
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(content)))
        end = draw(st.integers(start, min(len(content), start + 200)))
        piece = draw(st.sampled_from(ODD) | st.binary(max_size=8) | st.just(content[start:end] * 2))
        content = content[:start] + piece + content[end:]
    return content[
        draw(st.just(0) | st.integers(0, 50)) : draw(st.just(len(content)) | st.integers(0, len(content)))
    ]


@given(
    content=mutated()
    | st.binary(max_size=300)
    | st.text(max_size=100).map(lambda text: text.encode("utf-8", "replace"))
)
def test_any_input_is_read_or_refused_with_one_sentence(content: bytes) -> None:
    try:
        captures = sniff_and_read(content, "f")
    except CaptureError:
        refusal(content)
        return
    assert captures
    for capture in captures:
        lines = list(render(capture))
        assert parse(lines, "f") == replace(capture, events=list(capture.events))
