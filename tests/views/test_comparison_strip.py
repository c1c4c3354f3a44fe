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
from tests.support.streams import CLEAN, LEAK, PIECES, Step, aborted, chat, long_answer


def as_json(strip_payload: Payload) -> dict[str, Any]:
    """As the browser gets it."""
    payload: dict[str, Any] = json.loads(json.dumps(strip_payload))
    return payload


def row(left: Capture, right: Capture) -> dict[str, Any]:
    comparison = comparison_strip(compare(inspect(left), inspect(right)), key="k")
    assert comparison is not None
    return as_json(comparison.payload)


def test_equal_tokens_are_one_row_over_two_deliveries() -> None:
    payload = row(chat(CLEAN, version="0.15.0"), chat(LEAK, version="0.14.1"))
    assert payload["count"] == 14
    left, right = payload["pipelines"]
    assert (left["server"], right["server"]) == ("vLLM 0.15.0", "vLLM 0.14.1")
    assert [lane["field"] for lane in right["lanes"]] == ["reasoning", "content"]
    assert [4, 6, "misrouted", 0, 1, ""] in right["fates"]
    assert payload["events"]["at"] is not None
    (finding,) = payload["findings"]
    assert (finding["title"], finding["cell_start"], finding["cell_end"]) == (
        "only right: misrouted tokens 4–5",
        4,
        6,
    )


def test_different_tokens_follow_each_other_and_the_first_is_named() -> None:
    yes, no = (
        (
            *CLEAN[:2],
            (f"<|start|>assistant<|channel|>final<|message|>{word}<|return|>", {"content": word}),
        )
        for word in (" yes", " no")
    )
    payload = row(chat(yes), chat(no))
    assert [finding["title"] for finding in payload["findings"]] == [
        "first divergence: replaced on the left, 1 token",
        "replaced on the right, 1 token",
    ]
    sides = [block["role"] for block in payload["blocks"]]
    assert sides == ["assistant", "assistant", "left · assistant", "right · assistant", "assistant"]
    assert payload["count"] == 15  # 14 tokens a side, of which 13 are the same
    assert payload["events"]["at"] is None


def test_rest_of_a_message_on_one_side_is_not_another_message() -> None:
    cut = chat(CLEAN[:1], end=End(at_s=None, cut=True), done=False, finish=None)
    blocks = [
        [(block["start"], block["message"], block["continued"], block["role"]) for block in payload["blocks"]]
        for payload in (row(cut, chat(CLEAN)), row(chat(CLEAN), cut))
    ]
    assert blocks[0] == [
        (0, 0, False, "assistant"),
        (4, 0, True, "only right · assistant"),
        (7, 1, False, "only right · assistant"),
    ]
    assert blocks[1] == [(at, *rest, role.replace("right", "left")) for at, *rest, role in blocks[0]]
    assert row(cut, chat(CLEAN))["findings"][0]["title"] == "the left stream ends here: only right, 10 tokens"
    assert row(chat(CLEAN), cut)["findings"][0]["title"] == "the right stream ends here: only left, 10 tokens"


def test_header_with_different_words_is_not_titled_by_one_side() -> None:
    final = ((CLEAN[0][0].replace("analysis", "final"), {"content": "Need"}), *CLEAN[1:])
    blocks = row(chat(CLEAN), chat(final))["blocks"]
    assert [(block["in_body"], block["role"], block["channel"]) for block in blocks[1:3]] == [
        (False, "left · assistant", "analysis"),
        (False, "right · assistant", "final"),
    ]
    assert (blocks[0]["end"], blocks[0]["in_body"]) == (1, False)
    assert (blocks[3]["start"], blocks[3]["continued"]) == (3, True)


def test_comparison_strip_without_ids_is_none() -> None:
    comparison = compare(inspect(chat(CLEAN)), inspect(chat(CLEAN, with_ids=False)))
    assert comparison_strip(comparison, key="k") is None


@given(left=PIECES, right=PIECES)
def test_row_has_all_tokens_of_each_side_in_order(left: Sequence[Step], right: Sequence[Step]) -> None:
    captures = chat(left), chat(right)
    payload = row(*captures)
    left_ids, right_ids = (inspect(capture).reading.choice.tokens.ids for capture in captures)
    blocks = payload["blocks"]
    assert blocks[0]["start"] == 0
    assert blocks[-1]["end"] == payload["count"] == len(payload["ids"])
    assert all(block["end"] == following["start"] for block, following in pairwise(blocks))
    rebuilt: dict[str, list[int]] = {"left": [], "right": []}
    for block in blocks:
        words = set((block["role"] or "").split(" · "))
        ids = payload["ids"][block["start"] : block["end"]]
        for side, names in (("left", {"left", "only left"}), ("right", {"right", "only right"})):
            unused = {"left", "only left", "right", "only right"} - names
            if not words & unused:
                rebuilt[side] += ids
    assert rebuilt == {"left": left_ids, "right": right_ids}
    assert all(str(token) in payload["vocab"] for token in payload["ids"])
    for picture in payload["pipelines"]:
        assert all(0 <= start < end <= payload["count"] for start, end, *_ in picture["fates"])
        assert all(run[1] <= following[0] for run, following in pairwise(picture["fates"]))
    json.dumps(payload)


