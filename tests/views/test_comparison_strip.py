"""Two captures in one row of tokens, over the delivery of each side."""

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from hypothesis import given

from inspector.capture.capture import Capture, End
from inspector.files.store import builtin, load
from inspector.inspection.compare import compare
from inspector.inspection.inspection import inspect
from inspector.protocol.harmony.vocab import encode
from inspector.views.payload import Payload
from inspector.views.strip.comparison import comparison_strip
from tests.support.streams import GOOD, LEAK, PIECES, Step, aborted, chat, long_answer


def as_json(made: Payload) -> dict[str, Any]:
    """As the browser gets it."""
    payload: dict[str, Any] = json.loads(json.dumps(made))
    return payload


def row(left: Capture, right: Capture) -> dict[str, Any]:
    made = comparison_strip(compare(inspect(left), inspect(right)), key="k")
    assert made is not None
    return as_json(made.payload)


def test_equal_tokens_are_one_row_over_two_deliveries() -> None:
    made = row(chat(GOOD, version="0.15.0"), chat(LEAK, version="0.14.1"))
    assert made["count"] == 14
    left, right = made["pipelines"]
    assert (left["server"], right["server"]) == ("vLLM 0.15.0", "vLLM 0.14.1")
    assert [lane["field"] for lane in right["lanes"]] == ["reasoning", "content"]
    assert [4, 6, "misrouted", 0, 1, ""] in right["fates"]
    assert made["events"]["at"] is not None
    (finding,) = made["findings"]
    assert (finding["title"], finding["cell_start"], finding["cell_end"]) == (
        "only right: misrouted tokens 4–5",
        4,
        6,
    )


def test_different_tokens_follow_each_other_and_the_first_is_named() -> None:
    yes, no = (
        (*GOOD[:2], (f"<|start|>assistant<|channel|>final<|message|>{word}<|return|>", {"content": word}))
        for word in (" yes", " no")
    )
    made = row(chat(yes), chat(no))
    assert [finding["title"] for finding in made["findings"]] == [
        "first divergence: replaced on the left, 1 token",
        "replaced on the right, 1 token",
    ]
    sides = [block["role"] for block in made["blocks"]]
    assert sides == ["assistant", "assistant", "left · assistant", "right · assistant", "assistant"]
    assert made["count"] == 15  # 14 tokens a side, of which 13 are the same
    assert made["events"]["at"] is None


def test_rest_of_a_message_on_one_side_is_not_another_message() -> None:
    cut = chat(GOOD[:1], end=End(at_s=None, cut=True), done=False, finish=None)
    blocks = [
        [(block["start"], block["message"], block["continued"], block["role"]) for block in made["blocks"]]
        for made in (row(cut, chat(GOOD)), row(chat(GOOD), cut))
    ]
    assert blocks[0] == [
        (0, 0, False, "assistant"),
        (4, 0, True, "only right · assistant"),
        (7, 1, False, "only right · assistant"),
    ]
    assert blocks[1] == [(at, *rest, role.replace("right", "left")) for at, *rest, role in blocks[0]]
    assert row(cut, chat(GOOD))["findings"][0]["title"] == "the left stream ends here: only right, 10 tokens"
    assert row(chat(GOOD), cut)["findings"][0]["title"] == "the right stream ends here: only left, 10 tokens"


def test_header_with_different_words_is_not_titled_by_one_side() -> None:
    final = ((GOOD[0][0].replace("analysis", "final"), {"content": "Need"}), *GOOD[1:])
    blocks = row(chat(GOOD), chat(final))["blocks"]
    assert [(block["in_body"], block["role"], block["channel"]) for block in blocks[1:3]] == [
        (False, "left · assistant", "analysis"),
        (False, "right · assistant", "final"),
    ]
    assert (blocks[0]["end"], blocks[0]["in_body"]) == (1, False)
    assert (blocks[3]["start"], blocks[3]["continued"]) == (3, True)


def test_comparison_strip_without_ids_is_none() -> None:
    comparison = compare(inspect(chat(GOOD)), inspect(chat(GOOD, with_ids=False)))
    assert comparison_strip(comparison, key="k") is None


@given(left=PIECES, right=PIECES)
def test_row_has_all_tokens_of_each_side_in_order(left: Sequence[Step], right: Sequence[Step]) -> None:
    captures = chat(left), chat(right)
    made = row(*captures)
    left_ids, right_ids = (inspect(capture).reading.choice.tokens.ids for capture in captures)
    blocks = made["blocks"]
    assert blocks[0]["start"] == 0
    assert blocks[-1]["end"] == made["count"] == len(made["ids"])
    assert all(block["end"] == then["start"] for block, then in pairwise(blocks))
    rebuilt: dict[str, list[int]] = {"left": [], "right": []}
    for block in blocks:
        words = set((block["role"] or "").split(" · "))
        ids = made["ids"][block["start"] : block["end"]]
        for side, names in (("left", {"left", "only left"}), ("right", {"right", "only right"})):
            unused = {"left", "only left", "right", "only right"} - names
            if not words & unused:
                rebuilt[side] += ids
    assert rebuilt == {"left": left_ids, "right": right_ids}
    assert all(str(token) in made["vocab"] for token in made["ids"])
    for picture in made["pipelines"]:
        assert all(0 <= start < end <= made["count"] for start, end, *_ in picture["fates"])
        assert all(run[1] <= then[0] for run, then in pairwise(picture["fates"]))
    json.dumps(made)


