"""Other programs' files become captures by their content; anything else is refused with one sentence."""

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inspector.capture import Capture, End, Endpoint, Event, EventKind, Header, parse, render
from inspector.errors import CaptureError
from inspector.importers import sniff_and_read
from inspector.inspection import inspect
from inspector.store import Builtin, builtin, load
from tests.support.streams import chat

FOREIGN = Path(__file__).parent / "foreign"
BUILTIN = {row.name: row for row in builtin()}
CHAT, RESPONSES = "chat-tool-call-leak-vllm-0.14.1", "responses-dropped-tokens-vllm-0.13.0"
CUT = "The last event has no blank line after it: the stream or the file was cut there."
ALONE = "Only an error came: the endpoint is not told by it and was taken to be chat completions."


def known(name: str) -> Capture:
    (capture,) = load(BUILTIN[name].path)
    return capture


def untimed(events: Any) -> list[Event]:
    return [event._replace(at_s=None) for event in events]


def sse(capture: Capture, end: str = "\n") -> bytes:
    """The capture's events as the server sent them."""
    lines = "".join(
        f"{f'event: {event.name}{end}' if event.name else ''}data: {event.data}{end}{end}"
        for event in capture.events
    )
    return lines.encode()


def read(content: bytes | str) -> Capture:
    (capture,) = sniff_and_read(content if isinstance(content, bytes) else content.encode(), "f")
    return capture


def refusal(content: bytes | str) -> str:
    with pytest.raises(CaptureError) as refused:
        sniff_and_read(content if isinstance(content, bytes) else content.encode(), "f")
    sentence = str(refused.value)
    assert "\n" not in sentence
    assert sentence.isprintable()
    return sentence


# --- curl dumps


@pytest.mark.parametrize("row", BUILTIN.values(), ids=lambda row: row.name)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_curl_dump_gives_the_events_without_times(row: Builtin, end: str) -> None:
    (capture,) = load(row.path)
    dump = read(sse(capture, end))
    assert dump.events == untimed(capture.events)
    assert dump.header == Header(endpoint=row.endpoint, model="openai/gpt-oss-tiny", source="curl dump")
    assert (dump.end, dump.notes) == (None, ())


def test_a_file_written_by_curl_reads() -> None:
    dump = read((FOREIGN / "curl-n-chat.txt").read_bytes())
    assert dump == Capture(
        header=Header(endpoint=Endpoint.CHAT, model="openai/gpt-oss-tiny", source="curl dump"),
        events=untimed(known(CHAT).events),
    )


def test_response_headers_in_front_tell_the_status() -> None:
    dump = read((FOREIGN / "curl-i-responses.txt").read_bytes())
    assert dump.events == untimed(known(RESPONSES).events)
    assert dump.header.status == 200
    assert dump.header.source == "curl -i dump"


def test_an_error_answer_is_one_body() -> None:
    dump = read((FOREIGN / "curl-i-error.txt").read_bytes())
    (event,) = dump.events
    assert event.kind is EventKind.BODY
    assert json.loads(event.data)["error"]["message"] == "max_tokens must be at least 1, got 0."
    assert (dump.header.endpoint, dump.header.status, dump.notes) == (Endpoint.CHAT, 400, (ALONE,))


def test_interim_answers_in_front_are_read_over() -> None:
    front = (
        b"HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/2 200 \r\na: b\r\n\r\n"
    )
    dump = read(front + sse(known(CHAT)))
    assert dump.events == untimed(known(CHAT).events)
    assert dump.header.status == 200


@pytest.mark.parametrize(
    ("body", "endpoint"),
    [
        ('{"object":"chat.completion","model":"m","choices":[{"message":{"content":"Hi"}}]}', Endpoint.CHAT),
        ('{"object":"text_completion","model":"m","choices":[{"text":"Hi"}]}', Endpoint.COMPLETIONS),
        ('{"object":"response","model":"m","output":[]}', Endpoint.RESPONSES),
        ('{"object":"chat.completion","model":"m","token_ids":[1],"choices":[]}', Endpoint.CHAT),
    ],
)
@pytest.mark.parametrize("front", ["", "HTTP/1.1 200 OK\r\n\r\n", "\ufeff", " \n"])
def test_an_unstreamed_answer_is_one_body(body: str, endpoint: Endpoint, front: str) -> None:
    capture = read(front + body + "\n")
    assert capture.events == [Event(body, kind=EventKind.BODY)]
    assert (capture.header.endpoint, capture.header.model) == (endpoint, "m")


