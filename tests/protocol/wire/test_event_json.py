"""Events as values that can be changed, and what is not JSON left alone."""

import pytest

from inspector.capture.capture import Event, EventKind
from inspector.protocol.wire.event_json import choice_of, dumps, ids_of, payload, rewritten, terminal_type


def test_only_a_json_object_of_a_server_sent_event_is_a_payload() -> None:
    assert payload(Event('{"a": 1}')) == {"a": 1}
    assert [payload(Event(data)) for data in ("[1]", "[DONE]", "{broken", "7")] == [None] * 4
    assert payload(Event('{"a": 1}', kind=EventKind.BODY)) is None
    assert payload(Event('{"a": 1}', kind=EventKind.COMMENT)) is None


@pytest.mark.parametrize(
    "payload", [None, {}, {"choices": []}, {"choices": [{}, {}]}, {"choices": ["x"]}, {"choices": {"0": {}}}]
)
def test_none_or_several_choices_are_no_choice_and_bring_no_ids(payload: dict[str, object] | None) -> None:
    assert choice_of(payload) is None
    assert ids_of(payload) == []


def test_the_only_choice_brings_its_ids() -> None:
    choice = {"token_ids": [1, 2]}
    assert choice_of({"choices": [choice]}) is choice
    assert ids_of({"choices": [choice]}) == [1, 2]
    assert ids_of({"choices": [{"token_ids": None}]}) == []


def test_a_changed_event_keeps_all_but_its_data_and_is_written_as_vllm_writes() -> None:
    event = Event('{"a": 1}', 0.5, "named")
    assert rewritten(event, {"a": "ü", "b": [1]}) == Event('{"a":"ü","b":[1]}', 0.5, "named")
    assert dumps({"a": None}) == '{"a":null}'


@pytest.mark.parametrize(
    ("data", "ends"),
    [
        ("[DONE]", True),
        ('{"type": "response.completed"}', True),
        ('{"type": "response.incomplete"}', True),
        ('{"type": "response.failed"}', True),
        ('{"type": "response.created"}', False),
        ('{"choices": []}', False),
        ("done", False),
        ('{"type": []}', False),
        ('{"type": {"a": 1}}', False),
    ],
)
def test_an_answer_ends_with_its_protocols_own_event(data: str, ends: bool) -> None:
    assert terminal_type(Event(data)) is ends
