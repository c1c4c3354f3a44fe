"""What to do about a known issue on one server: the catalogue's steps, with measured upgrades.

An upgrade names the first release of the lab's matrix that delivers this class of stream completely on this
endpoint and front end, and never one that the server has reached. Where the matrix has nothing for an issue,
the upgrade says so.
`measured.json` is generated from fixtures/matrix by `python -m tools.make_measured`.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

from msgspec import structs

from inspector.analysis.reading import Reading
from inspector.capture.capture import Endpoint
from inspector.issues.catalogue.issue import Issue, Side, Step, upgrade_text
from inspector.issues.catalogue.release_bounds import release_bounds
from inspector.issues.catalogue.versions import as_version
from inspector.protocol.engines import DEFAULT, ENGINES, UNKNOWN, Engine
from inspector.protocol.wire.endpoints import spec_of

_REPOSITORY: Final = re.compile(r"https://[^/]+/[^/]+/([^/]+)/")
_PROGRAMS: Final = frozenset(engine.program for engine in ENGINES)

MEASURED_FILE: Final = Path(__file__).with_name("measured.json")

_ANY: Final = "any"
_UNPARSED: Final = frozenset(endpoint for endpoint in Endpoint if not spec_of(endpoint).parsed)
_NEARLY_ALL: Final = 0.8
_FIRST_RIGHT: Final = "the first release measured that delivers such streams completely"
_UNMEASURED: Final = " (from the source code, not measured)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What is known of a server and its stream when a step is chosen."""

    version: str | None = None
    """The server's release, or the oldest that it can be."""
    endpoint: Endpoint | None = None
    calls: bool | None = None
    """Whether the model called functions; None where that is not known."""
    engine: Engine = DEFAULT
    token_ids: bool = False
    """Whether the token IDs of the response are known."""
    reading: Reading | None = field(default=None, repr=False, compare=False)
    """The response, for rare conditions; None where only words about it are known."""
    captured: bool = False
    """Whether the response itself is known, not only words about it."""
    answered: bool | None = None
    """Whether the client got an answer or a call, and nothing was lost; None where that is not known."""
    model: str | None = None
    """The name under which the server serves the model."""
    needed: str | None = None
    """The release that the first of several issues needs; no older one is advised."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The lab's matrix on the streams that show an issue."""

    first_right: str | None
    """The first release from which on all of them are delivered whole; None where the newest still fails."""
    releases: tuple[str, ...]
    """The releases measured of the engine, oldest first."""
    streams: int
    """Scripts of the class."""
    script_class: str
    """The matrix's class that most of them are in."""

    @property
    def oldest(self) -> str:
        """The oldest release measured."""
        return self.releases[0]

    @property
    def newest(self) -> str:
        """The newest one."""
        return self.releases[-1]


def situation_of(reading: Reading) -> Situation:
    """The situation of a reading; without a version the oldest release that its events allow."""
    called = any(choice.expected.calls or choice.delivered().tool_calls for choice in reading.choices)
    settled = called or reading.ended  # a stream that goes on may still call
    return Situation(
        version=reading.server_version or release_bounds(reading).at_least,
        endpoint=reading.header.endpoint,
        calls=called if settled and not reading.spec.raw else None,
        engine=reading.engine,
        token_ids=reading.choice.has_ids,
        captured=True,
        model=reading.stream.model or reading.header.model,
        reading=reading,
    )


def steps_for(issue: Issue, situation: Situation) -> tuple[str, ...]:
    """What to do, best first; at least one step."""
    return tuple(step.text for step in steps_in(issue, situation))


def _report(issue: Issue, situation: Situation) -> Step:
    """The step where no other is left."""
    if situation.engine is UNKNOWN:
        return Step(text="Report this stream to the developers of the server; nothing here says which it is.")
    if not _upgrades(issue, situation.engine):
        return Step(text=f"Report this stream to the developers of {situation.engine.label}.")
    release = situation.engine.labelled(situation.version)
    return Step(text=f"{release} already has the known fix: report this stream to its developers.")


def _upgrades(issue: Issue, engine: Engine) -> bool:
    """Whether the releases that the steps of an issue name are those of a server."""
    return engine.is_among(issue.affected.keys() | issue.fixed_in.keys() or {DEFAULT.program})


def links_for(issue: Issue, engine: Engine) -> tuple[str, ...]:
    """The links of an issue that are not to the repository of another server."""
    return tuple(link for link in issue.links if not _of_another(link, engine))


