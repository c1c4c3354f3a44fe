"""Stand-ins of texts whose pieces are known."""

import random
import time

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


def test_an_error_of_many_short_pieces_of_a_prompt_is_read_in_linear_time() -> None:
    chance = random.Random(1)  # noqa: S311 -- a test
    text = "".join(chance.choice("abc") for _ in range(300_000))
    pieces = [text[at : at + 12] for at in (chance.randrange(len(text) - 12) for _ in range(25_000))]
    begun = time.perf_counter()
    masked = known(text).without_quotes("Z".join(pieces))
    assert time.perf_counter() - begun < 20  # it was more than a minute
    assert len(masked) == 13 * len(pieces) - 1
    assert not any(piece[:8] in masked for piece in pieces)
