"""Cells are found by their text, and each explains one delivery only."""

from inspector.analysis.alignment.cells import Cell, FateState, Pool


def cells(*texts: str) -> list[Cell]:
    return [
        Cell(number, number, text, number, "content", "content", 0, FateState.DROPPED)
        for number, text in enumerate(texts)
    ]


def test_the_first_or_the_last_free_run_is_found() -> None:
    row = cells("a", "b", "a", "b")
    pool = Pool(row)
    assert pool.run("ab") == row[:2]
    assert pool.run("ab", last=True) == row[2:]
    row[0].arrive("content", 0, 0)
    row[3].arrive("content", 3, 3)
    assert pool.run("a") == row[2:3]
    assert pool.run("b", last=True) == row[1:2]
    assert pool.run("ab") == pool.run("ab", last=True) == ()


def test_a_run_begins_and_ends_with_cells() -> None:
    assert Pool(cells("ab", "c")).run("b") == ()
    row = cells("ab", "b", "bc")
    assert Pool(row).run("b") == row[1:2]


def test_among_the_first_cells_even_what_was_used_is_found() -> None:
    row = cells("a", "b", "a")
    row[0].arrive("content", 0, 0)
    assert Pool(row).run_within("a", 2) == row[:1]
    assert Pool(row).run_within("a", 3) == row[2:]
    assert Pool(row).run_within("ba", 2) == ()
