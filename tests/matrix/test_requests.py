"""The lab's scripts as requests of a probe."""

import pytest

from inspector.capture.capture import Endpoint
from inspector.capture.errors import LabError
from inspector.matrix.requests import script_asks, script_controls


def test_script_asks_alternate_endpoints() -> None:
    asks = script_asks(["plain", "emoji"], [Endpoint.CHAT, Endpoint.RESPONSES])
    assert [(ask.label, ask.endpoint.value) for ask in asks] == [
        ("plain", "chat"),
        ("plain", "responses"),
        ("emoji", "chat"),
        ("emoji", "responses"),
    ]
    assert "[[script plain]]" in str(asks[0].body)
    assert all(ask.streamed and ask.script for ask in asks)


def test_script_controls_use_completions() -> None:
    assert {ask.endpoint for ask in script_controls(["plain"]).values()} == {Endpoint.COMPLETIONS}


def test_script_asks_of_an_unknown_script() -> None:
    with pytest.raises(LabError, match="no script named no_such"):
        script_asks(["no_such"], [Endpoint.CHAT])
