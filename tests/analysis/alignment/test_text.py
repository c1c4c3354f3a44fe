import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.analysis.alignment.text import (
    MatchingBlock,
    blocks,
    embed,
    embed_or_align,
    embed_tokens,
    token_blocks,
    whole_tokens,
)

LETTERS = st.text("ab c", max_size=30)


def test_pieces_stand_each_as_early_as_it_can() -> None:
    assert embed("one two one", ["one", "one"]) == [(0, 3), (8, 11)]
    assert embed("one two", ["two", "one"]) is None


def test_pieces_are_whole_tokens_before_they_are_letters() -> None:
    borders = [0, 3, 5, 8]  # "cat", " a", " at"
    assert embed_tokens("cat a at", borders, [" at"]) == [(2, 3)]
    assert embed_tokens("cat a at", borders, ["cat", " at"]) == [(0, 1), (2, 3)]
    assert embed_tokens("cat a at", borders, ["at"]) is None
    gaps, rest = embed_or_align("14 of 4", ["4"])
    assert ([("14 of 4"[gap.start : gap.end]) for gap in gaps], rest) == (["14 of "], [])


def test_a_gap_names_the_pieces_around_it() -> None:
    gaps, rest = embed_or_align("one two three four", ["one", " three"])
    assert [(gap.before, gap.after) for gap in gaps] == [(0, 1), (1, None)]
    assert rest == []


def test_what_stands_nowhere_is_rest() -> None:
    gaps, rest = embed_or_align("one two", ["one", "???", " two"])
    assert gaps == []
    assert [(surplus.piece, surplus.text) for surplus in rest] == [(1, "???")]


@pytest.mark.parametrize(
    ("text", "pieces", "surplus"),
    [
        # The surplus begins with a piece if it can, as servers repeat pieces.
        ("one two one two three", ["one two", " one two", " one two", " three"], [(2, " one two")]),
        ("(1)>(1)>", ["(1)>", "(1)>", "(1)>"], [(2, "(1)>")]),
        # Texts that differ in one place differ there, wherever the pieces begin.
        ("(1)", ["a(1)(1)"], [(0, "a(1)")]),
        # Other characters stand before it.
        ("b>", ["b a", ">"], [(0, " a")]),
        # Pieces without text are no surplus.
        (">", ["b", "", "b", ""], [(0, "b"), (2, "b")]),
    ],
)
def test_what_was_sent_beyond_the_text_is_told_by_piece(
    text: str, pieces: list[str], surplus: list[tuple[int, str]]
) -> None:
    _, rest = embed_or_align(text, pieces)
    assert [(extra.piece, extra.text) for extra in rest] == surplus


def test_texts_too_long_to_compare_by_token_are_compared_at_their_ends() -> None:
    text, sent = " a" * 60_000, " b" * 60_000
    borders = list(range(0, len(text) + 1, 2))
    matching = token_blocks(text + " end", [*borders, len(text) + 4], [sent, " end"])
    assert matching == [MatchingBlock(len(text), len(text) + 4, len(sent))]


@given(LETTERS, st.lists(LETTERS, max_size=6))
def test_gaps_and_rest_account_for_every_character(text: str, pieces: list[str]) -> None:
    gaps, rest = embed_or_align(text, pieces)
    lost = sum(gap.end - gap.start for gap in gaps)
    beyond = sum(len(extra.text) for extra in rest)
    assert len(text) - lost == sum(map(len, pieces)) - beyond
    assert [gap.start for gap in gaps] == sorted(gap.start for gap in gaps)


@given(LETTERS, LETTERS)
def test_blocks_are_equal_text_in_order(text: str, sent: str) -> None:
    at = sent_end = 0
    for block in blocks(text, sent):
        assert text[block.start : block.end] == sent[block.sent : block.sent + block.end - block.start]
        assert (block.start, block.sent) >= (at, sent_end)
        at, sent_end = block.end, block.sent + block.end - block.start


@given(LETTERS, LETTERS, st.sets(st.integers(1, 29)))
def test_blocks_shrink_to_whole_tokens(text: str, sent: str, inner: set[int]) -> None:
    borders = [0, *sorted(place for place in inner if place < len(text)), len(text)]
    for block in whole_tokens(blocks(text, sent), borders):
        assert {block.start, block.end} <= set(borders)
        assert text[block.start : block.end] == sent[block.sent : block.sent + block.end - block.start]