def _of_another(link: str, engine: Engine) -> bool:
    """Whether a link is to a repository that has the name of another server's program."""
    match = _REPOSITORY.match(link)
    return match is not None and match[1] in _PROGRAMS and not engine.is_among({match[1]})


def first_step(issue: Issue, situation: Situation) -> str:
    """The first thing to do."""
    return steps_for(issue, situation)[0]


def beside(first: Issue, situation: Situation) -> Situation:
    """The situation for what is named beside `first`: the release that its first step asks for is needed."""
    step = next(iter(steps_in(first, situation)), None)
    return situation if step is None or not step.upgrade else replace(situation, needed=step.upgrade)


def steps_in(issue: Issue, situation: Situation) -> list[Step]:
    """The steps that make sense, best first, at least one; a measured upgrade replaces the catalogue's."""
    measurement = measured(issue.measured_as or issue.id, situation)
    sensible = [step for step in issue.steps if _fits(step, situation)]
    if not _upgrades(issue, situation.engine):
        sensible = [step for step in sensible if not step.upgrade]
    if situation.endpoint in _UNPARSED and situation.endpoint not in issue.endpoints:
        # No release parses them, so none repairs what is in them.
        sensible = [step for step in sensible if not step.upgrade] or sensible
    if measurement is not None and issue.sides[0] is Side.SERVER and not issue.general:
        rest = [step for step in sensible if not step.upgrade]
        sensible = [*_measured_upgrade(issue, measurement, situation.engine), *rest]
        if measurement.first_right is None:
            newest = situation.engine.labelled(measurement.newest)
            sensible.append(
                Step(text=f"No release measured delivers such streams completely, up to {newest}.")
            )
    else:
        sensible = [_with_basis(step, measurement) for step in sensible]
    remaining = [
        step for step in sensible if not (step.upgrade and _reached(step.upgrade, situation.version))
    ]
    upgraded = any(step.upgrade for step in remaining)
    possible = [_not_below(step, situation) for step in remaining if upgraded or not step.until]
    asked = [step.upgrade for step in possible]
    return [
        step
        for place, step in enumerate(possible)
        if not (step.upgrade and any(_reached(step.upgrade, release) for release in asked[:place]))
    ] or [_report(issue, situation)]


def _reached(release: str, version: str | None) -> bool:
    """Whether a version, where it is known, is a release or newer."""
    number, required = as_version(version or ""), as_version(release)
    return number is not None and required is not None and required <= number


def _not_below(step: Step, situation: Situation) -> Step:
    """A step; an upgrade to an older release than another issue needs is replaced."""
    needed = situation.needed
    if needed is None or not step.upgrade or _reached(needed, step.upgrade):
        return step
    return _upgrade(needed, "which another issue here needs", situation.engine)


def _upgrade(release: str, why: str, engine: Engine) -> Step:
    return Step(text=upgrade_text(release, why, engine=engine), upgrade=release)


def measured(issue: str, situation: Situation) -> Measured | None:
    """The matrix's answer for the streams of an issue; None where no script of the endpoint shows it.

    Where the endpoint is not known, every endpoint that has the issue must deliver them.
    """
    engine = situation.engine.name
    by_class = _table().get(issue, {})
    if situation.endpoint is not None:
        measurements = [
            by_class[key]
            for place in spec_of(situation.endpoint).has_issues_of
            for kind in (_class(situation.calls), _ANY)
            if (key := (engine, place.value, kind)) in by_class
        ][:1]
    else:
        measurements = [
            measurement for (name, _, kind), measurement in by_class.items() if (name, kind) == (engine, _ANY)
        ]
    if not measurements:
        return None
    rights = [as_version(measurement.first_right or "") for measurement in measurements]
    if None in rights:
        return next(measurement for measurement in measurements if measurement.first_right is None)
    return max(measurements, key=lambda measurement: as_version(measurement.first_right or "") or ())


def _measured_upgrade(issue: Issue, measurement: Measured, engine: Engine) -> list[Step]:
    """The upgrade that the matrix bears out, if any; it explains a fix that the sources have earlier."""
    if measurement.first_right is None or measurement.first_right == measurement.oldest:
        return []  # what every release measured delivers needs no upgrade
    fixed = issue.fixed_in.get(engine.program)
    still_wrong = fixed is not None and any(
        _reached(fixed, release) and not _reached(measurement.first_right, release)
        for release in measurement.releases
    )
    why = f"{_FIRST_RIGHT} ({fixed} fixes only some of them)" if still_wrong else _FIRST_RIGHT
    return [_upgrade(measurement.first_right, why, engine)]


