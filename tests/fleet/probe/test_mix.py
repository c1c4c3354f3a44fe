"""Which request is the n-th."""

import pytest

from inspector.capture.capture import Endpoint
from inspector.capture.errors import InspectorError
from inspector.fleet.probe import Mix, ProbeRequest


def ask(label: str, endpoint: Endpoint = Endpoint.CHAT) -> ProbeRequest:
    body = {"stream": True, "stream_options": {"include_usage": True}}
    return ProbeRequest(label=label, endpoint=endpoint, body=body)


def test_requests_take_turns_and_the_same_number_is_the_same_request() -> None:
    mix = Mix(requests=[ask("a"), ask("b")])
    assert [mix.request(number).label for number in (0, 1, 2, 3, 3)] == ["a", "b", "a", "b", "b"]


def test_shares_are_spread_evenly() -> None:
    control = ask("a", Endpoint.COMPLETIONS)
    mix = Mix(requests=[ask("a")], controls={"a": control}, control=0.25, unstreamed=0.5)
    requests = [mix.request(number) for number in range(100)]
    assert sum(request.control for request in requests) == 25
    assert {request.endpoint for request in requests if request.control} == {Endpoint.COMPLETIONS}
    assert sum(request.control for request in requests[:8]) == 2
    unstreamed = [request for request in requests if not request.streamed]
    assert 25 <= len(unstreamed) <= 50
    assert all("stream_options" not in request.body for request in unstreamed)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InspectorError, match="nothing to send"):
        Mix(requests=[])
    with pytest.raises(InspectorError, match="invalid share for control: 2"):
        Mix(requests=[ask("a")], control=2)
