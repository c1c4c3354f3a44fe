"""The table of right causes, `causes.yaml`: what a verdict over a lab capture should name first, and why.

The file's own comments describe its keys. This module resolves a script on a release to its cause; it
asks nobody and scores nothing (`naming` does).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Final, Literal

from msgspec.structs import force_setattr, replace

from inspector.capture.capture import Endpoint
from inspector.capture.errors import LabError
from inspector.files.tables import Row, Several, Text, read_table
from inspector.issues.catalogue.versions import Range

DEFAULT_FILE: Final = Path(__file__).with_name("causes.yaml")

NONE: Final = "none"
"""The cause of a verdict for which nothing may be named."""

_MODEL: Final = "model"


@dataclass(frozen=True, slots=True, kw_only=True)
class Right:
    """What is right to name first."""

    cause: str
    """An id of the catalogue, or NONE."""
    also: frozenset[str]
    """Right too."""
    reasons: tuple[str, ...]
    """The rule's own, then the script's where the rule refers to it."""


class CauseRule(Row, frozen=True, kw_only=True):
    """One line of the table; what a part leaves empty it does not ask for."""

    cause: Text
    reason: Text
    also: tuple[Text, ...] = ()
    without_version: tuple[Text, ...] = ()
    without_request: tuple[Text, ...] = ()
    with_request: Text = ""
    scripts: frozenset[Text] = frozenset()
    endpoint: Endpoint | None = None
    releases: Range | None = None
    step: int | None = None
    front_end: Literal["", "python", "rust"] = ""

    def fits(self, script: str, release: str, endpoint: Endpoint, step: int | None, front_end: str) -> bool:
        """Whether the rule is about this capture."""
        return (
            (not self.scripts or script in self.scripts)
            and (self.endpoint is None or self.endpoint is endpoint)
            and (self.releases is None or release in self.releases)
            and (self.step is None or self.step == step)
            and self.front_end in ("", front_end)
        )

    def ids(self) -> set[str]:
        """Every id that it gives."""
        given = {self.cause, self.with_request, *self.also, *self.without_version, *self.without_request}
        return given - {"", NONE, _MODEL}


class ScriptRule(CauseRule, frozen=True, kw_only=True):
    """What the model emitted in some scripts."""

    names: Several[Text]


class CauseTable(Row, frozen=True, kw_only=True, dict=True):
    """The whole table."""

    groups: Mapping[Text, frozenset[Text]]
    """Names for lists of scripts; a rule names one as `$name`."""
    scripts: tuple[ScriptRule, ...]
    rules: tuple[CauseRule, ...]
    """Of streams."""
    unstreamed: tuple[CauseRule, ...] = ()
    """Of responses to requests without `stream`."""
    fixtures: Mapping[str, CauseRule] = {}
    """By file name."""

    def __post_init__(self) -> None:
        for key in ("rules", "unstreamed"):
            force_setattr(self, key, tuple(map(self._ungrouped, getattr(self, key))))
        names = [name for rule in self.scripts for name in rule.names]
        if doubled := {name for name in names if names.count(name) > 1}:
            raise ValueError(f"{min(doubled)} is listed twice")

    @cached_property
    def models(self) -> Mapping[str, CauseRule]:
        """What the model emitted, by script."""
        return {name: rule for rule in self.scripts for name in rule.names}

    def _ungrouped(self, rule: CauseRule) -> CauseRule:
        """A rule with the scripts of its groups."""
        groups = {name for name in rule.scripts if name.startswith("$")}
        if unknown := {name[1:] for name in groups} - set(self.groups):
            raise ValueError(f"{min(unknown)} is not in `groups`")
        scripts = frozenset[str]().union(rule.scripts - groups, *(self.groups[name[1:]] for name in groups))
        return replace(rule, scripts=scripts)

    def right(
        self,
        script: str,
        release: str,
        endpoint: Endpoint,
        step: int | None,
        *,
        front_end: str = "python",
        version: bool = True,
        request: bool = True,
    ) -> Right | None:
        """The right cause of a capture, read with or without its release and request.

        `step` is None for a response that was not streamed. None where no line of the table has a cause.
        """
        rules = self.unstreamed if step is None else self.rules
        rule = next(
            (candidate for candidate in rules if candidate.fits(script, release, endpoint, step, front_end)),
            None,
        )
        return None if rule is None else _right(rule, self.models.get(script), version, request)

    def right_of_fixture(self, name: str, *, version: bool = True, request: bool = True) -> Right | None:
        """The right cause of a file of fixtures/; None for one that is whole."""
        rule = self.fixtures.get(name)
        return None if rule is None else _right(rule, None, version, request)


def _right(rule: CauseRule, model: CauseRule | None, version: bool, request: bool) -> Right | None:
    """One rule's answer, with the script's own in place of the word `model`."""
    own = None if model is None else _right(model, None, version, request)
    if rule.cause == _MODEL and own is None:
        return None
    with_request = rule.with_request if request else ""
    words = [
        *rule.also,
        *(() if version else rule.without_version),
        *(() if request else rule.without_request),
    ]
    also = {word for word in words if word != _MODEL}
    reasons = [rule.reason]
    if own is not None and _MODEL in (rule.cause, *words):
        also |= {own.cause, *own.also}
        reasons += own.reasons
    cause = own.cause if rule.cause == _MODEL and own is not None else with_request or rule.cause
    return Right(cause=cause, also=frozenset(also - {cause}), reasons=tuple(reasons))


@cache
def load(path: Path = DEFAULT_FILE) -> CauseTable:
    """The table of a file; raises LabError that names what is wrong with it."""
    return read_table(path, CauseTable, error=LabError)