@pytest.mark.parametrize(
    "body",
    [
        '{"error": {"message": "no"}}',
        '{"object": "error", "message": "no", "code": 404}',
        '{"detail": "Not Found"}',
        "HTTP/1.1 500 Internal Server Error\r\n\r\nInternal Server Error",
        "HTTP/1.1 502 Bad Gateway\r\nserver: nginx\r\n\r\n<html><script>alert(1)</script></html>",
        'data: {"error": {"message": "no"}}\n\ndata: [DONE]\n\n',
    ],
)
def test_an_error_alone_is_kept_and_its_endpoint_doubted(body: str) -> None:
    capture = read(body)
    assert capture.header.endpoint is Endpoint.CHAT
    assert capture.notes == (ALONE,)
    assert capture.events


def test_an_error_of_responses_tells_its_endpoint() -> None:
    assert (
        read('event: error\ndata: {"type":"error","sequence_number":3}\n\n').header.endpoint
        is Endpoint.RESPONSES
    )


def test_comments_and_names_are_kept() -> None:
    stream = b': keep-alive\n\nevent: response.created\ndata: {"type":"response.created"}\n\n'
    assert read(stream).events == [
        Event("keep-alive", kind=EventKind.COMMENT),
        Event('{"type":"response.created"}', name="response.created"),
    ]


def test_a_stream_cut_off_says_so_and_keeps_the_rest() -> None:
    whole = sse(known(CHAT))
    dump = read(whole[:-30])
    assert dump.notes == (CUT,)
    assert dump.events[:-1] == untimed(known(CHAT).events[: len(dump.events) - 1])
    assert read(whole.rstrip()).events == untimed(known(CHAT).events)


def test_a_dump_of_powershell_in_utf_16_reads() -> None:
    text = sse(known(RESPONSES), "\r\n").decode()
    for encoding in ("utf-16-le", "utf-16-be"):
        assert read(("\ufeff" + text).encode(encoding)).events == untimed(known(RESPONSES).events)


def test_words_in_front_of_a_stream_are_read_over() -> None:
    assert read(b"$ curl -N ...\n" + sse(known(CHAT))).events == untimed(known(CHAT).events)


# --- HAR


@pytest.mark.parametrize("name", ["playwright.har", "devtools.har"])
def test_a_har_file_gives_its_streams_and_only_them(name: str) -> None:
    captures = sniff_and_read((FOREIGN / name).read_bytes(), name)
    assert [capture.header.endpoint for capture in captures[:2]] == [Endpoint.CHAT, Endpoint.RESPONSES]
    assert [untimed(capture.events) for capture in captures[:2]] == [
        untimed(known(CHAT).events),
        untimed(known(RESPONSES).events),
    ]
    assert captures[0].header.request["return_token_ids"] is True
    assert captures[0].header.status == 200
    assert captures[0].end is not None
    assert not captures[0].end.cut
    assert "sk-test" not in "".join(line for capture in captures for line in render(capture))


def test_the_devtools_tell_when_each_event_came() -> None:
    chat, _ = sniff_and_read((FOREIGN / "devtools.har").read_bytes(), "f")
    times = [event.at_s for event in chat.events if event.at_s is not None]
    assert len(times) == len(chat.events)
    assert times == sorted(times)
    assert times[0] == 0.00089
    assert chat.end is not None
    assert chat.end.at_s == 0.140916
    assert chat.header.started_at == "2026-11-21T00:57:13.213000+00:00"


def test_playwright_tells_no_times_so_none_are_shown() -> None:
    chat, _, error = sniff_and_read((FOREIGN / "playwright.har").read_bytes(), "f")
    assert {event.at_s for event in chat.events} == {None}
    assert (error.header.status, error.header.endpoint) == (400, Endpoint.CHAT)


def har(*entries: object) -> str:
    return json.dumps({"log": {"version": "1.2", "entries": list(entries)}})


