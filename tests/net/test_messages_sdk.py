"""Anthropic's SDK on random streams: it reads what is said to be readable, with the texts that are shown."""

from dataclasses import replace
from typing import Any

from hypothesis import given

from inspector.analysis.audit import Severity
from inspector.analysis.event_schema import schema_violations
from inspector.capture.capture import Endpoint
from inspector.inspection.inspection import inspect
from inspector.net.playback.faults import Faults
from inspector.net.playback.served_response import served_response
from inspector.net.reference_clients import ClientOutcome, python_reading
from tests.support.messages import capture_of, damaged, streams


@given(streams())
def test_whole_streams_are_read_as_the_sdk_reads_them(events: list[dict[str, Any]]) -> None:
    capture = capture_of(events)
    reading, inspection = python_reading(capture), inspect(capture)
    assert reading is not None
    assert (reading.outcome, reading.fields, reading.error) == (ClientOutcome.READ, (), "")
    assert schema_violations(capture) == ()
    assert inspection.findings == []


@given(streams())
def test_the_body_of_a_stream_is_read_with_the_same_texts(events: list[dict[str, Any]]) -> None:
    capture = capture_of(events)
    served = served_response(capture, Endpoint.MESSAGES, {}, Faults())
    body = replace(capture, events=served.events)
    reading, inspection = python_reading(body), inspect(body)
    assert served.status == 200
    assert reading is not None
    assert (reading.outcome, reading.fields, reading.error) == (ClientOutcome.READ, (), "")
    assert inspection.findings == []
    streamed = inspect(capture).reading.choice.delivered()
    delivered = inspection.reading.choice.delivered()
    assert (delivered.reasoning, delivered.content) == (streamed.reasoning, streamed.content)
    assert [call.name for call in delivered.tool_calls] == [call.name for call in streamed.tool_calls]


@given(damaged())
def test_the_sdk_reads_what_violates_nothing(events: list[dict[str, Any]]) -> None:
    capture = capture_of(events)
    reading, violations = python_reading(capture), schema_violations(capture)
    assert reading is not None
    errors = [finding for finding in inspect(capture).findings if finding.severity is Severity.ERROR]
    if not (violations or errors):
        assert (reading.outcome, reading.fields, reading.error) == (ClientOutcome.READ, (), "")
    if not reading.accepts:
        assert violations or errors
