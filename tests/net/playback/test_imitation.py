"""Tokens left out or added: the parser's error, or its silence."""

import json

import openai
import pytest

from inspector.analysis.audit import Kind
from inspector.analysis.reading import read
from tests.support.builtin import CAPTURES, COMPLETE_CHAT, GROUND
from tests.support.playback import chat, generated_ids, kinds, recorded


def test_a_forgotten_message_marker_ends_the_stream_as_vllm_0_13_does(address: str) -> None:
    capture, findings, raised = chat(address, "omit-message")
    assert isinstance(raised, openai.APIError)
    assert "remaining in message header" in str(raised)
    assert Kind.SERVER_ERROR in kinds(findings)
    error = json.loads(capture.events[-2].data)["error"]
    assert error["type"] == "BadRequestError"
    assert capture.events[-1].data == "[DONE]"


@pytest.mark.parametrize(("number", "kind"), [(0, Kind.BAD_HEADER), (1, Kind.TRUNCATED)])
def test_a_forgotten_message_marker_is_passed_over_in_silence_as_vllm_0_32_does(
    address: str, number: int, kind: Kind
) -> None:
    capture, findings, raised = chat(address, f"omit-message={number},swallow")
    assert raised is None
    ids = generated_ids(CAPTURES[COMPLETE_CHAT])
    place = [at for at, token_id in enumerate(ids) if token_id == 200008][number]
    assert generated_ids(capture) == ids[:place] + ids[place + 1 :]
    delivered = read(capture).choice.delivered()
    assert (delivered.reasoning, delivered.content)[number] == ""
    assert kind in kinds(findings)
    assert Kind.COUNT_MISMATCH not in kinds(findings)


def test_tokens_after_return_are_refused_by_the_servers_parser(address: str) -> None:
    _, findings, raised = chat(address, "after-return")
    assert isinstance(raised, openai.APIError)
    assert "while expecting start token 200006" in str(raised)
    assert Kind.SERVER_ERROR in kinds(findings)


def test_tokens_after_return_that_are_swallowed_are_found_by_their_ids(address: str) -> None:
    capture, findings, raised = chat(address, "after-return=!!,swallow")
    assert raised is None
    assert generated_ids(capture)[:-1] == generated_ids(CAPTURES[COMPLETE_CHAT])
    assert Kind.UNEXPECTED_TOKEN in kinds(findings)
    assert Kind.COUNT_MISMATCH not in kinds(findings)


def test_tokens_after_return_show_in_completions(address: str) -> None:
    with recorded(address, "after-return= more") as (client, sink):
        for _ in client.completions.create(
            model=GROUND, prompt="x", stream=True, extra_body={"return_token_ids": True}
        ):
            pass
        capture = sink.capture()
    before = generated_ids(CAPTURES[GROUND])
    assert generated_ids(capture)[: len(before)] == before
    assert len(generated_ids(capture)) > len(before)