def entry(
    content: Any, *, url: str = "http://e/v1/chat/completions", status: int = 200, **more: Any
) -> dict[str, Any]:
    return {
        "startedDateTime": "2025-11-20T23:48:24.500+01:00",
        "time": 1500,
        "request": {"method": "POST", "url": url, "postData": {"text": '{"model": "m", "api_key": "sk-1"}'}},
        "response": {"status": status, "content": content, **more},
    }


def test_base64_content_and_a_broken_transfer_read() -> None:
    body = base64.b64encode(sse(known(CHAT))).decode()
    capture = read(
        har({"no": "request"}, entry({"text": body, "encoding": "base64"}, _error="net::ERR_ABORTED"))
    )
    assert capture.events == untimed(known(CHAT).events)
    assert capture.end == End(at_s=1.5, cut=True, detail="net::ERR_ABORTED")
    assert capture.header == Header(
        endpoint=Endpoint.CHAT,
        request={"model": "m"},
        model="m",
        status=200,
        started_at="2025-11-20T22:48:24.500000+00:00",
        source="HAR file",
    )


MESSAGES = [
    {
        "time": 1763678904.75,
        "eventName": "message",
        "eventId": "",
        "data": '{"object":"chat.completion.chunk"}',
    },
    {"time": 1763678905.0, "eventName": "end", "eventId": "", "data": "[DONE]"},
]


def test_messages_stand_in_for_a_missing_text() -> None:
    capture = read(har(entry({}) | {"_eventSourceMessages": MESSAGES}))
    assert capture.events == [Event('{"object":"chat.completion.chunk"}', 0.25), Event("[DONE]", 0.5, "end")]


def test_a_sanitized_export_still_gives_the_times() -> None:
    bare = [{key: value for key, value in message.items() if key != "data"} for message in MESSAGES]
    text = 'data: {"object":"chat.completion.chunk"}\n\ndata: [DONE]\n\n'
    capture = read(har(entry({"text": text}) | {"_eventSourceMessages": bare}))
    assert [event.at_s for event in capture.events] == [0.25, 0.5]


def test_messages_of_another_stream_give_no_times() -> None:
    text = 'data: {"object":"chat.completion.chunk"}\n\ndata: [DONE]\n\n'
    other = [MESSAGES[0], {**MESSAGES[1], "data": "other"}]
    for messages in (other, MESSAGES[:1], [*MESSAGES, 1], [{"time": "x"}, {"time": 10**400}]):
        capture = read(har(entry({"text": text}) | {"_eventSourceMessages": messages}))
        assert {event.at_s for event in capture.events} == {None}


def test_an_error_page_under_vllms_path_is_a_capture_and_other_pages_are_not() -> None:
    page = {"text": "<html>502 Bad Gateway</html>"}
    captures = sniff_and_read(
        har(entry(page, status=502), entry(page), entry(page, url="http://e/", status=502)).encode(), "f"
    )
    assert [capture.events[0].data for capture in captures] == ["<html>502 Bad Gateway</html>"]


@pytest.mark.parametrize(
    ("entries", "sentence"),
    [
        (
            (),
            "f: no entry (of 0) is an answer of chat completions, Responses or completions; "
            "record the request to vLLM itself",
        ),
        (({},), "f: no entry (of 1) is an answer"),
        ((1,), "f: log.entries[0] is 1, not an object; export it again"),
        ((entry({}),), "f: it has requests to vLLM (1), but no answer's text; export it with content"),
        (
            (entry({"text": "a", "encoding": "base64"}),),
            "f: log.entries[0]: its content is damaged base64; export it again",
        ),
    ],
)
def test_a_har_file_without_a_stream_is_refused(entries: tuple[object, ...], sentence: str) -> None:
    assert refusal(har(*entries)).startswith(sentence)


