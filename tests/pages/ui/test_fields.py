"""Texts side by side: nothing is lost between what comes in and what is drawn, and long shares are folded."""

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from inspector.analysis.audit import FieldState
from inspector.analysis.reading import Evidence
from inspector.views.audit_result import FieldRow
from inspector.views.differences import Part
from pages.ui.fields import field_words, parts, sides

TEXTS = st.text(alphabet='ab {}":,\n\u202e👩', max_size=60)
ROW = FieldRow(
    field="content",
    generated="Hi",
    delivered="Hi",
    state=FieldState.EQUAL,
    label="answer",
    evidence=Evidence.TOKEN_IDS,
)


def joined(drawn: Sequence[Part]) -> str:
    return "".join(text for kind, text in drawn if kind in {"same", "mark"})


@given(left=TEXTS, right=TEXTS)
def test_both_texts_are_drawn_whole_and_marked_where_they_differ(left: str, right: str) -> None:
    left_parts, right_parts = sides(left, right)
    assert left_parts is not None
    assert (joined(left_parts), joined(right_parts)) == (left, right)
    assert ("mark" in {kind for kind, _ in [*left_parts, *right_parts]}) == (left != right)


def test_sides_mark_missing_text_as_a_gap() -> None:
    assert sides("Need weather.", "Need") == (
        [("same", "Need"), ("mark", " weather.")],
        [("same", "Need"), ("gap", "")],
    )


def test_sides_with_an_unknown_side_have_no_parts_for_it() -> None:
    assert sides(None, "Hi") == (None, [("same", "Hi")])


def test_sides_fold_around_a_lost_word() -> None:
    word = "word "
    left_parts, right_parts = sides(word * 2000 + "LOST " + word * 2000, word * 4000)
    assert left_parts is not None
    assert [kind for kind, _ in left_parts] == ["same", "fold", "same", "mark", "same", "fold", "same"]
    assert sum(len(text) for _, text in left_parts) < 1000
    assert [kind for kind, _ in right_parts][3] == "gap"
    assert left_parts[1][1] == "9,680 characters"


def test_many_differences_are_counted_not_drawn() -> None:
    left_parts, right_parts = sides(
        " ".join(f"a{n}" for n in range(1000)), " ".join(f"b{n}" for n in range(1000))
    )
    assert left_parts is not None
    assert len(left_parts) <= 401
    assert left_parts[-1] == right_parts[-1]
    assert left_parts[-1][0] == "fold"


def test_one_difference_of_a_megabyte_is_cut() -> None:
    left_parts, _ = sides("x" * 1_000_000, "")
    assert left_parts is not None
    ((kind, text),) = left_parts
    assert kind == "mark"
    assert text.endswith("… and 996,000 more characters")


def test_field_words() -> None:
    assert field_words("content") == ["content"]
    assert field_words("tool_calls[1].arguments") == ["tool call 2", "arguments"]
    assert field_words("mcp_call[0].arguments") == ["mcp call 1", "arguments"]


def test_rows_keep_field_and_verdict() -> None:
    (drawn,) = parts([ROW])
    assert drawn == {
        "field": ["content"],
        "label": "answer",
        "left": [("same", "Hi")],
        "right": [("same", "Hi")],
        "equal": True,
        "note": "",
    }


def test_every_reason_for_a_right_difference_has_words() -> None:
    right = [state for state in FieldState if state.equal and state is not FieldState.EQUAL]
    notes = {parts([replace(ROW, state=state)])[0]["note"] for state in right}
    assert "" not in notes
    assert len(notes) == len(right) == 5
