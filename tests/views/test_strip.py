import json
from typing import Any

import pytest

from inspector import loads
from inspector.capture.capture import Capture, Endpoint, Event, Header
from inspector.inspection.inspection import inspect
from inspector.protocol.harmony.vocab import encode
from inspector.views.strip import strip
from tests.support.builtin import CAPTURES, COMPLETE_CHAT, RESPONSES, TOOL
from tests.support.streams import CLEAN, CLOSED, LEAK, LOSS, aborted, chat, tool_response

_MESSAGE = {"role": "assistant", "content": "Hi"}
_CHOICE = {"message": _MESSAGE, "finish_reason": "stop", "token_ids": [200005, 17196, 200008, 12194, 200002]}
BODY = loads(
    json.dumps({"object": "chat.completion", "choices": [{"index": 0, **_CHOICE}]}).encode(), "body.json"
)
"""A response that was not streamed: all its tokens came at once."""


def payload(capture: Capture) -> dict[str, Any]:
    inspection = inspect(capture)
    strip_payload: dict[str, Any] = json.loads(json.dumps(strip(inspection, key="k")))
    return strip_payload


def test_blocks_cover_every_cell_once_and_in_order() -> None:
    steps = (
        *CLEAN[:2],
        ("comment here", {}),
        ("<|start|>assistant<|channel|>final<|message|>Hi<|return|>", {"content": "Hi"}),
    )
    strip_payload = payload(chat(steps))
    spans = [(block["start"], block["end"]) for block in strip_payload["blocks"]]
    assert [start for start, _ in spans] == [0, *(end for _, end in spans[:-1])]
    assert spans[-1][1] == strip_payload["count"]
    assert [block["kind"] for block in strip_payload["blocks"]] == ["message", "refused", "message"]


def test_rejected_block_has_the_words_of_the_reference_parser() -> None:
    strip_payload = payload(chat((*CLEAN[:2], ("comment", {}))))
    refused = strip_payload["blocks"][-1]
    assert refused["reason"] == "Unexpected token 12606 while expecting start token 200006"
    assert refused["state"] == "between messages"


def deliveries(strip_payload: dict[str, Any]) -> list[tuple[int, int, str, str | None]]:
    """Start, end, fate and field of the cells that are not framing."""
    [picture] = strip_payload["pipelines"]
    fields = [lane["field"] for lane in picture["lanes"]]
    return [
        (start, end, fate, None if arrived is None else fields[arrived])
        for start, end, fate, _, arrived, _ in picture["fates"]
        if fate != "framing"
    ]


def test_picture_shows_where_tokens_were_delivered() -> None:
    strip_payload = payload(chat(LEAK))
    assert strip_payload["pipelines"][0]["server"] == "vLLM 0.99.0"
    assert deliveries(strip_payload) == [
        (3, 4, "delivered", "reasoning"),
        (4, 6, "misrouted", "content"),
        (12, 13, "delivered", "content"),
    ]
    assert (4, 6, "lost", None) in deliveries(payload(chat(LOSS)))


def test_events_say_which_cells_arrived_together() -> None:
    events = payload(chat(CLEAN, gap_s=0.5))["events"]
    assert events == {"index": [0, 1, 2, 3], "start": [0, 4, 7, 13], "at": [0.5, 1.0, 1.5, 2.0]}


def test_a_split_character_is_shown_at_the_token_that_completes_it() -> None:
    ids = encode("👋🏽")
    strip_payload = payload(
        Capture(
            header=Header(endpoint=Endpoint.TOKENS),
            events=[Event(json.dumps([*encode("<|channel|>final<|message|>"), *ids, 200002]))],
            end=CLOSED,
        )
    )
    texts = strip_payload["texts"]
    assert isinstance(texts, dict)
    assert "".join(texts[str(place)] for place in range(3, 3 + len(ids))) == "👋🏽"
    assert texts["3"] == ""
    vocab = strip_payload["vocab"]
    assert isinstance(vocab, dict)
    assert vocab[str(ids[0])][0] is None, "its bytes alone are no text"
    assert bytes.fromhex("".join(vocab[str(token_id)][1] for token_id in ids)).decode() == "👋🏽"


