"""What one browser session remembers, as one typed object; an imported module, so its classes stay the same.

Widget keys are private to their picker; nothing else is kept in `st.session_state`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from inspector import Capture, Diagnosis, Level

OPENED_AT_MOST = 24
"""Uploaded captures that a session keeps; the oldest gives way."""


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


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the strip: a cell, and a finding by its number among those of the choice."""

    token: int | None = None
    finding: int | None = None
    to: int | None = None
    """The other end of the range that is chosen with the cell."""
    view: str | None = None
    """`client` while the response is shown as a client shows it."""


@dataclass(slots=True)
class Session:
    """What the user is looking at, on every page."""

    page: str | None = None
    capture: str | None = None
    """Name of the capture chosen: a built-in one or an uploaded one."""
    choice: int = 0
    place: Place = Place()
    """Where the user is in the capture."""
    asked: Place = Place()
    """Where the strip was told to go last."""
    visit: int = 0
    """Raised when the strip must go to `asked`: another page, a link, a chosen event."""
    fresh: bool = True
    """True until the capture has been drawn: nobody has been anywhere in it yet."""
    heard: int = 0
    """When the strip last told of a choice (ms, the browser's clock), so that each is heard once."""
    event: int | None = None
    """Event opened in the list of events."""
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
    strips: dict[str, "Session"] = field(default_factory=dict)
    """Places in strips other than the chosen capture's, by page."""
    opened: dict[str, Opened] = field(default_factory=dict)
    """Uploaded captures by name, oldest first."""
    kept: str | None = None
    """Names the folder in which the uploads are kept for a reload; None before the first."""
    given: object = None
    """When the browser last handed over what was dropped or pasted, so that each is opened once."""
    restored: bool = False
    """True once the uploads that the URL names were looked for."""
    refused: dict[str, str] = field(default_factory=dict)
    """By upload id, the sentence about a file that could not be read; empty for one that was."""

    log: tuple[str, bytes] | None = None
    """Name and content of a log that was opened as a capture, for the Diagnose page."""
    logs: dict[str, Diagnosis] = field(default_factory=dict)
    """The log that was diagnosed last, by upload id, or by name if it was opened as a capture."""

    def turn_to(self, page: str) -> None:
        """Another page was opened: its strip starts where the user is."""
        if page != self.page:
            self.page = page
            self.point(self.place)

    def strip_of(self, page: str) -> "Session":
        """Where the user is in a page's own strip."""
        return self.strips.setdefault(page, Session())

    def open(self, captures: Sequence[Opened]) -> None:
        """Keep uploaded captures and choose the first of them."""
        for one in captures:
            self.opened.pop(one.name, None)
            self.opened[one.name] = one
        while len(self.opened) > max(OPENED_AT_MOST, len(captures)):
            del self.opened[next(iter(self.opened))]
        if captures:
            self.choose(captures[0].name)

    def choose(self, capture: str, choice: int = 0) -> None:
        """Look at another capture, or at another completion in it."""
        self.capture, self.choice, self.event = capture, choice, None
        self.point(Place())
        self.fresh = True

    def begin(self, place: Place) -> None:
        """Start at a place, unless the user or a link has chosen one."""
        if self.fresh and self.place == Place():
            self.point(place)
        self.fresh = False

    def point(self, place: Place) -> None:
        """Go to a place from outside the strip."""
        self.place = self.asked = place
        self.visit += 1

    def hear(self, place: Place, at: int) -> None:
        """Take over what was chosen in the strip."""
        if at != self.heard:
            self.place, self.heard = place, at

    def show_address(self) -> None:
        """Name capture and token in the address bar, so that a link opens the same place."""
        told: dict[str, object] = {"capture": self.capture, "token": self.place.token, "to": self.place.to}
        told["view"] = self.place.view
        wanted = {name: str(value) for name, value in told.items() if value is not None}
        self.address(wanted)

    def address(self, wanted: Mapping[str, str]) -> None:
        """Show a page's own words in the address bar, with the name of the kept uploads."""
        whole = {**wanted, **({"uploads": self.kept} if self.kept else {})}
        if st.query_params.to_dict() != whole:
            st.query_params.from_dict(whole)


def current() -> Session:
    """The session's memory, made on first use."""
    session: Session = st.session_state.setdefault("inspector", Session())
    return session


def went_back() -> bool:
    """True while the page runs because the user went back or forward: the address says what to show."""
    # Streamlit tells this in no other way. Releases that lack it show what the session remembers.
    return bool(getattr(get_script_run_ctx(), "is_history_navigation", False))
