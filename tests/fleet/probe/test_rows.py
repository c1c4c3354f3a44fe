"""What becomes of a response: the built-in captures, each read as a probe reads what it recorded."""

from inspector.analysis.reading import read
from inspector.capture.capture import Capture
from inspector.fleet.probe.rows import Result, arrivals, audited_response
from inspector.net.client.outcome import OutcomeKind, Problem
from tests.support.builtin import CAPTURES, COMPLETE_CHAT, TOOL

EXPECTED = {
    "chat-tool-call-leak-vllm-0.14.1": Result.DAMAGED,
    "chat-preamble-tool-call-leak-vllm-0.14.1": Result.DAMAGED,
    "chat-tool-call-dropped-vllm-0.13.0": Result.DAMAGED,
    "chat-reasoning-missing-vllm-0.32.0": Result.DAMAGED,
    "chat-unexpected-token-swallowed-vllm-0.32.0": Result.DAMAGED,
    "responses-dropped-tokens-vllm-0.13.0": Result.DAMAGED,
    "chat-unexpected-token-12606-vllm-0.13.0": Result.FAILED,
    "chat-unexpected-token-200002-vllm-0.13.0": Result.FAILED,
    "chat-unknown-role-vllm-0.13.0": Result.FAILED,
    "responses-disconnected-vllm-0.13.0": Result.FAILED,
    "responses-text-swallowed-vllm-0.32.0": Result.UNKNOWN,
    "chat-whole-vllm-0.14.1": Result.OK,
    COMPLETE_CHAT: Result.OK,
    "responses-whole-vllm-0.14.1": Result.UNKNOWN,
    "completions-unexpected-token-200002-vllm-0.13.0": Result.OK,
}


def test_the_built_in_captures_are_what_their_rows_say() -> None:
    results = {name: audited_response(CAPTURES[name], None).result for name in EXPECTED}
    assert results == EXPECTED


def test_a_failure_that_the_client_saw_is_no_silent_damage() -> None:
    problem = Problem(OutcomeKind.TIMED_OUT, "the stream stalled")
    response = audited_response(CAPTURES[TOOL], problem)
    assert (response.result, response.failure) == (Result.FAILED, "timed out")
    assert response.sentence == "the stream stalled"
    assert "dropped" in response.kinds


def test_without_ids_nothing_is_checked() -> None:
    capture = CAPTURES[COMPLETE_CHAT]
    blind = [event._replace(data=event.data.replace('"token_ids"', '"other"')) for event in capture.events]
    assert (
        audited_response(Capture(header=capture.header, events=blind, end=capture.end), None).result
        is Result.UNKNOWN
    )


def test_times_are_by_channel_and_framing_has_no_first_token() -> None:
    response = audited_response(CAPTURES[TOOL], None)
    assert set(response.first_s) == {"analysis", "commentary"}
    assert response.first_token_s is not None
    assert response.first_token_s <= min(response.first_s.values())
    assert response.tokens == 32
    assert response.tokens_per_event is not None
    assert 2.5 < response.tokens_per_event <= 3
    assert response.cause == "chat-stream-multi-channel-chunk"


def test_responses_without_ids_have_the_channels_of_their_fields() -> None:
    times, channels = arrivals(read(CAPTURES["responses-whole-vllm-0.14.1"]))
    assert times == sorted(times)
    assert {"analysis", "final"} <= set(channels)
    assert audited_response(CAPTURES["responses-whole-vllm-0.14.1"], None).tokens > 0
