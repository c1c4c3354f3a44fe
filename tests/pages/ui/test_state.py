"""What a session remembers: where the user is, and who moved them there."""

from pages.ui.state import OPENED_AT_MOST, Opened, Selection, Session
from tests.support.streams import chat

CAPTURE = chat([("<|return|>", {})])


def opened(name: str) -> Opened:
    return Opened(name=name, digest=name, capture=CAPTURE)


def test_choose_clears_the_selection_and_navigates() -> None:
    session = Session()
    session.choose("a")
    session.navigate_first(Selection(4, 0))
    navigations = session.navigations
    session.choose("b")
    assert (session.selection, session.target, session.choice) == (Selection(), Selection(), None)
    assert session.navigations > navigations


def test_navigate_first_applies_once_and_not_over_a_link() -> None:
    session = Session()
    session.choose("a")
    session.navigate_first(Selection(4, 0))
    assert session.selection == Selection(4, 0)
    session.select(Selection(9), at=1)
    session.navigate_first(Selection(4, 0))
    assert session.selection == Selection(9)
    session.choose("b")
    session.navigate(Selection(7))
    session.navigate_first(Selection(4, 0))
    assert session.selection == Selection(7)


def test_select_ignores_a_selection_that_was_taken_over_before() -> None:
    session = Session()
    session.select(Selection(9), at=1)
    session.navigate(Selection(3))
    session.select(Selection(9), at=1)
    assert session.selection == Selection(3)
    session.select(Selection(9), at=2)
    assert session.selection == Selection(9)


def test_select_does_not_navigate() -> None:
    session = Session()
    session.choose("a")
    target, navigations = session.target, session.navigations
    session.select(Selection(9), at=1)
    assert (session.target, session.navigations) == (target, navigations)


def test_turn_to_navigates_to_the_selection() -> None:
    session = Session()
    session.turn_to("Replay")
    session.select(Selection(9, 1), at=1)
    session.turn_to("Compare")
    session.turn_to("Replay")
    assert session.target == Selection(9, 1)


def test_open_drops_the_oldest_upload_beyond_the_limit() -> None:
    session = Session()
    for number in range(OPENED_AT_MOST + 3):
        session.open([opened(f"c{number}")])
    assert len(session.opened) == OPENED_AT_MOST
    assert next(iter(session.opened)) == "c3"
    assert session.closed == 3
    assert session.capture == f"c{OPENED_AT_MOST + 2}"


def test_open_keeps_all_captures_of_one_file() -> None:
    session = Session()
    session.open([opened(f"c{number}") for number in range(OPENED_AT_MOST * 2)])
    assert len(session.opened) == OPENED_AT_MOST * 2
    assert session.capture == "c0"
