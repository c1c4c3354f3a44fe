"""Each fault ends in one sentence and a capture of what had come; real sockets, real files."""

import gzip
import ssl
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from inspector.analysis.audit import Kind
from inspector.capture.capture import Endpoint, EventKind
from inspector.inspection.inspection import inspect
from inspector.net.client.address import Server
from inspector.net.client.outcome import OutcomeKind
from inspector.net.client.request import LiveRequest
from inspector.net.runs.registry import Registry
from inspector.protocol.harmony.vocab import encode
from tests.support.answers import CHAT, DONE_EVENT, STREAM_EVENTS, answering, certificate
from tests.support.asked import REQUEST, ask, kinds
from tests.support.listening import free_port
from tests.support.raw_server import RawRequest, RawServer, page, raw_server, sse, stream
from tests.support.streams import chat_chunk


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "captures"


def test_a_whole_stream_is_kept_and_clean(folder: Path) -> None:
    with raw_server(answering([*STREAM_EVENTS, DONE_EVENT])) as server:
        run, capture = ask(Server(base_url=server.v1), folder)
    assert run.outcome.failure == ""
    assert capture.header.status == 200
    assert capture.header.server_version == "0.99.0"
    assert capture.end is not None
    assert not capture.end.cut
    assert kinds(capture) == set()
    assert server.bodies(CHAT) == [capture.header.request]
    times = [event.at_s for event in capture.events]
    assert times == sorted(times, key=lambda at: at or 0.0)


def test_nobody_listens_on_the_port(folder: Path) -> None:
    run, capture = ask(Server(base_url=f"http://127.0.0.1:{free_port()}"), folder)
    assert "connection refused at http://127.0.0.1:" in run.outcome.failure
    assert "is the server running?" in run.outcome.failure
    assert run.outcome.kind is OutcomeKind.NOT_REACHED
    assert capture.end is not None
    assert capture.end.cut
    assert kinds(capture) == {Kind.DISCONNECTED}


def test_a_host_name_that_nobody_knows(folder: Path) -> None:
    run, _ = ask(Server(base_url="http://no-such-host.invalid:8000"), folder)
    assert "unknown host name in http://no-such-host.invalid:8000" in run.outcome.failure
    assert run.outcome.kind is OutcomeKind.NOT_REACHED


def test_a_port_where_something_else_than_http_answers(folder: Path) -> None:
    with raw_server({CHAT: lambda _: [b"SSH-2.0-OpenSSH_9.2\r\n\r\n"]}) as server:
        run, _ = ask(Server(base_url=server.v1), folder)
    assert "does not speak HTTP" in run.outcome.failure
    assert run.outcome.kind is OutcomeKind.NOT_REACHED


def test_a_connection_that_closes_without_an_answer(folder: Path) -> None:
    with raw_server({CHAT: lambda _: []}) as server:
        run, capture = ask(Server(base_url=server.v1), folder)
    assert "closed the connection without a response" in run.outcome.failure
    assert run.outcome.kind is OutcomeKind.NOT_REACHED
    assert len(capture.events) == 0


def test_a_certificate_is_not_trusted_unless_named_or_waived(folder: Path, tmp_path: Path) -> None:
    key, chain = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, key)
    with raw_server(answering([*STREAM_EVENTS, DONE_EVENT]), tls=context) as server:
        refused, _ = ask(Server(base_url=server.v1), folder)
        assert "TLS certificate" in refused.outcome.failure
        assert "--insecure" in refused.outcome.failure
        for verify in (str(chain), False):
            run, capture = ask(Server(base_url=server.v1, verify=verify), folder)
            assert run.outcome.failure == ""
            assert len(capture.events) == len(STREAM_EVENTS) + 1


def test_tls_against_a_plain_port(folder: Path) -> None:
    with raw_server(answering(STREAM_EVENTS)) as server:
        run, _ = ask(Server(base_url=server.v1.replace("http:", "https:")), folder)
    assert "does not speak TLS" in run.outcome.failure
    assert "http://" in run.outcome.failure


def test_a_ca_file_that_is_none(folder: Path, tmp_path: Path) -> None:
    run, _ = ask(Server(base_url="https://127.0.0.1:1", verify=str(tmp_path / "none.pem")), folder)
    assert "contains no readable CA certificates" in run.outcome.failure
    assert run.outcome.kind is OutcomeKind.FAILED