def test_ids_outside_the_vocabulary_have_no_entry() -> None:
    strip_payload = payload(
        Capture(
            header=Header(endpoint=Endpoint.TOKENS), events=[Event("[200005, 35644, 200008, 999999, -3]")]
        )
    )
    vocab = strip_payload["vocab"]
    assert isinstance(vocab, dict)
    assert set(vocab) == {"200005", "35644", "200008"}
    assert strip_payload["count"] == 5


def test_without_ids_the_cells_are_deltas_with_the_lost_text_between_them() -> None:
    final = {"output": [{"type": "message", "content": [{"type": "output_text", "text": "Hello there!"}]}]}
    events = [
        Event(json.dumps({"type": "response.output_text.delta", "delta": "Hello"}), 0.1),
        Event(json.dumps({"type": "response.output_text.delta", "delta": "!"}), 0.2),
        Event(json.dumps({"type": "response.completed", "response": final}), 0.3),
    ]
    strip_payload = payload(Capture(header=Header(endpoint=Endpoint.RESPONSES), events=events, end=CLOSED))
    assert strip_payload["unit"] == "piece"
    assert strip_payload["texts"] == {"0": "Hello", "1": " there", "2": "!"}
    assert deliveries(strip_payload)[1] == (1, 2, "lost", None)
    dropped = strip_payload["findings"][0]
    assert (dropped["kind"], dropped["cell_start"], dropped["cell_end"]) == ("dropped", 1, 2)


def test_an_empty_capture_has_an_empty_strip() -> None:
    strip_payload = payload(Capture(header=Header(endpoint=Endpoint.CHAT), events=[]))
    assert (strip_payload["count"], strip_payload["blocks"]) == (0, [])


COMMENT = "Unexpected token 12606 while expecting start token 200006"
THINK = "<|channel|>analysis<|message|>Hm"


def test_a_token_that_was_never_sent_is_a_cell_after_the_last_one() -> None:
    capture = aborted([THINK + "<|end|>"], COMMENT)
    strip_payload = payload(capture)
    assert (strip_payload["sent"], strip_payload["count"], strip_payload["ids"][-1]) == (5, 6, 12606)
    (cell,) = strip_payload["unsent"]
    assert (cell["at"], cell["kind"], cell["id"], cell["text"]) == (5, "token", 12606, "comment")
    block = strip_payload["blocks"][-1]
    assert (block["kind"], block["start"], block["end"], block["culprit"]) == ("refused", 5, 6, [5, 6])
    rejected = next(finding for finding in strip_payload["findings"] if finding["kind"] == "unexpected_token")
    assert (rejected["cell_start"], rejected["cell_end"], rejected["token_start"]) == (5, 6, 5)
    assert rejected["title"] == "unexpected token 5, not sent"
    assert strip_payload["events"]["at"][-1] == capture.events[-2].at_s  # the error event, before [DONE]


def test_gap_cell_precedes_an_unsent_token_if_more_is_missing() -> None:
    strip_payload = payload(aborted([THINK], COMMENT))
    assert [(cell["kind"], cell["id"]) for cell in strip_payload["unsent"]] == [
        ("gap", None),
        ("token", 12606),
    ]
    assert strip_payload["ids"][-2:] == [None, 12606]
    rejected = next(finding for finding in strip_payload["findings"] if finding["kind"] == "unexpected_token")
    assert (rejected["cell_start"], rejected["cell_end"]) == (5, 6)
    assert strip_payload["blocks"][0]["complete"] is False


def test_a_rejected_header_becomes_a_block_of_its_own_with_its_culprit() -> None:
    strip_payload = payload(
        aborted([THINK + "<|end|>", "<|start|>assistantary"], "Unknown role: assistantary")
    )
    block = strip_payload["blocks"][-1]
    assert (block["kind"], block["start"], block["end"]) == ("refused", 5, 9)
    assert (block["culprit"], block["reason"]) == ([6, 8], "Unknown role: assistantary")
    assert [(cell["at"], cell["id"]) for cell in strip_payload["unsent"]] == [(8, 200008)]


def test_pieces_are_followed_by_the_token_that_the_error_names() -> None:
    capture = aborted([THINK], COMMENT)
    chunk = json.dumps({"choices": [{"index": 0, "delta": {"reasoning": "Hm"}}]})
    strip_payload = payload(
        Capture(header=capture.header, events=[Event(chunk, 0.1), capture.events[-2]], end=CLOSED)
    )
    assert (strip_payload["unit"], strip_payload["sent"], strip_payload["count"]) == ("piece", 1, 3)
    assert [cell["kind"] for cell in strip_payload["unsent"]] == ["gap", "token"]


