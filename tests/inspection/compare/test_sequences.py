import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.inspection.compare import Fold, Sides, Stretch, StretchKind, folds, lay
from inspector.inspection.compare.sequences import Counts

ITEMS = st.lists(st.integers(0, 4), max_size=40)
LARGE = 131_072


def rebuilt(sides: Sides, left: list[int], right: list[int]) -> tuple[list[int], list[int]]:
    """Both sequences from the stretches; equal stretches take their items from the other side."""
    rebuilt_left, rebuilt_right = [], []
    for stretch in sides.stretches:
        a, b = left[stretch.left_start : stretch.left_end], right[stretch.right_start : stretch.right_end]
        rebuilt_left += b if stretch.lane is StretchKind.SAME else a
        rebuilt_right += a if stretch.lane is StretchKind.SAME else b
    return rebuilt_left, rebuilt_right


def edits(left: list[int], right: list[int]) -> int:
    """Fewest insertions, deletions and replacements, by the textbook's table."""
    row = list(range(len(right) + 1))
    for place, item in enumerate(left, 1):
        diagonal, row[0] = row[0], place
        for at, partner in enumerate(right, 1):
            diagonal, row[at] = row[at], min(row[at] + 1, row[at - 1] + 1, diagonal + (item != partner))
    return row[-1]


@given(left=ITEMS, right=ITEMS)
def test_stretches_cover_both_sides_with_the_fewest_edits(left: list[int], right: list[int]) -> None:
    sides = lay(left, right)
    assert rebuilt(sides, left, right) == (left, right)
    assert sides.counts.differing == edits(left, right)
    edges = [(stretch.left_start, stretch.right_start) for stretch in sides.stretches]
    assert (
        edges
        == [(0, 0), *((stretch.left_end, stretch.right_end) for stretch in sides.stretches)][: len(edges)]
    )
    assert all(stretch.lane is not following.lane for stretch, following in pairwise(sides.stretches))


@pytest.mark.parametrize(
    ("left", "right", "counts"),
    [
        ([1, 2, 3], [1, 2, 3], Counts(3, 0, 0, 0)),
        ([1, 2, 3], [1, 3], Counts(2, 1, 0, 0)),
        ([1, 3], [1, 2, 3], Counts(2, 0, 1, 0)),
        ([1, 2, 3], [1, 9, 3], Counts(2, 0, 0, 1)),
        ([], [5], Counts(0, 0, 1, 0)),
        ([], [], Counts(0, 0, 0, 0)),
        # Python gives -1 and -2 one hash, and 0 and 2**61 - 1 another.
        ([-1, 0, 7], [-2, 2**61 - 1, 7], Counts(1, 0, 0, 2)),
    ],
    ids=str,
)
def test_lanes_count_items(left: list[int], right: list[int], counts: Counts) -> None:
    assert lay(left, right).counts == counts


def test_a_place_finds_its_partner_and_a_lost_one_has_none() -> None:
    sides = lay([10, 11, 12, 13, 14], [10, 12, 13, 99, 14])
    assert [sides.to_right(place) for place in range(6)] == [0, None, 1, 2, 4, None]
    assert sides.span_to_right(2, 4) == (1, 3)
    assert sides.span_to_right(1, 3) is None
    assert sides.span_to_right(2, 2) is None


@given(left=ITEMS, right=ITEMS, context=st.integers(0, 5), marks=st.lists(st.integers(0, 40), max_size=4))
def test_folds_hide_only_equal_items_and_nothing_that_is_to_stay(
    left: list[int], right: list[int], context: int, marks: list[int]
) -> None:
    sides = lay(left, right)
    keep = [(mark, mark + 1) for mark in sorted(marks)]
    folded = list(folds(sides, context=context, keep=keep))
    at = 0
    for stretch in folded:
        assert stretch.left_start == at
        at = stretch.left_end
        if isinstance(stretch, Fold):
            assert (
                left[stretch.left_start : stretch.left_end]
                == right[stretch.right_start :][: at - stretch.left_start]
            )
            assert not any(stretch.left_start <= mark < stretch.left_end for mark in marks)
    assert at == len(left)
    assert [
        stretch for stretch in folded if isinstance(stretch, Stretch) and stretch.lane is not StretchKind.SAME
    ] == [stretch for stretch in sides.stretches if stretch.lane is not StretchKind.SAME]


def test_a_long_equal_stretch_is_folded_between_its_differences() -> None:
    left = [1, *range(10, 110), 2]
    right = [3, *range(10, 110), 4]
    folded = list(folds(lay(left, right), context=5))
    assert [type(stretch).__name__ for stretch in folded] == [
        "Stretch",
        "Stretch",
        "Fold",
        "Stretch",
        "Stretch",
    ]
    assert folded[2] == Fold(6, 96, 6)


def streams(length: int) -> dict[str, tuple[list[int], list[int]]]:
    chance = random.Random(5)  # noqa: S311 -- the same streams in every run
    left = [chance.randrange(200_000) for _ in range(length)]
    shuffled = chance.sample(left, length)
    return {
        "one in a hundred lost": (left, [item for item in left if chance.random() > 0.01]),
        "halves swapped": (left, left[length // 2 :] + left[: length // 2]),
        "unrelated": (left, [chance.randrange(200_000) for _ in range(length)]),
        "shuffled": (left, shuffled),
        "two ids only": ([chance.randrange(2) for _ in left], [chance.randrange(2) for _ in left]),
        "periods": ([1, 2] * (length // 2), [2, 1, 1] * (length // 3)),
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", streams(6))
def test_a_context_window_of_tokens_is_covered_whatever_it_holds(name: str) -> None:
    left, right = streams(LARGE)[name]
    sides = lay(left, right)
    assert rebuilt(sides, left, right) == (left, right)
    assert not sides.exact


def test_landmarks_find_what_little_was_lost_from_a_long_stream() -> None:
    left, right = streams(LARGE)["one in a hundred lost"]
    counts = lay(left, right).counts
    assert counts.equal == len(right)
    assert counts.only_left == len(left) - len(right)


def test_landmarks_find_swapped_halves() -> None:
    left, right = streams(LARGE)["halves swapped"]
    assert lay(left, right).counts == Counts(LARGE // 2, LARGE // 2, LARGE // 2, 0)
