"""The table of differences: whatever the length of the texts, a difference is seen with what is around it."""

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

import inspector
from inspector.views.audit_result import AuditResult
from inspector.views.differences import Differences, Part, differences, excerpts
from tests.support.builtin import CAPTURES

TEXTS = st.text(alphabet='ab {}":,\n\u202e👩', max_size=400)
EXCERPT_AT_MOST = 400


def shown(parts: Sequence[Part]) -> str:
    return "".join(text for style, text in parts if style in {"same", "mark"})


def size(parts: Sequence[Part]) -> int:
    """Characters of what is shown and of what is folded."""
    folded = (int(text.split()[0].replace(",", "")) for style, text in parts if style == "fold")
    return len(shown(parts)) + sum(folded)


def prose(words: int, draw: random.Random) -> list[str]:
    return ["".join(draw.choices("abcdefghij", k=draw.randint(1, 12))) for _ in range(words)]


@given(left=TEXTS, right=TEXTS)
def test_excerpts_with_what_they_fold_are_the_whole_texts(left: str, right: str) -> None:
    rows = excerpts(left, right)
    assert sum(size(row.left) for row in rows) == len(left)
    assert sum(size(row.right) for row in rows) == len(right)
    for row in rows:
        styles = {style for style, _ in [*row.left, *row.right]}
        assert ("mark" in styles) == (left != right)
        assert max(len(shown(row.left)), len(shown(row.right))) <= EXCERPT_AT_MOST


@given(st.integers(1, 3000), st.floats(0, 1, exclude_max=True), st.randoms(use_true_random=False))
def test_a_lost_word_is_marked_in_the_first_excerpt(words: int, share: float, draw: random.Random) -> None:
    text = prose(words, draw)
    at = int(share * words)
    text[at] = "LOST"
    left, right = " ".join(text), " ".join(text[:at] + text[at + 1 :])
    (row,) = excerpts(left, right)
    mark = next(place for place, (style, _) in enumerate(row.left) if style == "mark")
    assert "LOST" in row.left[mark][1]
    assert ("gap", "") in row.right
    for beside, rest in ((row.left[mark - 1 : mark], at), (row.left[mark + 1 : mark + 2], words - at - 1)):
        around = shown(beside)
        assert len(around) >= 15 or rest < 15
        assert len(around) <= 60


def test_of_several_fields_each_has_its_first_difference_and_the_others_are_counted() -> None:
    found = of_fixture("responses-dropped-tokens-long-vllm-0.13.0")
    assert [(field.label, len(field.excerpts)) for field in found.fields] == [("reasoning", 1), ("answer", 1)]
    assert found.more


@pytest.mark.parametrize(
    ("name", "label", "left", "right"),
    [
        (
            "chat-unexpected-token-swallowed-vllm-0.32.0",
            "after the reasoning",
            [("mark", "comment here")],
            "nothing, and no error",
        ),
        (
            "chat-unknown-role-swallowed-vllm-0.32.0",
            "after the reasoning",
            [("same", "<|start|>assistantary<|channel|>final<|message|>"), ("mark", "Hi")],
            "nothing, and no error",
        ),
        (
            "chat-unexpected-token-200002-vllm-0.13.0",
            "after the reasoning",
            [("mark", "<|return|>")],
            "an error",
        ),
        (
            "chat-unknown-role-vllm-0.13.0",
            "after the reasoning",
            [("mark", "<|start|>assistantary<|channel|>")],
            "an error",
        ),
        (
            "responses-text-swallowed-vllm-0.32.0",
            "in no field",
            [("note", "3 more tokens, by the server's count")],
            "nothing, and no error",
        ),
    ],
)
def test_what_was_rejected_or_never_sent_is_in_the_table(
    name: str, label: str, left: list[Part], right: str
) -> None:
    field = of_fixture(name).fields[-1]
    assert field.label == label
    assert [(list(row.left), list(row.right)) for row in field.excerpts] == [(left, [("note", right)])]


def test_where_no_parser_ran_nothing_was_rejected() -> None:
    assert of_fixture("completions-unexpected-token-200002-vllm-0.13.0") == Differences([], 0)


def of_fixture(name: str) -> Differences:
    return differences(AuditResult(inspector.inspect(CAPTURES[name], name=name)))
