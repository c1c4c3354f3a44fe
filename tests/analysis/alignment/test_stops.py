"""Chat with stop strings: its text ends before one, as OpenAI's API says, or has lost something."""

from dataclasses import replace
from typing import Any

import pytest

import inspector
from inspector.analysis.alignment.stops import StopOptions
from inspector.analysis.audit import Code
from tests.support.streams import chat


def stopped(delivered: str, **request: Any) -> inspector.Inspection:
    capture = chat(
        [("<|channel|>final<|message|>One two", {"content": "One two"}), (" STOP", {"content": delivered})],
        counted=True,
    )
    return inspector.inspect(replace(capture, header=replace(capture.header, request=request)))


@pytest.mark.parametrize(
    ("delivered", "stop", "codes", "noted"),
    [
        ("", [" STOP"], [], False),
        (" S", ["TOP"], [], False),
        (" STOP", [" STOP"], [], True),
        ("", ["HALT"], [Code.TEXT_LOST], False),
        (" STOP", ["HALT"], [], False),
    ],
    ids=["left out", "within a token", "delivered", "another string lost", "another string"],
)
def test_text_from_a_stop_string_on_is_left_out(
    delivered: str, stop: list[str], codes: list[Code], noted: bool
) -> None:
    inspection = stopped(delivered, stop=stop)
    assert [finding.code for finding in inspection.findings] == codes
    assert any("stop string" in note for note in inspection.notes) is noted
    left_out = [token.text for token in inspector.tokens(inspection) if token.fate == "left_out"]
    assert left_out == ([" STOP"] if stop == [" STOP"] and not noted else [])


def test_of_many_places_of_a_stop_string_some_are_tried() -> None:
    stop = StopOptions(strings=("a",))
    assert stop.string_in("a" * 1000, "", "stop") == (0, "a")
    assert stop.string_in("a" * 1000, "", "length") is None