@pytest.mark.parametrize(
    ("status", "body", "words", "kind"),
    [
        (
            401,
            '{"error": "Unauthorized"}',
            "rejected the API key (HTTP 401: Unauthorized)",
            OutcomeKind.KEY_REJECTED,
        ),
        (
            404,
            '{"error": {"message": "The model `x` does not exist.", "type": "NotFoundError", "code": 404}}',
            "does not serve the model 'openai/gpt-oss-20b'",
            OutcomeKind.NO_MODEL,
        ),
        (
            400,
            '{"error": {"message": "bad", "code": 400}}',
            "rejected the request (HTTP 400: bad)",
            OutcomeKind.REQUEST_REJECTED,
        ),
        (404, '{"detail": "Not Found"}', "has no /chat/completions", OutcomeKind.NO_ENDPOINT),
        (429, '{"error": {"message": "slow down"}}', "too many requests", OutcomeKind.RATE_LIMITED),
        (
            500,
            '{"error": {"message": "engine died", "code": 500}}',
            "failed (HTTP 500: engine died)",
            OutcomeKind.SERVER_FAILED,
        ),
        (
            502,
            "<html><body>Bad Gateway</body></html>",
            "failed (HTTP 502: a web page, not JSON)",
            OutcomeKind.SERVER_FAILED,
        ),
    ],
)
def test_an_error_status_is_said_in_words_and_kept(
    folder: Path, status: int, body: str, words: str, kind: OutcomeKind
) -> None:
    with raw_server({CHAT: lambda _: [page(status, body, "application/json")]}) as server:
        run, capture = ask(Server(base_url=server.v1), folder)
    assert words in run.outcome.failure
    assert run.outcome.kind is kind
    assert capture.header.status == status
    assert [(event.kind, event.data) for event in capture.events] == [(EventKind.BODY, body)]
    assert kinds(capture) == {Kind.SERVER_ERROR}


def test_a_web_page_in_place_of_a_stream(folder: Path) -> None:
    with raw_server({CHAT: lambda _: [page(200, "<html>router login</html>", "text/html")]}) as server:
        run, capture = ask(Server(base_url=server.v1), folder)
    assert "did not return an API response (a web page, not JSON)" in run.outcome.failure
    assert run.outcome.kind is OutcomeKind.NO_API
    assert capture.events[0].data == "<html>router login</html>"


def test_an_error_inside_the_stream_and_what_follows_it(folder: Path) -> None:
    error = sse({"error": {"message": "Unexpected token 200002", "type": "InternalServerError", "code": 500}})
    with raw_server(answering([*STREAM_EVENTS[:2], error, DONE_EVENT])) as server:
        run, capture = ask(Server(base_url=server.v1), folder)
    assert "reported an error in the stream: Unexpected token 200002" in run.outcome.failure
    assert run.outcome.kind is OutcomeKind.STREAM_ERROR
    assert capture.events[-1].data == "[DONE]"
    assert capture.end is not None
    assert not capture.end.cut
    assert Kind.SERVER_ERROR in kinds(capture)


def test_json_that_breaks_the_openai_client_is_kept_whole(folder: Path) -> None:
    with raw_server(
        answering([STREAM_EVENTS[0], b"data: {broken\n\n", *STREAM_EVENTS[1:], DONE_EVENT])
    ) as server:
        run, capture = ask(Server(base_url=server.v1), folder)
    assert "the openai client failed" in run.outcome.failure
    assert run.outcome.kind is OutcomeKind.CLIENT_FAILED
    assert len(capture.events) == len(STREAM_EVENTS) + 2
    assert Kind.PROTOCOL in kinds(capture)


def test_a_stall_ends_when_the_silence_is_too_long(folder: Path) -> None:
    def stalls(_: RawRequest) -> Iterator[bytes]:
        yield from stream(STREAM_EVENTS[:2], end=False)
        server.release.wait(120)

    with raw_server({CHAT: stalls}) as server:
        run, capture = ask(Server(base_url=server.v1, silence_s=0.4), folder)
    assert "the stream stalled: no data for 0.4 s" in run.outcome.failure
    assert run.outcome.kind is OutcomeKind.TIMED_OUT
    assert len(capture.events) == 2
    assert kinds(capture) == {Kind.DISCONNECTED}


def test_no_answer_at_all_ends_when_the_silence_is_too_long(folder: Path) -> None:
    def waits(_: RawRequest) -> Iterator[bytes]:
        server.release.wait(120)
        yield b""

    with raw_server({CHAT: waits}) as server:
        run, _ = ask(Server(base_url=server.v1, silence_s=0.3), folder)
    assert "no response for 0.3 s" in run.outcome.failure
    assert run.outcome.kind is OutcomeKind.TIMED_OUT


def test_a_cut_inside_an_event_keeps_the_piece(folder: Path) -> None:
    with raw_server(answering([*STREAM_EVENTS[:2], STREAM_EVENTS[3][:40]], end=False)) as server:
        run, capture = ask(Server(base_url=server.v1), folder)
    assert "closed the connection in the middle of the response" in run.outcome.failure
    assert run.outcome.kind is OutcomeKind.BROKEN_OFF
    assert capture.events[-1].data == STREAM_EVENTS[3][:40].decode().removeprefix("data: ")
    assert capture.end is not None
    assert capture.end.cut
    assert Kind.DISCONNECTED in kinds(capture)


