from hypothesis import given
from hypothesis import strategies as st

from inspector.inspection.compare import DiffPart, FieldPair, StretchKind, diff
from inspector.inspection.compare.texts import pair_fields

TEXT = st.text(st.sampled_from("ab c\n<>&\u202e\U0001f44b\U0001f3fd\ufffd"), max_size=60)


@given(left=TEXT, right=TEXT)
def test_pieces_hold_both_texts_whole(left: str, right: str) -> None:
    parts = diff(left, right)
    assert "".join(piece.left for piece in parts) == left
    assert "".join(piece.right for piece in parts) == right
    assert all(piece.left == piece.right for piece in parts if piece.lane is StretchKind.SAME)


def test_lost_letters_are_seen_inside_a_word() -> None:
    assert diff("Hello there", "Hel there") == [
        DiffPart(StretchKind.SAME, "Hel", "Hel"),
        DiffPart(StretchKind.ONLY_LEFT, "lo", ""),
        DiffPart(StretchKind.SAME, " there", " there"),
    ]


def test_another_word_is_replaced_whole() -> None:
    assert diff("a cat sat", "a dog sat")[1] == DiffPart(StretchKind.REPLACED, "cat", "dog")


def test_fields_pair_by_name_and_an_unknown_side_is_neither_equal_nor_different() -> None:
    left = {"reasoning": "a", "content": "", "text": ""}
    assert pair_fields(left, {"reasoning": "a", "content": "b"}) == (
        FieldPair("reasoning", "a", "a"),
        FieldPair("content", "", "b"),
    )
    (unknown,) = pair_fields(left, None)
    assert (unknown.right, unknown.equal, unknown.parts()) == (None, None, [])
