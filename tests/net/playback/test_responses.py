"""Responses, whole and with faults in their deltas."""

from inspector.analysis.audit import Kind, explain
from inspector.analysis.reading import read
from inspector.inspection.inspection import inspect
from tests.support.builtin import CAPTURES, RESPONSES, TEXT
from tests.support.playback import kinds, recorded


def test_responses_stream_and_whole_agree(address: str) -> None:
    with recorded(address) as (client, sink):
        events = list(client.responses.create(model=RESPONSES, input="x", stream=True))
        unstreamed = client.responses.create(model=RESPONSES, input="x")
        capture = sink.capture()
    assert events[-1].type == "response.completed"
    assert unstreamed.output_text == TEXT
    assert [event.data for event in capture.events] == [event.data for event in CAPTURES[RESPONSES].events]


def test_dropped_deltas_of_responses_are_found_against_the_final_object(address: str) -> None:
    with recorded(address, "merge=3,last-token-only") as (client, sink):
        events = list(client.responses.create(model=RESPONSES, input="x", stream=True))
        findings = inspect(sink.capture()).findings
    assert Kind.DROPPED in kinds(findings)
    assert not any("sequence_number" in explain(finding) for finding in findings)
    assert events[-1].type == "response.completed"


def test_merged_deltas_of_responses_lose_nothing(address: str) -> None:
    with recorded(address, "merge=3") as (client, sink):
        list(client.responses.create(model=RESPONSES, input="x", stream=True))
        capture = sink.capture()
    assert kinds(inspect(capture).findings) == kinds(inspect(CAPTURES[RESPONSES]).findings)
    assert read(capture).choice.delivered() == read(CAPTURES[RESPONSES]).choice.delivered()
    assert len(capture.events) < len(CAPTURES[RESPONSES].events)


def test_garbled_deltas_of_responses_are_found(address: str) -> None:
    with recorded(address, "split-utf8") as (client, sink):
        list(client.responses.create(model=RESPONSES, input="x", stream=True))
        findings = inspect(sink.capture()).findings
    assert {Kind.GARBLED, Kind.DROPPED} & kinds(findings)
    assert any("\ufffd" in (finding.delivered or "") for finding in findings)


def test_an_error_event_of_responses_is_found(address: str) -> None:
    with recorded(address, "error-event=5") as (client, sink):
        events = list(client.responses.create(model=RESPONSES, input="x", stream=True))
        assert events[-1].type == "error"
        assert Kind.SERVER_ERROR in kinds(inspect(sink.capture()).findings)


def test_a_missing_end_of_responses_is_found(address: str) -> None:
    with recorded(address, "no-done") as (client, sink):
        list(client.responses.create(model=RESPONSES, input="x", stream=True))
        assert kinds(inspect(sink.capture()).findings) & {Kind.PROTOCOL, Kind.DISCONNECTED}