def test_culprit_of_a_rejected_block_excludes_what_follows() -> None:
    strip_payload = payload(chat((*CLEAN[:2], ("comment here", {}))))
    block = strip_payload["blocks"][-1]
    assert block["culprit"] == [block["start"], block["start"] + 1]
    assert block["end"] > block["culprit"][1]


def test_reconstructed_tokens_are_cells_with_ids_over_their_delivery() -> None:
    strip_payload = payload(tool_response("0.14.1", 3))
    assert (strip_payload["unit"], strip_payload["reconstructed"], strip_payload["count"]) == (
        "token",
        True,
        32,
    )
    assert strip_payload["uncertain"] == [[9, 17]]
    assert [block["channel"] for block in strip_payload["blocks"]] == ["analysis", "commentary"]
    assert deliveries(strip_payload) == [
        (3, 4, "delivered", "reasoning"),
        (4, 6, "lost", None),
        (21, 31, "delivered", "tool_calls[0].arguments"),
    ]
    (lost,) = strip_payload["findings"]
    assert (lost["cell_start"], lost["cell_end"], lost["token_start"]) == (4, 6, None)
    assert strip_payload["events"]["start"][0] == 0
    assert strip_payload["events"]["index"] == sorted(strip_payload["events"]["index"])
    assert strip_payload["events"]["at"] is not None


def test_tokens_of_a_server_side_tool_are_in_their_own_turn() -> None:
    strip_payload = payload(tool_response("0.32.0", 3, "turn_python"))
    headers = [(block["channel"], block["recipient"], block["complete"]) for block in strip_payload["blocks"]]
    assert headers == [
        ("analysis", None, True),
        ("analysis", "python", True),
        ("analysis", None, True),
        ("final", None, True),
    ]
    assert [field for *_, field in deliveries(strip_payload)] == [
        "reasoning",
        "code_interpreter_call[0].code",
        "reasoning",
        "content",
    ]


def test_tokens_that_the_count_does_not_confirm_are_not_drawn() -> None:
    strip_payload = payload(tool_response("0.32.0", 3, "text_between"))
    assert (strip_payload["unit"], strip_payload["reconstructed"], strip_payload["uncertain"]) == (
        "piece",
        False,
        [],
    )


def test_texts_that_are_lost_again_and_again_are_each_at_their_own_place() -> None:
    made = payload(CAPTURES["responses-dropped-tokens-long-vllm-0.13.0"])
    starts = [finding["cell_start"] for finding in made["findings"] if finding["kind"] == "dropped"]
    assert len(starts) > 100
    assert starts == sorted(set(starts))


def test_tokens_that_the_server_counted_and_put_nowhere_are_a_cell() -> None:
    made = payload(CAPTURES["responses-text-swallowed-vllm-0.32.0"])
    (cell,) = made["unsent"]
    (finding,) = made["findings"]
    assert (cell["label"], cell["at"]) == ("+ 3 tokens", made["count"] - 1)
    assert (finding["cell_start"], finding["cell_end"]) == (cell["at"], cell["at"] + 1)
    assert made["sent"] == made["count"] - 1


@pytest.mark.parametrize(
    ("capture", "per_event"),
    [
        (CAPTURES[TOOL], 3),
        (CAPTURES[COMPLETE_CHAT], 2),
        (CAPTURES[RESPONSES], None),  # nobody sent the IDs, so no event says how many it brought
        (loads(b"[200005, 17196, 200008, 12194, 200002]", "ids.json"), None),
        (BODY, None),
    ],
)
def test_tokens_per_event_are_said_only_where_events_brought_them(
    capture: Capture, per_event: int | None
) -> None:
    assert payload(capture)["pipelines"][0]["per_event"] == per_event


def test_a_text_lost_over_several_messages_is_found_among_reconstructed_tokens() -> None:
    """To 0.23 the final object has a preamble in the reasoning, and the tokens have it in its own message."""
    strip_payload = payload(tool_response("0.14.1", 3, "preamble_tool_call"))
    (lost,) = strip_payload["findings"]
    assert (lost["generated"], lost["cell_start"], lost["cell_end"]) == (
        " weather.Let me look that up.",
        4,
        19,
    )