def _with_basis(step: Step, measurement: Measured | None) -> Step:
    """A step, with what an upgrade rests on where the matrix does not bear it out."""
    first = measurement.first_right if measurement is not None else None
    if step.measured or not step.upgrade or (first is not None and _reached(first, step.upgrade)):
        return step
    return structs.replace(step, text=f"{step.text.rstrip('.')}{_UNMEASURED}.")


def _fits(step: Step, situation: Situation) -> bool:
    """Whether a step makes sense in a situation."""
    if not all(condition.holds(situation.reading) for condition in step.when):
        return False
    if step.programs and not situation.engine.is_among(step.programs):
        return False
    for required, value in (
        (step.token_ids, situation.token_ids),
        (step.captured, situation.captured),
    ):
        if required is not None and required is not value:
            return False
    if step.answered is not None and step.answered is not situation.answered:
        return False
    if situation.endpoint is None:  # that of a message, which a parser wrote
        return not step.endpoints or not step.endpoints <= _UNPARSED
    return not step.endpoints or not step.endpoints.isdisjoint(spec_of(situation.endpoint).has_issues_of)


def _class(calls: bool | None) -> str:
    return _ANY if calls is None else "calls" if calls else "no calls"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseMeasured:
    """How many of the matrix's scripts with tool calls a release delivers completely at every step size."""

    release: str
    endpoint: Endpoint
    complete: int
    scripts: int
    best: str
    """This release, or the first newer one that delivers the most."""
    best_complete: int

    @property
    def cleared(self) -> bool:
        """Whether it delivers all of them: then a missing call has another cause."""
        return self.complete == self.scripts

    @property
    def sentence(self) -> str:
        """What that says about a release of which somebody misses tool calls."""
        release, lab = DEFAULT.labelled(self.release), "completely in the lab (Python front end)"
        scripts = f"{self.scripts} {self.endpoint} scripts with tool calls"
        if self.cleared:
            return f"Not your version: {release} delivers all {scripts} {lab}."
        delivers = f"{release} delivers {self.complete} of {scripts} {lab}"
        newer = f"; {self.best} delivers {self.best_complete}" if self.best_complete > self.complete else ""
        mostly = self.complete >= _NEARLY_ALL * self.scripts
        return f"{'Probably not' if mostly else 'Perhaps'} your version: {delivers}{newer}."

    @property
    def next_step(self) -> str:
        """What to do first."""
        if self.complete >= _NEARLY_ALL * self.scripts:
            return "Check the server's flags first, then the client."
        if self.best_complete == self.complete:
            return ""
        return upgrade_text(self.best)


def measured_release(version: str, endpoint: Endpoint) -> ReleaseMeasured | None:
    """What the matrix says of a release; None for one that it does not have."""
    cell = _content()["delivered"].get(endpoint, {"complete": {}})
    complete: Mapping[str, int] = cell["complete"]
    release = measured_name(version)
    if release is None or release not in complete:
        return None
    newer = {later: count for later, count in complete.items() if _reached(release, later)}
    best = max(newer, key=newer.__getitem__)
    return ReleaseMeasured(
        release=release,
        endpoint=endpoint,
        complete=complete[release],
        scripts=cell["scripts"],
        best=best,
        best_complete=newer[best],
    )


def measured_name(version: str) -> str | None:
    """A release of the matrix as it is named there: `0.33` is 0.33.0; None for one that it does not have."""
    number, releases = as_version(version), _content()["releases"][DEFAULT.name]
    return next((release for release in releases if as_version(release) == number), None)


@cache
def _content() -> Any:
    return json.loads(MEASURED_FILE.read_text(encoding="utf-8"))


@cache
def _table() -> Mapping[str, Mapping[tuple[str, str, str], Measured]]:
    """By issue, then by engine, endpoint and class of stream."""
    value = _content()
    return {
        issue: {
            (engine, endpoint, kind): Measured(
                first_right=cell["first_right"],
                releases=tuple(value["releases"][engine]),
                streams=cell["streams"],
                script_class=cell["class"],
            )
            for endpoint, by_engine in by_endpoint.items()
            for engine, classes in by_engine.items()
            for kind, cell in classes.items()
        }
        for issue, by_endpoint in value["issues"].items()
    }