# --- lists of token ids


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("[200005, 35644,200008]", "[200005, 35644,200008]"),
        ("\ufeff [1]\n", "[1]"),
        ("200005 35644\n200008\r\n", "[200005, 35644, 200008]"),
        ("200005,35644;200008,", "[200005, 35644, 200008]"),
        ("[200005 35644 200008]", "[200005, 35644, 200008]"),
        ("(200005, 35644, 200008)", "[200005, 35644, 200008]"),
        ("[[200005], [35644]", None),
        ("7", "[7]"),
        ("-1 201088 2147483648 +5 007", "[-1, 201088, 2147483648, 5, 7]"),
        ("[-1, 2147483648, 18446744073709551616]", "[-1, 2147483648, 18446744073709551616]"),
        ('{"token_ids": [1, 2]}', "[1, 2]"),
        ('{"output_token_ids": [1, 2], "x": {}}', "[1, 2]"),
        ('{"count": 2, "max_model_len": 9, "tokens": [1, 2]}', "[1, 2]"),
    ],
)
def test_lists_of_ids_are_one_event_of_the_tokens_endpoint(text: str, ids: str | None) -> None:
    if ids is None:
        assert refusal(text).startswith("f:1: the JSON is damaged or cut off")
        return
    capture = read(text)
    assert capture.header.endpoint is Endpoint.TOKENS
    assert capture.events == [Event(ids)]
    assert capture.notes == ()


@pytest.mark.parametrize("text", ["[1, 2, 33", "[1 2", "(1, 2"])
def test_a_list_without_its_end_is_read_with_a_doubt(text: str) -> None:
    assert read(text).notes == (
        "The list has no closing bracket: it was cut off, perhaps within its last number.",
    )


def test_a_million_ids_read() -> None:
    ids = list(range(1_000_000))
    text = json.dumps(ids)
    assert read(text).events == [Event(text)]
    assert json.loads(read(" ".join(map(str, ids))).events[0].data) == ids


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "[]",
            "f: the list is empty; give a capture, a curl -N dump, a HAR file, a list of token ids or a",
        ),
        ("()", "f: the list is empty; give"),
        ("[1, 2.0]", "f: item 1 of the list is 2.0, not a token id; give whole numbers"),
        ("[1, true]", "f: item 1 of the list is True, not a token id; give whole numbers"),
        ("[1, null]", "f: item 1 of the list is None, not a token id; give whole numbers"),
        ('["1", 2]', "f: item 0 of the list is '1', not a token id; give whole numbers"),
        ('["\\ud800", 2]', "f: item 0 of the list is '\\ud800', not a token id; give whole numbers"),
        ("[[1, 2], [3]]", "f: item 0 of the list is a list, not a token id; give whole numbers"),
        (
            '{"token_ids": ["<script>\\u202e"]}',
            "f: item 0 of the list is '<script>\\u202e', not a token id; give whole numbers",
        ),
        ("1 2-3", "f: '2-3' is no token id; put spaces, commas or line ends between numbers"),
        ("9" * 5000, f"f: '{'9' * 36}... is no token id; put spaces, commas or line ends between numbers"),
        (
            f"[{'9' * 5000}]",
            f"f: '{'9' * 36}... is no token id; put spaces, commas or line ends between numbers",
        ),
        (
            f'{{"tokens": [{"9" * 5000}]}}',
            "f: the JSON holds a number of thousands of digits; no server sends that",
        ),
    ],
)
def test_what_is_no_id_is_refused_with_its_place(text: str, sentence: str) -> None:
    assert refusal(text).startswith(sentence)


# --- the files of the first lab recordings


RECORDED: dict[str, Any] = {
    "server": {"version": "0.13.0"},
    "endpoint": "/v1/responses",
    "request": {"model": "m"},
    "status": 200,
    "lines": [
        [0.1, ": ping"],
        [0.2, "event: response.created"],
        [0.25, 'data: {"type":"response.created"}'],
        [0.3, "data:x"],
        [0.3, ""],
        [0.3, "id: 1"],
    ],
    "error": "RemoteProtocolError('peer closed connection')",
    "script": [200005, 35644],
}


def test_a_lab_recording_pairs_names_and_payloads() -> None:
    assert read(json.dumps(RECORDED)) == Capture(
        header=Header(
            endpoint=Endpoint.RESPONSES,
            request={"model": "m"},
            model="m",
            server_version="0.13.0",
            status=200,
            source="lab recording",
            script=(200005, 35644),
        ),
        events=[
            Event("ping", 0.1, kind=EventKind.COMMENT),
            Event('{"type":"response.created"}', 0.25, "response.created"),
            Event("x", 0.3),
        ],
        end=End(at_s=0.3, cut=True, detail="RemoteProtocolError('peer closed connection')"),
    )


