"""Stand-ins of texts whose pieces are known."""

from inspector.masking.pieces import Known
from inspector.masking.standins import Standins


def known(*texts: str) -> Known:
    found = Known(Standins(bytes(32)))
    for text in texts:
        found.quote(text, text.upper())
    return found


def test_the_longest_piece_that_an_error_quotes_is_replaced_and_other_words_stay() -> None:
    found = known("one two three", "two three four five")
    assert found.without_quotes("Error in (two three four): no") == "Error in (TWO THREE FOUR): no"
    assert found.without_quotes("one two, two thr") == "one two, TWO THR"
    assert found.without_quotes("of 7 chr") == "of 7 chr"
    assert found.without_quotes("") == ""


def test_an_error_may_quote_a_long_prompt() -> None:
    """In a second; search by search it took minutes."""
    text = " ".join(f"word{number * number % 9973}" for number in range(40_000))
    found = known(text)
    assert found.without_quotes(f"bad prompt: {text}!") == f"bad prompt: {text.upper()}!"
    assert found.without_quotes("~" * len(text)) == "~" * len(text)


def test_a_request_may_have_many_texts() -> None:
    found = known(*(f"message number {one} of a long conversation" for one in range(100_000)))
    assert found.without_quotes("in message number 99999 of") == "in MESSAGE NUMBER 99999 OF"
