"""Which request is the n-th."""

import pytest

from inspector.capture.capture import Endpoint
from inspector.capture.errors import InspectorError
from inspector.fleet.probe import Ask, Mix


def ask(label: str, endpoint: Endpoint = Endpoint.CHAT) -> Ask:
    body = {"stream": True, "stream_options": {"include_usage": True}}
    return Ask(label=label, endpoint=endpoint, body=body)


def test_requests_take_turns_and_the_same_number_is_the_same_request() -> None:
    mix = Mix(asks=[ask("a"), ask("b")])
    assert [mix.ask(number).label for number in (0, 1, 2, 3, 3)] == ["a", "b", "a", "b", "b"]


def test_shares_are_spread_evenly() -> None:
    control = ask("a", Endpoint.COMPLETIONS)
    mix = Mix(asks=[ask("a")], controls={"a": control}, control=0.25, unstreamed=0.5)
    asked = [mix.ask(number) for number in range(100)]
    assert sum(one.control for one in asked) == 25
    assert {one.endpoint for one in asked if one.control} == {Endpoint.COMPLETIONS}
    assert sum(one.control for one in asked[:8]) == 2
    whole = [one for one in asked if not one.streamed]
    assert 25 <= len(whole) <= 50
    assert all("stream_options" not in one.body for one in whole)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InspectorError, match="nothing to send"):
        Mix(asks=[])
    with pytest.raises(InspectorError, match="invalid share for control: 2"):
        Mix(asks=[ask("a")], control=2)
