"""The files of the first lab recordings."""

import json
from typing import Any

import pytest

from inspector.capture.capture import Capture, End, Endpoint, Event, EventKind, Header
from tests.support.foreign import RECORDED, read, refusal


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
            "f: endpoint is '/v1/embeddings', not a vLLM endpoint that generates text",
        ),
        ({"lines": [[0, "data: x"], "data: y"]}, "f: lines[1] is 'data: y', not [seconds, text]"),
        ({"lines": [[True, "data: x"]]}, "f: lines[0] is a list, not [seconds, text]"),
        ({"lines": [[-1, "data: x"]]}, "f: lines[0] is a list, not [seconds, text]"),
    ],
)
def test_a_damaged_lab_recording_is_refused(change: dict[str, Any], sentence: str) -> None:
    assert refusal(json.dumps(RECORDED | change)) == sentence