def test_a_lab_recording_of_an_error_answer_is_a_body_and_a_proper_end() -> None:
    row = {**RECORDED, "status": 400, "lines": [[1, '{"error":'], [2, '{"message":"no"}}']], "error": None}
    capture = read(json.dumps(row))
    assert capture.events == [Event('{"error":\n{"message":"no"}}', 2.0, kind=EventKind.BODY)]
    assert capture.end == End(at_s=2.0, cut=False)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"endpoint": "/v1/embeddings"},
            "f: endpoint is '/v1/embeddings', not one of vLLM's that generate text",
        ),
        ({"lines": [[0, "data: x"], "data: y"]}, "f: lines[1] is 'data: y', not [seconds, text]"),
        ({"lines": [[True, "data: x"]]}, "f: lines[0] is a list, not [seconds, text]"),
        ({"lines": [[-1, "data: x"]]}, "f: lines[0] is a list, not [seconds, text]"),
    ],
)
def test_a_damaged_lab_recording_is_refused(change: dict[str, Any], sentence: str) -> None:
    assert refusal(json.dumps(RECORDED | change)) == sentence


# --- vLLM server logs (lines in the forms of vLLM's own request logger)

HOSTILE = r"'a, output_token_ids: [666], finish_reason: x\n'"
LOG = f"""INFO 11-20 22:47:22 [api_server.py:1351] vLLM API server version 0.13.0
(APIServer pid=1) INFO 11-20 22:48:24 [logger.py:47] Received request chatcmpl-a: params: SamplingParams(n=1).
\x1b[0;36m(APIServer pid=1)\x1b[0;0m INFO 11-20 22:48:25 [logger.py:76] Generated response chatcmpl-a: \
output: {HOSTILE}, output_token_ids: [200005, 35644, 200008], finish_reason: stop
INFO 11-20 22:48:26 [logger.py:76] Generated response resp_b: \
output: '', output_token_ids: (7,), finish_reason: None
"""
STREAMED = """INFO [logger.py:92] Generated response chatcmpl-c (streaming delta): \
output: 'x', output_token_ids: [87], finish_reason: None
INFO [logger.py:92] Generated response chatcmpl-c (streaming complete): \
output: 'x', output_token_ids: None, finish_reason: streaming_complete
"""


def test_a_server_log_gives_a_capture_an_answer() -> None:
    first, second = sniff_and_read(LOG.encode(), "f")
    assert first == Capture(
        header=Header(
            endpoint=Endpoint.TOKENS,
            server_version="0.13.0",
            source="vLLM server log",
            extra={"request_id": "chatcmpl-a"},
        ),
        events=[Event("[200005, 35644, 200008]")],
    )
    assert second.events == [Event("[7]")]
    assert second.header.extra == {"request_id": "resp_b"}


def test_the_newer_form_of_the_log_reads() -> None:
    line = (
        "DEBUG 11-20 22:48:25 [request_logger.py:90] Generated response a details: output_token_ids: [1, 2]\n"
    )
    assert read(line).events == [Event("[1, 2]")]


def test_streamed_answers_of_a_log_are_left_out_with_a_note() -> None:
    first, second = sniff_and_read((LOG + STREAMED).encode(), "f")
    assert first.notes == ("Streamed answers left out, as vLLM logs only some of their token ids: 1.",)
    assert second.notes == ()
    assert refusal(STREAMED).startswith(
        "f: it logs streamed answers only (1), of which vLLM tells but some token ids; ask"
    )


def test_a_log_that_bounds_or_cuts_its_lists_says_so() -> None:
    args = "INFO [utils.py:253] non-default args: {'max_log_len': 3}\n"
    cut = "INFO [logger.py:76] Generated response d: output: '', output_token_ids: [1, 2"
    first, second = sniff_and_read((args + LOG + cut).encode(), "f")
    assert first.notes == (
        "Lines of token ids cut off and left out: 1.",
        "The server ran with --max-log-len 3: ids after these are not in the log.",
    )
    assert second.notes == ()
    assert refusal(cut).startswith("f: its output_token_ids lines hold no whole list of ids")


