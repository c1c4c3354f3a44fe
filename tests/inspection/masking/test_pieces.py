"""Stand-ins of texts whose pieces are known."""

import pytest

from inspector.inspection.masking.pieces import MaskedTexts
from inspector.inspection.masking.standins import Standins


def texts_of(*texts: str) -> MaskedTexts:
    pieces = MaskedTexts(Standins(bytes(32)))
    for text in texts:
        pieces.add(text, text.upper())
    return pieces


def test_a_name_has_the_stand_in_of_a_whole_word_where_there_is_one() -> None:
    pieces = MaskedTexts(Standins(bytes(32)))
    pieces.add("type running type", "type JUMPING FORM")
    pieces.add("run type", "SIT FORM")
    assert pieces.slice("run") == "SIT"
    assert pieces.slice("nnin") == "MPIN"
    assert pieces.slice("type") == "type"
    assert pieces.slice("type", replaced=True) == "FORM"
    assert pieces.slice("nnin", replaced=True) is None


def test_the_longest_known_piece_is_used() -> None:
    pieces = texts_of("one two three", "two three four five")
    assert pieces.mapped("one two three", least=8) == "ONE TWO THREE"
    assert pieces.mapped("two three four", least=8) == "TWO THREE FOUR"


def test_the_name_of_a_special_token_is_no_piece_of_a_known_text() -> None:
    assert (
        texts_of("the words constrain_in_body")
        .mapped('<|constrain|>{"a"', least=8)
        .startswith("<|constrain|>")
    )


@pytest.mark.slow
def test_a_request_may_have_many_texts() -> None:
    """In seconds, also where none of them is known."""
    pieces = texts_of(" ".join(f"word{number * number % 9973}" for number in range(40_000)))
    assert not any(
        pieces.slice(f"message number {number} of a long conversation") for number in range(100_000)
    )
