"""Event streams decode by the rules of the HTML standard, however their bytes arrive."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.files.store import Builtin, builtin, load
from inspector.protocol.wire.sse import SseDecoder, SseItem

STREAM = (
    '\ufeff: hello\r\n\r\nevent: response.created\r\ndata: {"a":1}\r\n\r\n'
    "data:naïve\ndata: 👩\u200d🚀\n\nid: 7\rretry: 9\rdata\r\r"
    ":keep-alive\n\nevent: nothing\n\ndata:  two spaces\nwhat: is this\ndatum: no\n\ndata: cut"
).encode()
ITEMS = [
    SseItem("hello", comment=True),
    SseItem('{"a":1}', "response.created"),
    SseItem("naïve\n👩\u200d🚀"),
    SseItem(""),
    SseItem("keep-alive", comment=True),
    SseItem(" two spaces"),
    SseItem("cut", complete=False),
]


def decode(*pieces: bytes, limit_bytes: int = 1000) -> list[SseItem]:
    decoder = SseDecoder(limit_bytes=limit_bytes)
    return [item for piece in pieces for item in decoder.receive(piece)] + decoder.close()


def test_a_stream_is_decoded_by_the_rules() -> None:
    assert decode(STREAM) == ITEMS


@given(cuts=st.lists(st.integers(0, len(STREAM))))
def test_events_do_not_depend_on_how_the_bytes_arrive(cuts: list[int]) -> None:
    pieces = [STREAM[a:b] for a, b in pairwise([0, *sorted(cuts), len(STREAM)])]
    assert decode(*pieces) == ITEMS


def test_a_byte_at_a_time_gives_the_same_events() -> None:
    assert decode(*[STREAM[at : at + 1] for at in range(len(STREAM))]) == ITEMS


LINES = st.lists(
    st.sampled_from(
        [b"data: x", b"data:", b"data", b"event: e", b": c", b"id: 1", b"", b"\xff\xe2\x82", b"\xef\xbb\xbf"]
    )
    | st.binary(max_size=12),
    max_size=20,
)


@given(
    lines=LINES,
    ends=st.lists(st.sampled_from([b"\r", b"\n", b"\r\n"]), min_size=20, max_size=20),
    data=st.data(),
)
def test_any_bytes_decode_the_same_whole_and_in_pieces(
    lines: list[bytes], ends: list[bytes], data: st.DataObject
) -> None:
    stream = b"".join(line + end for line, end in zip(lines, ends, strict=False))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    pieces = [stream[a:b] for a, b in pairwise([0, *cuts, len(stream)])]
    for limit in (5, 1000):
        assert decode(*pieces, limit_bytes=limit) == decode(stream, limit_bytes=limit)


@pytest.mark.parametrize(
    ("stream", "items"),
    [
        (b"data: a\n\ndata: b\n\n", [SseItem("a"), SseItem("b")]),
        (b"event: only\n\ndata: x\n\n", [SseItem("x")]),
        (b"event: a\nevent\ndata: x\n\n", [SseItem("x")]),
        (b"data\n\ndata\ndata\n\n", [SseItem(""), SseItem("\n")]),
        (b"data: a\r\r\ndata: b\n\r\n", [SseItem("a"), SseItem("b")]),
        (b"data: \xff\xe2\x82\n\n", [SseItem("��")]),
        (b"data: a\x00b\n\n", [SseItem("a\x00b")]),
        (b"data: a\xe2\x80\xa8b\x0bc\n\n", [SseItem("a\u2028b\x0bc")]),
        (b"data: a\n\n\xef\xbb\xbfdata: b\n\n", [SseItem("a")]),
        (b"data: a\n: c\ndata: b\n\n", [SseItem("c", comment=True), SseItem("a\nb")]),
        (b"data: [DONE]", [SseItem("[DONE]", complete=False)]),
        (b"data: a\n", [SseItem("a", complete=False)]),
        (b": comm", [SseItem("comm", comment=True, complete=False)]),
        (b"event: e\ndat", []),
        (b"", []),
        (b"\n\n\r\r\n", []),
    ],
)
def test_one_rule_each(stream: bytes, items: list[SseItem]) -> None:
    assert decode(stream) == items


@pytest.mark.parametrize("step", [1, 3, 100])
def test_a_line_over_the_limit_is_cut_there_and_says_so(step: int) -> None:
    stream = b"data: 0123456789\n\ndata: ok\n\n: 0123456789\n\nwhat0123456789\n\ndata: 0123456789"
    pieces = [stream[at : at + step] for at in range(0, len(stream), step)]
    assert decode(*pieces, limit_bytes=10) == [
        SseItem("0123", complete=False),
        SseItem("ok"),
        SseItem("01234567", comment=True, complete=False),
        SseItem("0123", complete=False),
    ]


def test_an_event_of_many_lines_is_bounded_as_a_whole() -> None:
    assert decode(b"data: 01234\n" * 4 + b"\ndata: x\n\n", limit_bytes=14) == [
        SseItem("01234\n01234\n01\n", complete=False),
        SseItem("x"),
    ]


def test_a_decoder_can_be_used_again_after_its_end() -> None:
    decoder = SseDecoder()
    assert decoder.receive(b"event: e\ndata: a\r") == []
    assert decoder.close() == [SseItem("a", "e", complete=False)]
    assert decoder.receive(b"\n\ndata: b\n\n") == [SseItem("b")]


def test_ten_megabytes_in_one_event_arrive_in_small_pieces() -> None:
    piece = b"0123456789abcdef" * 16  # 40,000 pieces: work that grew with the square would take minutes
    decoder = SseDecoder()
    assert decoder.receive(b"data: ") == []
    for _ in range(40_000):
        assert decoder.receive(piece) == []
    (item,) = decoder.receive(b"\n\n")
    assert item == SseItem((piece * 40_000).decode())


@pytest.mark.parametrize("row", builtin(), ids=lambda row: row.name)
def test_real_streams_come_through_unchanged(row: Builtin) -> None:
    capture = load(row.path)
    stream = "".join(
        (f"event: {event.name}\n" if event.name else "") + f"data: {event.data}\n\n"
        for event in capture.events
    )
    assert decode(stream.encode(), limit_bytes=10**6) == [
        SseItem(event.data, event.name) for event in capture.events
    ]
