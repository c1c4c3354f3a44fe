"""State of one browser session, as one typed object; an imported module, so its classes stay the same.

Widget keys are private to their picker; nothing else is kept in `st.session_state`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Final

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from inspector import Capture, Diagnosis, Level
from inspector.capture.replay_only import replay_only

OPENED_AT_MOST = 24
"""Uploaded captures that a session keeps; the oldest gives way, and the sidebar says so."""

HANDFUL: Final = 12
"""Files of a drop, and captures of a file, that open one by one; more open as a Library."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """An uploaded capture."""

    name: str
    """What the picker and the address bar call it."""
    digest: str
    """Hash of the file, and the number of the capture in it."""
    capture: Capture
    vouched: bool = False
    """True when the lab's script says which tokens were sampled, as the stream itself has no IDs."""
    level: Level | None = None
    """Its verdict; None for one that is too long to be audited before it is chosen."""

    @property
    def from_matrix(self) -> bool:
        """True for a capture of the Matrix page, whose digest is not that of a file."""
        return self.digest == f"matrix {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """A file that could not be read."""

    name: str
    problem: str
    log: bytes | None = None
    """Its content, if it is a log, which the Diagnose page reads."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What is selected in the strip: a cell, and a finding by its number among those of the choice."""

    token: int | None = None
    finding: int | None = None
    to: int | None = None
    """The other end of the range that is selected with the cell."""
    view: str | None = None
    """`client` while the response is shown as a client shows it."""


@dataclass(slots=True)
class StripView:
    """The capture in a strip and the selection in it.

    The selection changes from two sides. The user selects in the browser, and the page learns it (`select`).
    The page moves the selection, for a link or a selected row, and the strip follows (`navigate`): once for
    each number of navigations, so that a rerun of the page does not move it again.
    """

    capture: str | None = None
    """Name or key of the capture."""
    choice: int | None = None
    """The place of the completion in it; None for the one that a page opens with."""
    selection: Selection = Selection()
    target: Selection = Selection()
    """The selection of the last navigation."""
    navigations: int = 0
    undrawn: bool = True
    """True until the capture has been drawn."""
    selected_at: int = 0
    """When the user last selected something (ms, the browser's clock), so that each selection counts once."""

    def choose(self, capture: str, choice: int | None = None) -> None:
        """Show another capture, or another completion in it."""
        self.capture, self.choice = capture, choice
        self.navigate(Selection())
        self.undrawn = True

    def navigate(self, selection: Selection) -> None:
        """Move the strip to a selection."""
        self.selection = self.target = selection
        self.navigations += 1

    def navigate_first(self, selection: Selection) -> None:
        """Move a strip that is drawn for the first time, unless a link or the user has selected something."""
        if self.undrawn and self.selection == Selection():
            self.navigate(selection)
        self.undrawn = False

    def select(self, selection: Selection, at: int) -> None:
        """Take over what the user selected in the strip at a time of the browser's clock."""
        if at != self.selected_at:
            self.selection, self.selected_at = selection, at


@dataclass(slots=True)
class Session(StripView):
    """What the user is looking at on every page, first the capture that the pages share."""

    page: str | None = None
    section: str | None = None
    """The section of the page that is open below its picture."""
    event: tuple[int, Selection] | None = None
    """Event opened in the list of events, while that selection lasts."""
    run: str | None = None
    """Id of the live run that is watched."""
    form: dict[str, object] = field(default_factory=dict)
    """What the Live form held last, by widget; empty before it was drawn."""
    form_id: str | None = None
    """Names the form in the URL; None while it holds what everybody begins with."""
    form_asked: bool = False
    """True until the widgets have taken over `form`: a run with a request of its own was opened."""
    trial: str | None = None
    """Id of the trial that the Compare page shows."""
    probe: str | None = None
    """Id of the probe that the Probe page shows."""
    library: Mapping[str, str] = field(default_factory=dict)
    """What the Library page showed last, as its address has it."""
    pasted: str = ""
    """The text of the Diagnose page."""
    strips: dict[str, StripView] = field(default_factory=dict)
    """Strips other than that of the chosen capture, by page."""
    opened: dict[str, Opened] = field(default_factory=dict)
    """Uploaded captures by name, oldest first."""
    closed: int = 0
    """How many of them gave way to newer ones."""
    kept: str | None = None
    """Names the folder in which the uploads are kept for a reload; None before the first."""
    dropped_at: object = None
    """When the user last dropped or pasted something (the browser's clock), so that each is opened once."""
    restored: bool = False
    """True once the uploads that the URL names were looked for."""
    received: frozenset[str] = frozenset()
    """Ids of the uploads that were read, or rejected."""
    rejected: tuple[Rejected, ...] = ()
    """The files of the last upload that could not be read, until they are dismissed."""
    rejected_of: int = 0
    """How many files that upload had."""
    log: tuple[str, bytes] | None = None
    """Name and content of a log that was opened as a capture, for the Diagnose page."""
    logs: dict[str, Diagnosis] = field(default_factory=dict)
    """The log that was diagnosed last, by upload id, or by name if it was opened as a capture."""

    @property
    def linked_uploads(self) -> str | None:
        """The name of the kept uploads in the address; none where links are shared with strangers."""
        return None if replay_only() else self.kept

    def turn_to(self, page: str) -> None:
        """Note the page that is open; a newly opened one shows the current selection."""
        if page != self.page or went_back():
            self.section = st.query_params.get("section")
        if page != self.page:
            self.page = page
            self.rejected = ()
            self.navigate(self.selection)

    def strip_of(self, page: str) -> StripView:
        """A page's own strip."""
        return self.strips.setdefault(page, StripView())

    def open(self, captures: Sequence[Opened]) -> None:
        """Keep uploaded captures and choose the first of them."""
        for capture in captures:
            self.opened.pop(capture.name, None)
            self.opened[capture.name] = capture
        while len(self.opened) > max(OPENED_AT_MOST, len(captures)):
            del self.opened[next(iter(self.opened))]
            self.closed += 1
        if captures:
            self.choose(captures[0].name)

    def choose(self, capture: str, choice: int | None = None) -> None:
        """Show another capture, or another completion in it, with no event open."""
        StripView.choose(self, capture, choice)  # `super()` does not work in a dataclass with slots
        self.event = None

    def show_address(self) -> None:
        """Name capture, choice and token in the address bar, so that a link opens the same place."""
        query = {"capture": self.capture, "choice": self.choice, **asdict(self.selection)}
        del query["finding"]
        self.address({name: str(value) for name, value in query.items() if value is not None})

    def address(self, query: Mapping[str, str]) -> None:
        """Set the query of the address bar, and add the open section and the name of the kept uploads."""
        added = {"section": self.section, "uploads": self.linked_uploads}
        whole = {**query, **{name: value for name, value in added.items() if value}}
        if st.query_params.to_dict() != whole:
            st.query_params.from_dict(whole)


def current() -> Session:
    """The session's memory, made on first use."""
    session: Session = st.session_state.setdefault("inspector", Session())
    return session


def went_back() -> bool:
    """True while the page runs because the user went back or forward: the address says what to show."""
    # Streamlit has no public API for this. Releases without the attribute show what the session remembers.
    return bool(getattr(get_script_run_ctx(), "is_history_navigation", False))
