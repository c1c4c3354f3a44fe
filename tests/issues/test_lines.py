import io

import pytest

from inspector.issues.texts.anchors import Anchor
from inspector.issues.texts.lines import (
    anchor_of,
    exception_of,
    lines_of_file,
    minute_of,
    request_of,
    split,
)

SERVER = "\x1b[0;36m(APIServer pid=30107)\x1b[0;0m "


@pytest.mark.parametrize(
    ("line", "rest", "level", "anchor"),
    [
        (
            f"{SERVER}ERROR 11-20 22:48:24 [serving_chat.py:1305] Error in chat",
            "Error in chat",
            "ERROR",
            Anchor("serving_chat.py", 1305),
        ),
        (f"{SERVER}ERROR:    Exception in ASGI application", "Exception in ASGI application", "ERROR", None),
        (f"{SERVER}    raise exc", "   raise exc", "", None),
        ("INFO 11-20 22:47:22 [importing.py:44] Triton", "Triton", "INFO", Anchor("importing.py", 44)),
        ("plain words", "plain words", "", None),
        ("", "", "", None),
    ],
)
def test_a_line_is_split_from_its_prefix(line: str, rest: str, level: str, anchor: Anchor | None) -> None:
    parts = split(line)
    assert (parts.rest.lstrip(), parts.level, parts.anchor) == (rest.lstrip(), level, anchor)


@pytest.mark.parametrize(
    ("line", "minute"),
    [
        (f"{SERVER}INFO 11-20 22:47:28 [api_server.py:1351] x", "11-20 22:47"),
        ("2026-11-20T22:47:28.123Z stdout F INFO", "2026-11-20 22:47"),
        ("2026-11-20 22:47:28,123 ERROR", "2026-11-20 22:47"),
        ("a-b-c 11-20 22:47:28", "11-20 22:47"),
        ("no time here - at all", ""),
        ("11-20 22:47", ""),
        ("-", ""),
    ],
)
def test_the_minute_of_a_line_is_read_as_it_stands(line: str, minute: str) -> None:
    assert minute_of(line) == minute


@pytest.mark.parametrize(
    ("line", "request_"),
    [
        ('INFO:     1.2.3.4:5 - "POST /v1/chat/completions HTTP/1.1" 200 OK', ("/v1/chat/completions", 200)),
        ('INFO:     1.2.3.4:5 - "POST /v1/responses HTTP/1.1" 500 Internal', ("/v1/responses", 500)),
        ('INFO:     1.2.3.4:5 - "POST /v1/embeddings HTTP/1.1" 200 OK', None),
        ('INFO:     1.2.3.4:5 - "GET /version HTTP/1.1" 200 OK', None),
    ],
)
def test_requests_are_those_to_endpoints_that_generate(line: str, request_: tuple[str, int] | None) -> None:
    assert request_of(line) == request_


@pytest.mark.parametrize(
    ("line", "is_exception"),
    [
        ("openai_harmony.HarmonyError: Unknown role: x", True),
        ("KeyError: 'python'", True),
        ("KeyboardInterrupt", True),
        ("SystemExit: 1", True),
        ("An Error: of prose", False),
        ("NotAnErrorAtAll", False),
        ("  ValueError: indented", False),
    ],
)
def test_an_exceptions_last_line_is_known(line: str, is_exception: bool) -> None:
    assert bool(exception_of(line)) is is_exception


def test_a_frame_names_file_and_line() -> None:
    assert anchor_of('  File "/x/vllm/entrypoints/context.py", line 786, in append_output') == Anchor(
        "/x/vllm/entrypoints/context.py", 786
    )
    assert anchor_of("    self.parser.process(tok)") is None


def test_a_file_is_read_in_pieces_whatever_its_bytes() -> None:
    content = b"one\n" + b"x" * 200_000 + b"\n\xff\xfe\n"
    lines = list(lines_of_file(io.BytesIO(content)))
    assert max(map(len, lines)) <= 65536
    assert "".join(lines) == content.decode("utf-8", "replace")
