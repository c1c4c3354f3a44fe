"""Faults in tokens and payloads: the audit finds what was put in, and nothing else."""

import json
from itertools import pairwise
from statistics import median

import httpx
import pytest

from inspector.analysis.audit import Kind
from inspector.analysis.reading import read
from inspector.capture.capture import Event
from inspector.net.playback.faults import parse_faults
from inspector.net.playback.reshape import reshape
from inspector.protocol.harmony.vocab import Marker
from tests.support.builtin import CAPTURES, COMPLETE_CHAT, GROUND, RESPONSES, TOOL
from tests.support.playback import chat, generated_ids, kinds, recorded


def test_characters_are_split_in_a_completion_of_a_chat_capture_too(address: str) -> None:
    with recorded(address, "split-utf8") as (client, _):
        assert "\ufffd" in client.completions.create(model=COMPLETE_CHAT, prompt="x").choices[0].text


def test_dropping_all_but_the_last_token_leaves_the_ids_and_is_found(address: str) -> None:
    capture, findings, _ = chat(address, "merge=3,last-token-only")
    assert generated_ids(capture) == generated_ids(CAPTURES[COMPLETE_CHAT])
    assert kinds(findings) == {Kind.DROPPED}
    assert {finding.field for finding in findings} == {"reasoning", "content"}
    assert read(capture).choice.delivered().content == "! can?"


def test_dropped_tokens_of_a_tool_call_are_found(address: str) -> None:
    capture, findings, _ = chat(address, "merge=2,last-token-only", model=TOOL)
    assert generated_ids(capture) == generated_ids(CAPTURES[TOOL])
    assert Kind.DROPPED in kinds(findings)
    assert any("arguments" in (finding.field or "") for finding in findings)


def test_merged_events_lose_nothing(address: str) -> None:
    capture, findings, raised = chat(address, "merge=4")
    assert raised is None
    assert findings == []
    assert len(capture.events) < len(CAPTURES[COMPLETE_CHAT].events) / 2
    assert read(capture).choice.delivered() == read(CAPTURES[COMPLETE_CHAT]).choice.delivered()


def test_characters_split_between_tokens_are_found_garbled(address: str) -> None:
    capture, findings, _ = chat(address, "split-utf8")
    assert generated_ids(capture) == generated_ids(CAPTURES[COMPLETE_CHAT])
    assert "\ufffd" in read(capture).choice.delivered().content
    assert Kind.GARBLED in kinds(findings)


@pytest.mark.parametrize(
    ("model", "endpoint", "faults", "words"),
    [
        (RESPONSES, "responses", "omit-message", "has no token IDs"),
        (GROUND, "completions", "merge=2,last-token-only", "works with chat and Responses"),
        (TOOL, "chat/completions", "after-return", "contain no <|return|>"),
        (TOOL, "chat/completions", "split-utf8", "choose one with emoji"),
    ],
)
def test_a_fault_that_a_capture_cannot_show_is_refused(
    address: str, model: str, endpoint: str, faults: str, words: str
) -> None:
    answer = httpx.post(
        f"{address}/v1/{endpoint}",
        json={"model": model, "stream": True},
        headers={"X-Playback-Faults": faults},
    )
    assert answer.status_code == 400
    assert words in answer.json()["error"]["message"]


def ids_of(event: Event) -> list[int]:
    payload = json.loads(event.data) if event.data.startswith("{") else {}
    return [token_id for choice in payload.get("choices", ()) for token_id in choice.get("token_ids") or ()]


def test_an_omitted_message_token_leaves_all_others() -> None:
    before, after = (
        [token_id for event in events for token_id in ids_of(event)]
        for events in (CAPTURES[TOOL].events, reshape(CAPTURES[TOOL], parse_faults("omit-message=0,swallow")))
    )
    before.remove(Marker.MESSAGE)
    assert after == before


def test_what_is_generated_after_return_comes_at_the_pace_of_the_stream() -> None:
    times = [event.at_s or 0.0 for event in CAPTURES[COMPLETE_CHAT].events if ids_of(event)]
    pace_s = median(b - a for a, b in pairwise(times))
    longer = reshape(CAPTURES[COMPLETE_CHAT], parse_faults("after-return=220 221 222,swallow"))
    added = [event.at_s or 0.0 for event in longer if {220, 221, 222}.intersection(ids_of(event))]
    assert len(added) > 1
    assert added == [pytest.approx(times[-1] + number * pace_s) for number in range(1, len(added) + 1)]