def test_done_is_missing(folder: Path) -> None:
    with raw_server(answering(STREAM_EVENTS)) as server:
        run, capture = ask(Server(base_url=server.v1), folder)
    assert run.outcome.failure.endswith("ended the stream without [DONE]")
    assert run.outcome.kind is OutcomeKind.NO_TERMINAL_EVENT
    assert kinds(capture) == {Kind.PROTOCOL}


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_coded_bodies_are_read(folder: Path, coding: str) -> None:
    stream_bytes = b"".join([*STREAM_EVENTS, DONE_EVENT])
    coded = gzip.compress(stream_bytes) if coding == "gzip" else zlib.compress(stream_bytes)
    pieces = [coded[at : at + 7] for at in range(0, len(coded), 7)]
    with raw_server(answering(pieces, coding=coding)) as server:
        run, capture = ask(Server(base_url=server.v1), folder)
    assert run.outcome.failure == ""
    assert len(capture.events) == len(STREAM_EVENTS) + 1
    assert kinds(capture) == set()


def test_ten_megabytes_in_one_event(folder: Path) -> None:
    text = "Hi" * (5 * 2**20)
    large = sse(chat_chunk(encode("Hi"), {"content": text}))
    with raw_server(answering([*STREAM_EVENTS[:3], large, STREAM_EVENTS[4], DONE_EVENT])) as server:
        run, capture = ask(Server(base_url=server.v1), folder)
    assert run.outcome.failure == ""
    assert len(capture.events[3].data) > 10 * 2**20


def test_a_server_that_refuses_token_ids_is_asked_without_them(folder: Path) -> None:
    def strict(request: RawRequest) -> Iterable[bytes]:
        if "return_token_ids" in request.body:
            words = '{"error": {"message": "Unrecognized request argument supplied: return_token_ids"}}'
            return [page(400, words, "application/json")]
        return stream([*(sse(chat_chunk(None, delta)) for delta in ({"content": "Hi"}, {})), DONE_EVENT])

    with raw_server({CHAT: strict}) as server:
        run, capture = ask(Server(base_url=server.v1), folder)
    assert [sorted(body) for body in server.bodies(CHAT)] == [
        ["messages", "model", "return_token_ids", "stream", "stream_options"],
        ["messages", "model", "stream", "stream_options"],
    ]
    [note] = run.outcome.notes
    assert "so the model's tokens are unknown" in note
    assert capture.header.status == 200
    assert len(list(folder.glob("*"))) == 1
    assert inspect(capture).verdict.outcome == "unknown"


def test_keys_and_headers_are_sent_but_stored_nowhere(folder: Path) -> None:
    servers: list[RawServer] = []
    with raw_server(answering([*STREAM_EVENTS, DONE_EVENT])) as server:
        servers.append(server)
        target = Server(base_url=server.v1, api_key="sk-very-secret", headers={"X-Team": "team-secret"})
        run, _ = ask(target, folder)
    sent = next(request for request in server.asked if request.path == CHAT)
    assert sent.headers["authorization"] == "Bearer sk-very-secret"
    assert sent.headers["x-team"] == "team-secret"
    assert run.path is not None
    file_text = run.path.read_text()
    assert "secret" not in file_text
    assert "secret" not in repr(target)
    assert Endpoint.CHAT in file_text


def test_a_background_stream_that_breaks_is_taken_up_where_it_broke(folder: Path) -> None:
    def event(number: int, kind: str, **members: object) -> bytes:
        return f"event: {kind}\n".encode() + sse({"type": kind, "sequence_number": number, **members})

    first = [
        event(0, "response.created", response={"id": "resp_1", "status": "in_progress"}),
        event(1, "response.output_text.delta", delta="Hel"),
    ]
    rest = [
        event(2, "response.output_text.delta", delta="lo"),
        event(3, "response.completed", response={"id": "resp_1", "status": "completed", "output": []}),
    ]
    with raw_server(
        {
            "/v1/responses": lambda _: stream(first, end=False),
            "/v1/responses/resp_1": lambda _: stream(rest),
        }
    ) as server:
        request = LiveRequest(model=REQUEST.model, prompt="Hi", endpoint=Endpoint.RESPONSES, background=True)
        run, capture = ask(Server(base_url=server.v1), folder, request)
    assert run.outcome.failure == ""
    assert [request.path for request in server.asked if "resp_1" in request.path] == [
        "/v1/responses/resp_1?stream=true&starting_after=1"
    ]
    assert len(capture.events) == 4
    assert capture.end is not None
    assert not capture.end.cut


def test_a_mistake_of_the_program_is_not_told_as_the_users_stop() -> None:
    with raw_server(answering([*STREAM_EVENTS, DONE_EVENT])) as server:
        registry = Registry(None)
        run = registry.start(Server(base_url=server.v1, connect_s="soon"), REQUEST)  # type: ignore[arg-type]
        assert registry.wait(run, 120)
    assert run.outcome.kind is OutcomeKind.FAILED
    assert run.outcome.failure.startswith("the program failed (TypeError: ")