def test_comparison_strip_of_all_built_in_pairs() -> None:
    inspections = [inspect(load(row.path), name=row.name) for row in builtin()]
    for left in inspections:
        for right in inspections:
            made = comparison_strip(compare(left, right), key="k")
            both_have_ids = left.reading.choice.has_ids and right.reading.choice.has_ids
            assert (made is not None) == both_have_ids


def test_tokens_at_gives_the_tokens_of_both_sides() -> None:
    yes, no = (
        (*GOOD[:2], (f"<|start|>assistant<|channel|>final<|message|>{word}<|return|>", {"content": word}))
        for word in (" yes", " no")
    )
    made = comparison_strip(compare(inspect(chat(yes)), inspect(chat(no))), key="k")
    assert made is not None
    assert [made.tokens_at(cell) for cell in (0, 11, 12, 13, 14, 15)] == [
        (0, 0),
        (11, 11),
        (12, None),
        (None, 12),
        (13, 13),
        (None, None),
    ]
    short = comparison_strip(
        compare(inspect(long_answer()), inspect(long_answer(lost=200))), key="k", folded=True
    )
    assert short is not None
    (finding,) = short.payload["findings"]
    assert short.tokens_at(finding["cell_start"] or 0) == (203, 203)


def folded(left: Capture, right: Capture) -> dict[str, Any]:
    made = comparison_strip(compare(inspect(left), inspect(right)), key="k", folded=True)
    assert made is not None
    return as_json(made.payload)


def test_folded_row_omits_long_equal_stretches_and_counts_them() -> None:
    made = folded(long_answer(), long_answer(lost=200))
    assert made["hidden"] > 300
    assert made["count"] + made["hidden"] == 404
    [finding] = made["findings"]
    assert made["ids"][finding["cell_start"] : finding["cell_end"]] == encode(" word")
    assert [finding["cell_start"], finding["cell_end"], "lost"] in [
        run[:3] for run in made["pipelines"][1]["fates"]
    ]
    roles = [block["role"] for block in made["blocks"]]
    assert any(role.startswith("after ") and "equal tokens" in role for role in roles)


def test_folded_findings_are_at_the_tokens_that_differ() -> None:
    made = folded(long_answer(), long_answer(other=390))
    assert made["hidden"] > 300
    left, right = made["findings"]
    assert made["ids"][left["cell_start"]] == encode(" word")[0]
    assert made["ids"][right["cell_start"]] == encode(" other")[0]


def test_folded_equal_sides_keep_only_their_edges() -> None:
    made = folded(long_answer(), long_answer())
    assert made["count"] + made["hidden"] == 404
    assert made["count"] <= 2 * 24


@given(left=PIECES, right=PIECES)
def test_folded_row_is_the_row_without_hidden_tokens(left: Sequence[Step], right: Sequence[Step]) -> None:
    whole, made = row(chat(left), chat(right)), folded(chat(left), chat(right))
    assert made["count"] == len(made["ids"]) == whole["count"] - made["hidden"]
    assert [finding["title"] for finding in made["findings"]] == [
        finding["title"] for finding in whole["findings"]
    ]
    for finding, unfolded in zip(made["findings"], whole["findings"], strict=True):
        if finding["cell_start"] is not None:
            ids = made["ids"][finding["cell_start"] : finding["cell_end"]]
            assert ids == whole["ids"][unfolded["cell_start"] : unfolded["cell_end"]]
    assert all(block["end"] == then["start"] for block, then in pairwise(made["blocks"]))
    assert all(made["ids"][int(place)] is not None for place in made["texts"])
    for picture in made["pipelines"]:
        assert all(0 <= start < end <= made["count"] for start, end, *_ in picture["fates"])
        assert all(run[1] <= then[0] for run, then in pairwise(picture["fates"]))


COMMENT = "Unexpected token 12606 while expecting start token 200006"
STEPS = ["<|channel|>analysis<|message|>Hm<|end|>"]


def test_unsent_cells_of_one_side_follow_its_last_token() -> None:
    steps: list[Step] = [("<|channel|>analysis<|message|>Hm<|end|>", {}), ("comment and more", {})]
    made = row(aborted(STEPS, COMMENT), chat(steps, version="0.32.0"))
    assert made["ids"] == [*encode(STEPS[0]), 12606, *encode("comment and more")]
    (cell,) = made["unsent"]
    assert (cell["at"], cell["id"]) == (5, 12606)
    finding = next(
        finding for finding in made["findings"] if finding["title"].startswith("only left: unexpected token")
    )
    assert (finding["cell_start"], finding["cell_end"]) == (5, 6)
    assert [finding["title"] for finding in made["findings"] if "divergence" in finding["title"]] == [
        "first divergence: only right, 3 tokens"
    ]


def test_equal_unsent_cells_are_drawn_once() -> None:
    made = row(aborted(STEPS, COMMENT), aborted(STEPS, COMMENT, version="0.14.1"))
    assert made["ids"] == [*encode(STEPS[0]), 12606]
    assert [cell["at"] for cell in made["unsent"]] == [5]
    assert made["findings"] == []


def test_different_unsent_cells_are_drawn_for_each_side() -> None:
    replaced = COMMENT.replace("12606", "13")
    made = row(aborted(STEPS, COMMENT), aborted(STEPS, replaced, version="0.14.1"))
    assert made["ids"] == [*encode(STEPS[0]), 12606, 13]
    assert [(cell["at"], cell["id"]) for cell in made["unsent"]] == [(5, 12606), (6, 13)]
    assert sorted(
        finding["cell_start"] for finding in made["findings"] if finding["kind"] == "unexpected_token"
    ) == [
        5,
        6,
    ]
