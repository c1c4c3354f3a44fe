"""Cells are found by their text, and each explains one delivery only."""

from inspector.analysis.alignment.cells import Cell, FateState, Pool


def cells(*texts: str) -> list[Cell]:
    return [
        Cell(number, number, text, number, "content", "content", 0, FateState.DROPPED)
        for number, text in enumerate(texts)
    ]


def test_the_first_or_the_last_free_run_is_found() -> None:
    some = cells("a", "b", "a", "b")
    pool = Pool(some)
    assert pool.run("ab") == some[:2]
    assert pool.run("ab", last=True) == some[2:]
    some[0].arrive("content", 0, 0)
    some[3].arrive("content", 3, 3)
    assert pool.run("a") == some[2:3]
    assert pool.run("b", last=True) == some[1:2]
    assert pool.run("ab") == pool.run("ab", last=True) == ()


def test_a_run_begins_and_ends_with_cells() -> None:
    assert Pool(cells("ab", "c")).run("b") == ()
    some = cells("ab", "b", "bc")
    assert Pool(some).run("b") == some[1:2]


def test_among_the_first_cells_even_what_was_used_is_found() -> None:
    some = cells("a", "b", "a")
    some[0].arrive("content", 0, 0)
    assert Pool(some).run_within("a", 2) == some[:1]
    assert Pool(some).run_within("a", 3) == some[2:]
    assert Pool(some).run_within("ba", 2) == ()