def test_comparison_strip_of_all_built_in_pairs() -> None:
    inspections = [inspect(load(row.path), name=row.name) for row in builtin()]
    for left in inspections:
        for right in inspections:
            comparison = comparison_strip(compare(left, right), key="k")
            both_have_ids = left.reading.choice.has_ids and right.reading.choice.has_ids
            assert (comparison is not None) == both_have_ids


def test_tokens_at_gives_the_tokens_of_both_sides() -> None:
    yes, no = (
        (
            *CLEAN[:2],
            (f"<|start|>assistant<|channel|>final<|message|>{word}<|return|>", {"content": word}),
        )
        for word in (" yes", " no")
    )
    comparison = comparison_strip(compare(inspect(chat(yes)), inspect(chat(no))), key="k")
    assert comparison is not None
    assert [comparison.tokens_at(cell) for cell in (0, 11, 12, 13, 14, 15)] == [
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
    comparison = comparison_strip(compare(inspect(left), inspect(right)), key="k", folded=True)
    assert comparison is not None
    return as_json(comparison.payload)


def test_folded_row_omits_long_equal_stretches_and_counts_them() -> None:
    payload = folded(long_answer(), long_answer(lost=200))
    assert payload["hidden"] > 300
    assert payload["count"] + payload["hidden"] == 404
    [finding] = payload["findings"]
    assert payload["ids"][finding["cell_start"] : finding["cell_end"]] == encode(" word")
    assert [finding["cell_start"], finding["cell_end"], "lost"] in [
        run[:3] for run in payload["pipelines"][1]["fates"]
    ]
    roles = [block["role"] for block in payload["blocks"]]
    assert any(role.startswith("after ") and "equal tokens" in role for role in roles)


def test_folded_findings_are_at_the_tokens_that_differ() -> None:
    payload = folded(long_answer(), long_answer(changed=390))
    assert payload["hidden"] > 300
    left, right = payload["findings"]
    assert payload["ids"][left["cell_start"]] == encode(" word")[0]
    assert payload["ids"][right["cell_start"]] == encode(" other")[0]


def test_folded_equal_sides_keep_only_their_edges() -> None:
    payload = folded(long_answer(), long_answer())
    assert payload["count"] + payload["hidden"] == 404
    assert payload["count"] <= 2 * 24


@given(left=PIECES, right=PIECES)
def test_folded_row_is_the_row_without_hidden_tokens(left: Sequence[Step], right: Sequence[Step]) -> None:
    unfolded_payload, payload = row(chat(left), chat(right)), folded(chat(left), chat(right))
    assert payload["count"] == len(payload["ids"]) == unfolded_payload["count"] - payload["hidden"]
    assert [finding["title"] for finding in payload["findings"]] == [
        finding["title"] for finding in unfolded_payload["findings"]
    ]
    for finding, unfolded in zip(payload["findings"], unfolded_payload["findings"], strict=True):
        if finding["cell_start"] is not None:
            ids = payload["ids"][finding["cell_start"] : finding["cell_end"]]
            assert ids == unfolded_payload["ids"][unfolded["cell_start"] : unfolded["cell_end"]]
    assert all(block["end"] == following["start"] for block, following in pairwise(payload["blocks"]))
    assert all(payload["ids"][int(place)] is not None for place in payload["texts"])
    for picture in payload["pipelines"]:
        assert all(0 <= start < end <= payload["count"] for start, end, *_ in picture["fates"])
        assert all(run[1] <= following[0] for run, following in pairwise(picture["fates"]))


COMMENT = "Unexpected token 12606 while expecting start token 200006"
STEPS = ["<|channel|>analysis<|message|>Hm<|end|>"]


def test_unsent_cells_of_one_side_follow_its_last_token() -> None:
    steps: list[Step] = [("<|channel|>analysis<|message|>Hm<|end|>", {}), ("comment and more", {})]
    payload = row(aborted(STEPS, COMMENT), chat(steps, version="0.32.0"))
    assert payload["ids"] == [*encode(STEPS[0]), 12606, *encode("comment and more")]
    (cell,) = payload["unsent"]
    assert (cell["at"], cell["id"]) == (5, 12606)
    finding = next(
        finding
        for finding in payload["findings"]
        if finding["title"].startswith("only left: unexpected token")
    )
    assert (finding["cell_start"], finding["cell_end"]) == (5, 6)
    assert [finding["title"] for finding in payload["findings"] if "divergence" in finding["title"]] == [
        "first divergence: only right, 3 tokens"
    ]


def test_equal_unsent_cells_are_drawn_once() -> None:
    payload = row(aborted(STEPS, COMMENT), aborted(STEPS, COMMENT, version="0.14.1"))
    assert payload["ids"] == [*encode(STEPS[0]), 12606]
    assert [cell["at"] for cell in payload["unsent"]] == [5]
    assert payload["findings"] == []


def test_different_unsent_cells_are_drawn_for_each_side() -> None:
    replaced = COMMENT.replace("12606", "13")
    payload = row(aborted(STEPS, COMMENT), aborted(STEPS, replaced, version="0.14.1"))
    assert payload["ids"] == [*encode(STEPS[0]), 12606, 13]
    assert [(cell["at"], cell["id"]) for cell in payload["unsent"]] == [(5, 12606), (6, 13)]
    assert sorted(
        finding["cell_start"] for finding in payload["findings"] if finding["kind"] == "unexpected_token"
    ) == [
        5,
        6,
    ]
