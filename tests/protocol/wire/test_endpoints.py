"""The table of endpoints: every member has its row, and what other modules look up agrees with it."""

import pytest

from inspector.capture.capture import Endpoint
from inspector.capture.errors import InspectorError
from inspector.net.client.request import LiveRequest, body
from inspector.protocol.wire.endpoints import (
    ASKED,
    EndpointSpec,
    endpoint_of_path,
    endpoint_of_payload,
    endpoint_of_resumed,
    spec_of,
)


def test_every_endpoint_has_a_row_and_rows_share_nothing_that_tells_them_apart() -> None:
    specs = [spec_of(endpoint) for endpoint in Endpoint]
    assert [spec.endpoint for spec in specs] == list(Endpoint)
    for signs in (
        [spec.label for spec in specs],
        [spec.path for spec in ASKED],
        [name for spec in ASKED for name in spec.objects],
        [prefix for spec in ASKED for prefix in spec.event_prefixes],
        [spec.first_type for spec in ASKED if spec.first_type],
    ):
        assert len(set(signs)) == len(signs)


@pytest.mark.parametrize("spec", ASKED, ids=lambda spec: str(spec.endpoint))
def test_a_path_leads_to_its_own_endpoint(spec: EndpointSpec) -> None:
    for address in (spec.full_path, f"http://x/y{spec.full_path}/", f"{spec.full_path}?a=/models"):
        assert endpoint_of_path(address) is spec.endpoint
    assert endpoint_of_path(f"{spec.full_path}/render") is None
    assert (endpoint_of_resumed(f"{spec.full_path}/resp_1") is spec.endpoint) is spec.resumable
    assert endpoint_of_resumed(f"{spec.full_path}/") is None


def test_payloads_tell_their_endpoint() -> None:
    assert endpoint_of_payload({"object": "chat.completion.chunk"}) is Endpoint.CHAT
    assert endpoint_of_payload({"object": "text_completion"}) is Endpoint.COMPLETIONS
    assert endpoint_of_payload({"type": "response.created"}) is Endpoint.RESPONSES
    assert endpoint_of_payload({"type": "error", "sequence_number": 4}) is Endpoint.RESPONSES
    assert endpoint_of_payload(None, "response.failed") is Endpoint.RESPONSES
    assert endpoint_of_payload({"type": "content_block_stop", "index": 0}) is Endpoint.MESSAGES
    whole: dict[str, object] = {"type": "message", "role": "assistant", "content": [], "stop_reason": None}
    assert endpoint_of_payload(whole) is Endpoint.MESSAGES
    assert endpoint_of_payload({"type": "message", "role": "assistant", "content": []}) is None, (
        "an item of Responses"
    )
    nothings: tuple[object, ...] = (None, [], {"type": "error"}, {"object": 1}, {"object": "model"})
    for no_payload in nothings:
        assert endpoint_of_payload(no_payload) is None


def test_each_request_asks_for_the_evidence_of_its_endpoint_and_holds_what_is_least() -> None:
    for spec in ASKED:
        sent = body(LiveRequest(model="m", prompt="Hi", endpoint=spec.endpoint))
        unasked = body(LiveRequest(model="m", prompt="Hi", endpoint=spec.endpoint, token_ids=False))
        evidence = {spec.evidence_key: True} if spec.evidence_key else {}
        assert sent == unasked | evidence
        assert spec.least.keys() <= sent.keys()


def test_no_server_is_asked_for_what_only_files_hold() -> None:
    with pytest.raises(InspectorError, match="no server is asked"):
        body(LiveRequest(model="m", endpoint=Endpoint.TOKENS))
