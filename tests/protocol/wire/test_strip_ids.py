"""Payloads without the token ids that were asked for on behalf of a client."""

import json
from typing import Any

import pytest

from inspector.protocol.wire.strip_ids import (
    plain_events_without_ids,
    without_response_messages,
    without_token_ids,
)


def chunk(delta: dict[str, Any], **choice: Any) -> str:
    choice_member = {"index": 0, "delta": delta, "finish_reason": None, "token_ids": [1, 2], **choice}
    return json.dumps({"choices": [choice_member], "prompt_token_ids": [5]})


def test_ids_become_null_and_nothing_else_changes() -> None:
    text = chunk({"content": 'she said "token_ids": [1, 2]'})
    bare = without_token_ids(text)
    assert bare == text.replace('"token_ids": [1, 2]}', '"token_ids":null}').replace(
        '"prompt_token_ids": [5]', '"prompt_token_ids":null'
    )
    assert without_token_ids('{"choices": []}') == '{"choices": []}'


def test_a_chunk_that_delivers_nothing_is_not_sent() -> None:
    assert without_token_ids(chunk({})) is None
    assert without_token_ids(chunk({"content": None, "reasoning": None})) is None


@pytest.mark.parametrize(
    "text",
    [
        chunk({"content": None}, finish_reason="stop"),
        chunk({"content": ""}),
        chunk({}, token_ids=None),
        '{"choices": [], "token_ids": [1], "delta": {}}',
        '{"token_ids": [1], "delta": {}}',
        '{"choices": [7], "token_ids": [1], "delta": {}}',
        '{"choices": [{"token_ids": [1], "finish_reason": null, "delta": null}], "x": {"delta": {}}}',
        '{"token_ids": [1], "delta": {}, broken',
    ],
)
def test_a_chunk_that_may_deliver_something_is_sent(text: str) -> None:
    assert without_token_ids(text) is not None


def test_logprobs_alone_are_sent_by_the_releases_that_send_them() -> None:
    text = chunk({}, logprobs={"content": [{"token": "a"}]})
    assert without_token_ids(text, keeps_logprobs=True) is not None
    assert without_token_ids(text, keeps_logprobs=False) is None


def test_messages_of_a_response_become_null_and_no_other_byte_changes() -> None:
    messages = '[{"role": "assistant", "content": [{"text": "say \\"output_messages\\": [1]"}]}]'
    inner = f'"input_messages" : [], "status":"completed", "output_messages":{messages}'
    bare = '"input_messages" : null, "status":"completed", "output_messages":null'
    for text in ("{ %s }", '{"type": "response.completed", "response": {%s}, "sequence_number": 3}'):
        assert without_response_messages(text % inner) == text % bare
    item = '{"item": {"output_messages": [1]}}'  # not the response's own
    assert without_response_messages(item) == item


@pytest.mark.parametrize(
    "text",
    [
        '{"type": "response.output_text.delta", "delta": "Hi"}',
        '{"output_messages" [1]}',
        '{1: [1], "output_messages": [1]}',
        '{"output_messages": [1] "status": null}',
        '{"output_messages": [1',
        '["output_messages"]',
        '{"response": 1, "output_messages": [1]}',
        "{" * 3 + '"output_messages": ' + "[" * 100_000,
    ],
)
def test_messages_in_what_is_no_response_are_left_alone(text: str) -> None:
    assert without_response_messages(text) == text


def test_plain_events_are_taken_together_only_where_they_are_utf8() -> None:
    event = b'data: {"choices":[{"delta":{"content":"%s"},"token_ids":[1]}]}\n\n'
    assert plain_events_without_ids(event % b"a" * 2) == (event % b"a").replace(b"[1]", b"null") * 2
    assert plain_events_without_ids(event % b"a" + event % b"\xff") is None
