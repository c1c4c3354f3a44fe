"""The table of right causes, `causes.yaml`: what a verdict over a lab capture should name first, and why.

The file's own comments describe its keys. This module resolves a script on a release to its cause; it
asks nobody and scores nothing (`naming` does).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

from inspector.capture.capture import Endpoint
from inspector.capture.errors import LabError
from inspector.issues.versions import Range

DEFAULT_FILE: Final = Path(__file__).with_name("causes.yaml")

NONE: Final = "none"
"""The cause of a verdict for which nothing may be named."""

_MODEL: Final = "model"
_ALTERNATIVES: Final = ("also", "without_version", "without_request")
_PROPOSED: Final = ("title", "side", "cause", "first_step", "affected", "links", "instead_of")


@dataclass(frozen=True, slots=True, kw_only=True)
class Right:
    """What is right to name first."""

    cause: str
    """An id of the catalogue or of the table's `proposed`, or NONE."""
    also: frozenset[str]
    """Right too."""
    reasons: tuple[str, ...]
    """The rule's own, then the script's where the rule refers to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One line of the table; what a part leaves empty it does not ask for."""

    cause: str
    reason: str
    also: tuple[str, ...] = ()
    without_version: tuple[str, ...] = ()
    without_request: tuple[str, ...] = ()
    with_request: str = ""
    scripts: frozenset[str] = frozenset()
    endpoint: Endpoint | None = None
    releases: Range | None = None
    step: int | None = None
    front_end: str = ""

    def fits(self, script: str, release: str, endpoint: Endpoint, step: int | None, front_end: str) -> bool:
        """Whether the rule is about this capture."""
        return (
            (not self.scripts or script in self.scripts)
            and (self.endpoint is None or self.endpoint is endpoint)
            and (self.releases is None or release in self.releases)
            and (self.step is None or self.step == step)
            and self.front_end in ("", front_end)
        )

    def names(self) -> set[str]:
        """Every id that it gives."""
        given = {self.cause, self.with_request, *self.also, *self.without_version, *self.without_request}
        return given - {"", NONE, _MODEL}


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseTable:
    """The whole table."""

    proposed: Mapping[str, Mapping[str, Any]]
    """Causes that the catalogue has no right entry for yet, by id."""
    models: Mapping[str, Rule]
    """What the model emitted, by script."""
    rules: tuple[Rule, ...]
    """Of streams."""
    unstreamed: tuple[Rule, ...] = ()
    """Of responses to requests without `stream`."""
    fixtures: Mapping[str, Rule] = field(default_factory=dict)
    """By file name."""

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
        rule = next((one for one in rules if one.fits(script, release, endpoint, step, front_end)), None)
        return None if rule is None else _right(rule, self.models.get(script), version, request)

    def right_of_fixture(self, name: str, *, version: bool = True, request: bool = True) -> Right | None:
        """The right cause of a file of fixtures/; None for one that is whole."""
        rule = self.fixtures.get(name)
        return None if rule is None else _right(rule, None, version, request)


def _right(rule: Rule, model: Rule | None, version: bool, request: bool) -> Right | None:
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
    try:
        value = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise LabError(f"{path}: the causes cannot be read: {error}") from error
    part = ""
    try:
        part = "proposed"
        proposed = {entry["id"]: {key: entry[key] for key in _PROPOSED} for entry in value["proposed"]}
        groups = {f"${name}": scripts for name, scripts in value["groups"].items()}
        models: dict[str, Rule] = {}
        for number, entry in enumerate(value["scripts"], start=1):
            part = f"scripts, number {number}"
            names = entry.pop("names")
            if doubled := models.keys() & set(names):
                raise ValueError(f"{min(doubled)} is listed twice")
            models |= dict.fromkeys(names, _rule(entry, groups))
        rules: dict[str, list[Rule]] = {"rules": [], "unstreamed": []}
        for name, some in rules.items():
            for number, entry in enumerate(value.get(name, ()), start=1):
                part = f"{name}, number {number}"
                some.append(_rule(entry, groups))
        part = "fixtures"
        fixtures = {name: _rule(entry, groups) for name, entry in value["fixtures"].items()}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise LabError(
            f"{path}: {part}: {error!r}; the keys are described at the head of the file"
        ) from error
    return CauseTable(
        proposed=proposed,
        models=models,
        rules=tuple(rules["rules"]),
        unstreamed=tuple(rules["unstreamed"]),
        fixtures=fixtures,
    )


def _rule(entry: dict[str, Any], groups: Mapping[str, list[str]]) -> Rule:
    fields = dict(entry)
    if not str(fields.get("reason", "")).strip():
        raise ValueError("a reason is missing")
    for key in _ALTERNATIVES:
        fields[key] = tuple(fields.get(key, ()))
    if "scripts" in fields:
        fields["scripts"] = frozenset(_named(fields["scripts"], groups))
    if "endpoint" in fields:
        fields["endpoint"] = Endpoint(fields["endpoint"])
    if "releases" in fields:
        fields["releases"] = Range(fields["releases"])
    return Rule(**fields)


def _named(words: Iterable[str], groups: Mapping[str, list[str]]) -> Iterable[str]:
    for word in words:
        yield from groups[word] if word.startswith("$") else (word,)
