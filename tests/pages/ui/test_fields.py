"""Texts side by side: nothing is lost between what comes in and what is drawn, and long shares are folded."""

from hypothesis import given
from hypothesis import strategies as st

from inspector.analysis.audit import FieldState
from pages.ui.fields import field_words, parts, sides

TEXTS = st.text(alphabet='ab {}":,\n\u202e👩', max_size=60)


def joined(drawn: list[tuple[str, str]]) -> str:
    return "".join(text for kind, text in drawn if kind in {"same", "mark"})


@given(left=TEXTS, right=TEXTS)
def test_both_texts_are_drawn_whole_and_marked_where_they_differ(left: str, right: str) -> None:
    mine, other = sides(left, right)
    assert mine is not None
    assert (joined(mine), joined(other)) == (left, right)
    assert ("mark" in {kind for kind, _ in [*mine, *other]}) == (left != right)


def test_what_one_side_lacks_is_a_gap_in_it() -> None:
    assert sides("Need weather.", "Need") == (
        [("same", "Need"), ("mark", " weather.")],
        [("same", "Need"), ("gap", "")],
    )


def test_a_side_that_cannot_be_known_has_no_parts() -> None:
    assert sides(None, "Hi") == (None, [("same", "Hi")])


def test_a_lost_word_in_a_long_text_is_in_sight() -> None:
    word = "word "
    mine, other = sides(word * 2000 + "LOST " + word * 2000, word * 4000)
    assert mine is not None
    assert [kind for kind, _ in mine] == ["same", "fold", "same", "mark", "same", "fold", "same"]
    assert sum(len(text) for _, text in mine) < 1000
    assert [kind for kind, _ in other][3] == "gap"
    assert mine[1][1] == "9,680 characters"


def test_many_differences_are_counted_not_drawn() -> None:
    mine, other = sides(" ".join(f"a{n}" for n in range(1000)), " ".join(f"b{n}" for n in range(1000)))
    assert mine is not None
    assert len(mine) <= 401
    assert mine[-1] == other[-1]
    assert mine[-1][0] == "fold"


def test_one_difference_of_a_megabyte_is_cut() -> None:
    mine, _ = sides("x" * 1_000_000, "")
    assert mine is not None
    ((kind, text),) = mine
    assert kind == "mark"
    assert text.endswith("… and 996,000 more characters")


def test_fields_are_named_for_people() -> None:
    assert field_words("content") == ["content"]
    assert field_words("tool_calls[1].arguments") == ["tool call 2", "arguments"]
    assert field_words("mcp_call[0].arguments") == ["mcp call 1", "arguments"]


def test_rows_keep_field_and_verdict() -> None:
    row = {"field": "content", "generated": "Hi", "delivered": "Hi", "equal": True, "note": ""}
    (drawn,) = parts([row])
    assert drawn == {
        "field": ["content"],
        "left": [("same", "Hi")],
        "right": [("same", "Hi")],
        "equal": True,
        "note": "",
    }


def test_every_reason_for_a_right_difference_has_words() -> None:
    row = {"field": "text", "generated": "Hi<|return|>", "delivered": "Hi", "equal": True}
    right = [state for state in FieldState if state.equal and state is not FieldState.EQUAL]
    notes = {parts([{**row, "note": state.note}])[0]["note"] for state in right}
    assert "" not in notes
    assert len(notes) == len(right) == 5
