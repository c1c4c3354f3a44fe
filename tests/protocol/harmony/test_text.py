import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.protocol.harmony.text import text_of, texts
from inspector.protocol.harmony.vocab import encode, token_bytes

HAND = 61138  # " \xf0\x9f\x91": a space and three of the four bytes of a character


def test_a_split_character_is_shown_at_the_token_that_completes_it() -> None:
    ids = encode(" 👋🏽!")
    assert [token_bytes(token_id) for token_id in ids] == [
        b" \xf0\x9f\x91",
        b"\x8b",
        b"\xf0\x9f\x8f",
        b"\xbd",
        b"!",
    ]
    assert texts(ids) == [" ", "👋", "", "🏽", "!"]


def test_bytes_that_never_become_a_character_are_shown_where_that_is_certain() -> None:
    assert texts([HAND, *encode("x")]) == [" ", "\ufffdx"]
    assert texts([HAND]) == [" \ufffd"]


def test_a_character_that_may_still_be_completed_shows_nothing() -> None:
    assert texts([HAND], ended=False) == [" "]
    assert text_of([HAND], ended=False) == " "


def test_ids_outside_the_vocabulary_have_no_text() -> None:
    assert texts([-1, 10**9, *encode("x")]) == ["", "", "x"]


@pytest.mark.parametrize("text", ["👩‍👩‍👧‍👦🇨🇭", "𠮷野家 뷁", "é́ שָׁלוֹם", "\u202eabc\x00<script>"])
def test_texts_joined_are_the_text(text: str) -> None:
    assert "".join(texts(encode(text))) == text


@given(st.lists(st.integers(0, 199997), max_size=30))
def test_texts_joined_are_one_decoding_of_all_bytes(ids: list[int]) -> None:
    assert "".join(texts(ids)) == text_of(ids) == b"".join(map(token_bytes, ids)).decode("utf-8", "replace")
