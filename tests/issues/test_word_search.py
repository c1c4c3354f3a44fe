"""Which lines have one of many words: the same as looking for each word in each line."""

import random

from hypothesis import given
from hypothesis import strategies as st

from inspector.issues.texts import search
from inspector.issues.texts.search import WordSearch

WORDS = ("Error", '" 404', "Unknown role:", " 50", "é\ud800")
PARTS = st.sampled_from([*WORDS, "GET /a 17", "Error", " 40", "4", "\t", "é", "\ud800", "x" * 600])


@given(st.lists(st.lists(st.lists(PARTS, max_size=4).map("".join), max_size=8), max_size=6))
def test_every_line_is_answered_as_by_a_search_for_each_word(blocks: list[list[str]]) -> None:
    looking = WordSearch(WORDS)
    for lines in blocks:
        expected = [any(word in line for word in WORDS) for line in lines]
        assert looking.lines_with_words(lines, "\n".join(lines)) == expected


def test_lines_that_differ_in_digits_only_are_told_apart_by_words_with_digits() -> None:
    looking = WordSearch(WORDS)
    lines = ['"GET / HTTP/1.1" 404', '"GET / HTTP/1.1" 200', '"GET / HTTP/1.1" 404']
    for line in lines:
        assert looking.lines_with_words([line], line) == ["404" in line]


def test_memory_is_bounded() -> None:
    looking = WordSearch(WORDS)
    letters = random.Random(5)  # noqa: S311 -- not a secret
    for _ in range(3 * search._SHAPES // 100):
        lines = ["".join(letters.choices("abcdefgh", k=12)) for _ in range(100)]
        looking.lines_with_words([*lines, "y" * 100_000], "\n".join(lines))
        assert len(looking._shapes) <= search._SHAPES
    assert max(map(len, looking._shapes)) <= search._LONGEST