# --- refusals

KINDS = "a capture, a curl -N dump, a HAR file, a list of token ids or a vLLM log"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", f"f: the file is empty; give {KINDS}"),
        (b" \r\n\t", f"f: the file is empty; give {KINDS}"),
        (b"\xef\xbb\xbf", f"f: the file is empty; give {KINDS}"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", f"f: this is a PNG picture; give {KINDS}"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF", f"f: this is a JPEG picture; give {KINDS}"),
        (b"PK\x03\x04", f"f: this is a ZIP archive; unpack it first, or give {KINDS}"),
        (b"\x1f\x8b\x08", f"f: this is a gzip file inside another file; unpack it first, or give {KINDS}"),
        (b"abc\x00def", f"f: a NUL byte at 3: this is no text; give {KINDS}"),
        (b"\x00" * 1000, f"f: a NUL byte at 0: this is no text; give {KINDS}"),
        (b'{"a": "\x00"}', f"f: NUL bytes within JSON: the file is damaged; give {KINDS}"),
        (b"[" * 10_000, "f: the JSON nests deeper than can be read; no server sends that"),
        (b'{"a":' * 10_000, "f: the JSON nests deeper than can be read; no server sends that"),
        (b"[" * 10_000 + b"]" * 10_000, "f: the JSON nests deeper than can be read; no server sends that"),
        (
            b'{"harmony_capture": 1, "endp',
            "f:1: the header line is cut off or no JSON; without it the events",
        ),
        (
            b'{"harmony_capture": 9, "endpoint": "chat"}',
            "f:1: format 9 is newer than this program reads (1); update",
        ),
        (
            b'{"a": 1,\n "b"',
            "f:2: the JSON is damaged or cut off at column 5 (Expecting ':' delimiter); save it again",
        ),
        (b'{"a": "\xff"}', "f: the JSON is damaged: byte 7 is no UTF-8; save it again"),
        (b"{}", f"f: a JSON object of an unknown kind (its keys: none); give {KINDS}"),
        (b'{"<b>\\u202e": 1}', f"f: a JSON object of an unknown kind (its keys: '<b>\\u202e'); give {KINDS}"),
        (
            b"Dear diary",
            "f: neither a capture, a curl -N dump, a HAR file, a list of token ids nor a vLLM log; save",
        ),
        (
            b"data: hello\n\n",
            "f: no event or body in it comes from chat completions, Responses or completions; give",
        ),
        (b"HTTP/1.1 200 OK\r\n\r\n", "f: headers without a body; let curl run to its end and save it again"),
        (b"HTTP/1.1 200 OK\r\n\r\n<html></html>", "f: no event or body in it comes from chat completions"),
        (
            b'{"harmony_capture": 1, "endpoint": "chat"}\n{"data": "\xff"}\n{"data": ""}',
            "f:2: byte 53 is no UTF-8; the file",
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
    assert capture.notes == ("Line 3 is cut off after 11 characters; all lines before it were kept.",)


# --- any input is read or refused

SEEDS = [
    *("\n".join(render(known(name))).encode() for name in BUILTIN if "long" not in name),
    *(sse(known(name)) for name in BUILTIN if "long" not in name),
    *(path.read_bytes() for path in sorted(FOREIGN.iterdir()) if path.suffix != ".md"),
    json.dumps(RECORDED).encode(),
    (LOG + STREAMED).encode(),
    b"[200005, 35644, 200008, 1844, 3727]",
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


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
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


def test_answers_that_were_appended_to_one_file_are_told_apart() -> None:
    one = render_sse(chat([("<|channel|>final<|message|>Hi", {"content": "Hi"}), ("<|return|>", {})]))
    both = sniff_and_read(one + b": keep-alive\n\n" + one + b": bye\n\n", "two.txt")
    seen = [inspect(capture) for capture in both]
    assert [one.reading.choice.delivered().content for one in seen] == ["Hi", "Hi"]
    assert [one.findings for one in seen] == [[], []]


def render_sse(capture: Capture) -> bytes:
    return b"".join(f"data: {event.data}\n\n".encode() for event in capture.events)
