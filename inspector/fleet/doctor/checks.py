"""A check and its result, and all checks of one server."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from inspector.capture.formats import count
from inspector.protocol.engines import Engine


class CheckState(StrEnum):
    """Result of a check."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"
    UNKNOWN = "unknown"
    """The server's answer does not show it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check of a server and its result."""

    name: str
    state: CheckState
    says: str
    """What was observed, one sentence."""
    change: str = ""
    """What to change: a flag, a file, an upgrade; empty when nothing."""


class KnownFault(NamedTuple):
    """A known issue of the server's release that the checks did not test."""

    id: str
    title: str
    step: str
    """What to do about it first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkup:
    """All checks of one server."""

    address: str
    version: str | None
    model: str | None
    engine: Engine
    checks: tuple[Check, ...]
    faults: tuple[KnownFault, ...] = ()
    """Known faults of the release that the checks did not disprove."""

    @property
    def worst(self) -> CheckState:
        """The worst state of all checks."""
        states = {check.state for check in self.checks}
        order = (CheckState.FAILED, CheckState.WARNING, CheckState.UNKNOWN)
        return next((state for state in order if state in states), CheckState.OK)

    @property
    def sentence(self) -> str:
        """How many of the checks that gave a result passed, and the names of the others."""
        tested = [check for check in self.checks if check.state is not CheckState.UNKNOWN]
        passed = sum(check.state is CheckState.OK for check in tested)
        parts = [f"{passed} of {count(len(tested), 'check')} passed"]
        for state in (CheckState.FAILED, CheckState.WARNING, CheckState.UNKNOWN):
            if names := [check.name for check in self.checks if check.state is state]:
                parts.append(f"{state}: {', '.join(names)}")
        return f"{'; '.join(parts)}."

    @property
    def faults_sentence(self) -> str:
        """How many known faults the release has beyond the checks; empty when there are none."""
        if not self.faults:
            return ""
        faults = count(len(self.faults), "known fault")
        return f"{self.engine.labelled(self.version)} has {faults} that these checks do not test."


def ok(name: str, says: str) -> Check:
    """A check that passed."""
    return Check(name=name, state=CheckState.OK, says=says)


def warning(name: str, says: str, change: str) -> Check:
    """A check with a warning."""
    return Check(name=name, state=CheckState.WARNING, says=says, change=change)


def unknown(name: str, says: str, change: str = "") -> Check:
    """A check that the server's responses do not decide."""
    return Check(name=name, state=CheckState.UNKNOWN, says=says, change=change)


def failed(name: str, says: str, change: str) -> Check:
    """A check that failed."""
    return Check(name=name, state=CheckState.FAILED, says=says, change=change)
