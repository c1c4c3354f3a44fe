import json
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette

from inspector.capture.capture import Capture, End, Event, Header
from inspector.files.store import builtin, load
from inspector.net.client.address import Server
from inspector.net.client.request import LiveRequest
from inspector.net.runs import registry as runs
from inspector.net.runs.feed import runs_routes
from inspector.net.runs.registry import Registry
from tests.support.listening import listening
from tests.support.raw_server import RawRequest, raw_server, sse, stream
from tests.support.streams import aborted, chat

CAPTURE = chat(
    [
        ("<|channel|>analysis<|message|>", {}),
        ("Think", {"reasoning": "Think"}),
        ("<|end|><|start|>assistant<|channel|>final<|message|>", {}),
        ("Hello", {"content": "Hello"}),
        (" there", {}),
        ("<|return|>", {}),
    ]
)


@pytest.fixture
def registry() -> Registry:
    return Registry(None)


@pytest.fixture
def address(registry: Registry) -> Iterator[str]:
    with listening(Starlette(routes=runs_routes(registry))) as server_address:
        yield server_address


def messages(lines: Iterator[str]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Id, name and content of each event."""
    fields: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif "data" in fields:
            yield fields["id"], fields["event"], json.loads(fields["data"])
            fields = {}


def record(registry: Registry, *, end: bool = True, events: int = 100, capture: Capture = CAPTURE) -> str:
    run = registry.opened(capture.header)
    for event in capture.events[:events]:
        registry.event(run, event)
    if end:
        registry.ended(run, End(at_s=1.0, cut=False))
    return run


def read(address: str, run: str, start: int = 0, **headers: str) -> list[tuple[str, str, dict[str, Any]]]:
    url = f"{address}/inspector/runs/{run}/feed?from={start}"
    with httpx.stream("GET", url, headers=headers, timeout=20) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        return list(messages(answer.iter_lines()))


def ids(sent: list[tuple[str, str, dict[str, Any]]]) -> list[int]:
    return [token_id for _, name, columns in sent if name == "grow" for token_id in columns["ids"]]


def token_ids_of(registry: Registry, run: str) -> list[int]:
    live_run = registry.get(run)
    assert live_run is not None
    return live_run.reading().choice.tokens.ids


def test_an_ended_run_is_sent_whole_with_its_findings_and_its_end(registry: Registry, address: str) -> None:
    run = record(registry)
    feed = read(address, run)
    assert ids(feed) == token_ids_of(registry, run)
    assert [name for _, name, _ in feed][-1] == "end"
    looked = next(columns for _, _, columns in feed if "verdict" in columns)
    assert [finding["kind"] for finding in looked["findings"]["items"]] == ["dropped"]
    assert looked["verdict"]["level"] == "error"
    [picture] = looked["pipelines"]
    assert picture["fates"]["from"] == 0
    assert [row[2] for row in picture["fates"]["items"]].count("lost") == 1


def test_known_issues_are_sent_with_their_title_and_what_to_do(registry: Registry, address: str) -> None:
    capture = load(next(row.path for row in builtin() if "leak-vllm-0.14.1" in row.name))
    run = record(registry, capture=capture)
    looked = next(columns for _, _, columns in read(address, run) if "verdict" in columns)
    issues = [issue for finding in looked["findings"]["items"] for issue in finding["known_issues"]]
    assert issues
    assert all(issue["title"] and issue["fix"] for issue in issues)


def test_a_reader_that_reconnects_gets_what_it_has_not_seen(registry: Registry, address: str) -> None:
    run = record(registry)
    all_ids = token_ids_of(registry, run)
    assert ids(read(address, run, 5)) == all_ids[5:]
    resumed = read(address, run, 0, **{"Last-Event-ID": "7"})
    assert ids(resumed) == all_ids[7:]
    assert resumed[-1][0] == str(len(all_ids))


def test_a_growing_run_is_sent_as_it_grows_and_outlives_a_closed_tab(
    registry: Registry, address: str
) -> None:
    run = record(registry, end=False, events=2)
    url = f"{address}/inspector/runs/{run}/feed"
    with httpx.stream("GET", url, timeout=20) as tab:
        before = next(messages(tab.iter_lines()))
        assert before[2]["now"] == {
            "events": 2,
            "state": "body",
            "channel": "analysis",
            "recipient": None,
            "message": 0,
        }
    for event in CAPTURE.events[2:]:
        registry.event(run, event)
    registry.ended(run, End(at_s=1.0, cut=False))
    assert ids(read(address, run, int(before[0]))) == token_ids_of(registry, run)[int(before[0]) :]


def test_a_stream_that_pauses_is_audited_to_its_last_token(registry: Registry, address: str) -> None:
    run = record(registry, end=False, events=2)
    url = f"{address}/inspector/runs/{run}/feed?from=0"
    with httpx.stream("GET", url, timeout=10) as answer:
        received = messages(answer.iter_lines())
        next(columns for _, _, columns in received if "audited" in columns)
        for event in CAPTURE.events[2:5]:  # sooner than an audit is repeated; then the server says nothing
            registry.event(run, event)
        tokens = len(token_ids_of(registry, run))
        assert next(columns for _, _, columns in received if columns.get("audited") == tokens)


def test_several_tabs_read_the_same_run_at_once(registry: Registry, address: str) -> None:
    run = record(registry, end=False, events=1)
    ids_by_tab: list[list[int]] = []
    tabs = [threading.Thread(target=lambda: ids_by_tab.append(ids(read(address, run)))) for _ in range(4)]
    for tab in tabs:
        tab.start()
    for event in CAPTURE.events[1:]:
        registry.event(run, event)
    registry.ended(run, End(at_s=1.0, cut=False))
    for tab in tabs:
        tab.join(20)
    assert ids_by_tab == [token_ids_of(registry, run)] * 4


def test_a_run_that_is_not_there_says_so(address: str) -> None:
    answer = httpx.get(f"{address}/inspector/runs/none/feed")
    assert answer.status_code == 404
    assert "its capture is on disk" in answer.json()["error"]


def test_another_site_may_not_read(registry: Registry, address: str) -> None:
    url = f"{address}/inspector/runs/{record(registry)}/feed"
    assert httpx.get(url, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403


@pytest.mark.parametrize("start", ["-1", "x", "99999999999999", "9" * 8, "½"])
def test_any_start_is_read(registry: Registry, address: str, start: str) -> None:
    run = record(registry)
    with httpx.stream("GET", f"{address}/inspector/runs/{run}/feed", params={"from": start}) as answer:
        sent = list(messages(answer.iter_lines()))
    assert sent[-1][1] == "end"


def test_a_failure_of_the_connection_arrives_in_words(registry: Registry, address: str) -> None:
    def cut(_: RawRequest) -> Iterator[bytes]:
        return stream([sse(event.data) for event in CAPTURE.events[:2]], end=False)

    with raw_server({"/v1/chat/completions": cut}) as server:
        run = registry.start(Server(base_url=server.v1), LiveRequest(model="m", prompt="Hi"))
        feed = read(address, run.id)
    assert "closed the connection" in feed[-1][2]["failure"]
    assert ids(feed) == token_ids_of(registry, run.id)


def test_a_request_to_be_shown_waits_for_its_reader_and_is_sent_without_one_too(
    registry: Registry, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_before: list[bool] = []

    def whole_stream(_: RawRequest) -> Iterator[bytes]:
        run = registry.runs()[0]
        read_before.append(run.reader.done())
        return stream([sse(event.data) for event in CAPTURE.events], end=False)

    with raw_server({"/v1/chat/completions": whole_stream}) as server:
        where, request = Server(base_url=server.v1), LiveRequest(model="m", prompt="Hi")
        monkeypatch.setattr(runs, "_READER_WITHIN_S", 60)
        feed = read(address, registry.start(where, request, shown=True).id)
        states = [columns["now"]["events"] for _, _, columns in feed if "now" in columns]
        assert states == sorted(states)
        monkeypatch.setattr(runs, "_READER_WITHIN_S", 0)
        assert registry.wait(registry.start(where, request, shown=True), 60)
    assert read_before == [True, False]


def test_hostile_text_stays_text(registry: Registry, address: str) -> None:
    run = registry.opened(Header(endpoint=CAPTURE.header.endpoint))
    chunk = {"choices": [{"index": 0, "delta": {"content": "\n\ndata: {}\n\n\ud800</script>"}}]}
    registry.event(run, Event(json.dumps(chunk), 0.1))
    registry.ended(run, End(at_s=1.0, cut=False))
    feed = read(address, run)
    assert feed[0][2]["texts"] == {"0": "\n\ndata: {}\n\n\ud800</script>"}
    assert [name for _, name, _ in feed] == ["grow", "grow", "end"]


def test_the_rejected_token_is_drawn_the_moment_the_error_arrives(registry: Registry, address: str) -> None:
    words = "Unexpected token 12606 while expecting start token 200006"
    capture = aborted(["<|channel|>analysis<|message|>Hm<|end|>"], words)
    run = registry.opened(capture.header)
    for event in capture.events[:-1]:
        registry.event(run, event)
    url = f"{address}/inspector/runs/{run}/feed"
    with httpx.stream("GET", url, timeout=20) as tab:  # the connection is still open, the run has not ended
        sent = messages(tab.iter_lines())
        rejection_columns = next(columns for _, _, columns in sent if columns.get("unsent"))
        assert [(cell["at"], cell["id"]) for cell in rejection_columns["unsent"]] == [(5, 12606)]
        looked = next(columns for _, _, columns in sent if columns.get("findings", {}).get("items"))
    rejected = next(
        finding for finding in looked["findings"]["items"] if finding["kind"] == "unexpected_token"
    )
    assert (rejected["cell_start"], rejected["cell_end"], rejected["sent"]) == (5, 6, False)
    registry.ended(run, End(at_s=1.0, cut=False))
