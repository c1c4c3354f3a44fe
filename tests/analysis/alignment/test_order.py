"""Text in another order, or with line feeds of the server's in the wrong place, is never clean."""

import json
from collections.abc import Sequence

import pytest

import inspector
from inspector.analysis.alignment import alignments
from inspector.analysis.alignment.cells import Cell, FateState, Piece
from inspector.analysis.alignment.matching import match_field
from inspector.analysis.audit import Code, audit
from inspector.analysis.reading import read
from inspector.capture.capture import Capture, Endpoint, Event, EventKind, Header
from inspector.protocol.harmony.vocab import encode

THINK = "<|channel|>analysis<|message|>{}<|end|>"
ANSWER = "<|start|>assistant<|channel|>final<|message|>{}<|return|>"


def body(ids: Sequence[int], message: dict[str, object]) -> Capture:
    choice = {"index": 0, "message": message, "finish_reason": "stop", "token_ids": list(ids)}
    payload = {"object": "chat.completion", "choices": [choice], "usage": {"completion_tokens": len(ids)}}
    return Capture(
        header=Header(endpoint=Endpoint.CHAT), events=[Event(json.dumps(payload), kind=EventKind.BODY)]
    )


def codes(capture: Capture) -> set[Code]:
    return {finding.code for finding in inspector.inspect(capture).findings}


@pytest.mark.parametrize(
    ("generated", "delivered"),
    [
        ("Delete a.txt. Keep b.txt.", "Delete b.txt. Keep a.txt."),
        ("Do not stop.", " not stop.Do"),
        (" ".join(map(str, range(40))), " ".join(map(str, [*range(20, 40), *range(20)]))),
    ],
    ids=["names exchanged", "first word last", "rotated by half"],
)
def test_text_in_another_order_in_one_body_is_reordered(generated: str, delivered: str) -> None:
    capture = body(
        encode(ANSWER.removeprefix("<|start|>assistant").format(generated)), {"content": delivered}
    )
    assert Code.TEXT_REORDERED in codes(capture)


@pytest.mark.parametrize(
    ("reasoning", "code"),
    [
        ("HTTP\n/1.1\nWell.", Code.TEXT_INVENTED),
        ("HTTP/1.1\n\nWell.", Code.TEXT_INVENTED),
        ("HTTP/1.1\nWell.", None),
    ],
    ids=["within a message", "two between messages", "one between messages"],
)
def test_a_line_feed_is_the_servers_only_between_two_messages(reasoning: str, code: Code | None) -> None:
    ids = encode(
        THINK.format("HTTP/1.1") + "<|start|>assistant" + THINK.format("Well.") + ANSWER.format("Yes.")
    )
    assert codes(body(ids, {"reasoning": reasoning, "content": "Yes."})) == ({code} if code else set())


def test_a_separator_beside_lost_text_is_the_servers() -> None:
    texts = ["One two.", "Three four."]
    ids = encode("<|start|>assistant".join(THINK.format(text) for text in texts) + ANSWER.format("Yes."))
    assert codes(body(ids, {"reasoning": "One\nThree four.", "content": "Yes."})) == {Code.TEXT_LOST}


def test_the_delivered_text_tells_which_of_two_equal_tokens_went_elsewhere() -> None:
    ids = encode(THINK.format("mats x then x.") + ANSWER.format("Yes."))
    capture = body(ids, {"reasoning": "mats then x.", "content": " xYes."})
    (finding,) = inspector.inspect(capture).findings
    assert finding.code is Code.TEXT_IN_OTHER_FIELD
    assert finding.token_start == ids.index(encode(" x")[0])


def test_an_alignment_that_finds_nothing_wrong_does_not_make_other_texts_equal() -> None:
    """The audit compares the texts themselves at its end, whatever the alignment says."""
    ids = encode(ANSWER.removeprefix("<|start|>assistant").format("Pay Ann."))
    right = read(body(ids, {"content": "Pay Ann."}))
    assert audit(right) == []
    for delivered in ("Pay Bob.", "Pay Ann. Pay Bob."):
        (finding,) = audit(read(body(ids, {"content": delivered})), alignments(right))
        assert (finding.code, finding.field, finding.delivered) == (Code.TEXT_CHANGED, "content", delivered)


def test_a_token_is_not_matched_with_two_texts_that_others_stand_between() -> None:
    cell = Cell(0, 0, "cd", 0, "content", "content", 0, FateState.DROPPED)
    strays = [Piece(0, "content", "c", 0), Piece(1, "content", "d", 5)]
    assert match_field([cell], strays, strays) == strays
    assert cell.free
