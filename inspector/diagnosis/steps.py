"""What to do about a known issue on one server: the catalogue's steps, with measured upgrades.

An upgrade names the first release of the lab's matrix that delivers this class of stream completely on this
endpoint and front end, and never one that the server has reached. Where the matrix has nothing for an issue,
the upgrade says so.
`measured.json` is generated from fixtures/matrix by `python -m tools.make_measured`.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Final

from inspector.capture import Endpoint
from inspector.diagnosis.evidence import ended_of
from inspector.diagnosis.issue import Ended, Issue, Side, Step
from inspector.diagnosis.release_bounds import release_bounds
from inspector.diagnosis.versions import as_version
from inspector.engines import DEFAULT, Engine
from inspector.reading import Reading

__all__ = [
    "MEASURED_FILE",
    "Measured",
    "Situation",
    "beside",
    "first_step",
    "measured",
    "situation_of",
    "steps_for",
]

MEASURED_FILE: Final = Path(__file__).with_name("measured.json")

_UPGRADE: Final = re.compile(r"(?:Or )?[Uu]pgrade\b")
_RELEASE: Final = re.compile(r"\b\d+\.\d+(?:\.\d+)?\b")
_ANY: Final = "any"
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
    ended: Ended = Ended.UNKNOWN
    token_ids: bool = False
    """Whether the token IDs of the response are known."""
    captured: bool = False
    """Whether the response itself is known, not only words about it."""
    tools: bool | None = None
    """Whether the request offers tools; None where the request is not known."""
    needed: str | None = None
    """The release that the first of several issues asks for; no other is advised that is older."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What the lab's matrix says of the streams that show an issue."""

    first_right: str | None
    """The first release from which on all of them are delivered whole; None where the newest still fails."""
    oldest: str
    """The oldest release measured of the engine."""
    newest: str
    """The newest one."""
    streams: int
    """Scripts of the class."""


def situation_of(reading: Reading) -> Situation:
    """What a reading tells; without a version the oldest release that its events allow."""
    called = any(choice.expected.calls or choice.delivered().tool_calls for choice in reading.choices)
    settled = called or reading.ended  # a stream that goes on may still call
    return Situation(
        version=reading.server_version or release_bounds(reading).at_least,
        endpoint=reading.header.endpoint,
        calls=called if settled and not reading.spec.raw else None,
        engine=reading.engine,
        ended=ended_of(reading.choice),
        token_ids=reading.choice.has_ids,
        captured=True,
        tools=_offers_tools(reading),
    )


def steps_for(issue: Issue, situation: Situation) -> tuple[str, ...]:
    """What to do, best first; at least one step."""
    seen = measured(issue.id, situation)
    number = as_version(situation.version or "")
    sensible = [step for step in issue.steps if _fits(step, situation)]
    if situation.endpoint is Endpoint.COMPLETIONS and situation.endpoint not in issue.endpoints:
        # No release parses completions, so none repairs what is in them.
        sensible = [step for step in sensible if not _UPGRADE.match(step.text)] or sensible
    left = [_told(step, seen) for step in sensible if not _reached(step.text, number)]
    if seen is not None and issue.sides[0] is Side.SERVER and not issue.general:
        left = list(_by_measurement(seen, left, number, situation.engine))
    if not left:
        release = situation.engine.labelled(situation.version)
        return (f"{release} already has the known fix: report this stream to its developers.",)
    return tuple(_not_below(step, situation) for step in left)


def first_step(issue: Issue, situation: Situation) -> str:
    """The first thing to do."""
    return steps_for(issue, situation)[0]


def beside(first: Issue, situation: Situation) -> Situation:
    """The situation for what is named beside `first`: the release that its first step asks for is needed."""
    step = first_step(first, situation)
    told = _RELEASE.findall(step) if _UPGRADE.match(step) else []
    return replace(situation, needed=told[0]) if len(told) == 1 else situation


def _not_below(step: str, situation: Situation) -> str:
    """A step, with the release that another issue needs where it asks for an older one."""
    needed = as_version(situation.needed or "")
    told = [as_version(name) for name in _RELEASE.findall(step)] if _UPGRADE.match(step) else []
    if needed is None or not told or any(one is None or one >= needed for one in told):
        return step
    release = situation.engine.labelled(situation.needed)
    return f"Upgrade to {release} or newer, which another issue here needs."


def measured(issue: str, situation: Situation) -> Measured | None:
    """The matrix's answer for the streams of an issue; None where no script of the endpoint shows it.

    Where the endpoint is not known, every endpoint that has the issue must deliver them.
    """
    engine = situation.engine.name
    by_class = _table().get(issue, {})
    if situation.endpoint is not None:
        place = situation.endpoint.value
        found = [
            by_class.get((engine, place, _class(situation.calls))) or by_class.get((engine, place, _ANY))
        ]
    else:
        found = [seen for (one, _, kind), seen in by_class.items() if (one, kind) == (engine, _ANY)]
    known = [seen for seen in found if seen is not None]
    if not known:
        return None
    rights = [as_version(seen.first_right or "") for seen in known]
    if None in rights:
        return next(seen for seen in known if seen.first_right is None)
    return max(known, key=lambda seen: as_version(seen.first_right or "") or ())


def _by_measurement(
    seen: Measured, left: list[str], number: tuple[int, ...] | None, engine: Engine
) -> Iterator[str]:
    """The steps left, with the measured upgrade in place of the catalogue's."""
    rest = [step for step in left if not _UPGRADE.match(step)]
    first = as_version(seen.first_right or "")
    needed = seen.first_right != seen.oldest  # what every release measured delivers needs no upgrade
    if first is not None and needed and (number is None or number < first):
        yield f"Upgrade to {engine.labelled(seen.first_right)} or newer, {_FIRST_RIGHT}."
        yield from rest
        return
    yield from rest
    if first is None:
        yield f"No release measured delivers such streams completely, up to {engine.labelled(seen.newest)}."


def _told(step: Step, seen: Measured | None) -> str:
    """A step, with what an upgrade rests on where the matrix does not bear it out."""
    if step.measured or not _UPGRADE.match(step.text):
        return step.text
    asked = [number for name in _RELEASE.findall(step.text) if (number := as_version(name)) is not None]
    first = as_version(seen.first_right or "") if seen is not None else None
    if not asked or (first is not None and max(asked) >= first):
        return step.text
    return f"{step.text.rstrip('.')}{_UNMEASURED}."


def _reached(step: str, number: tuple[int, ...] | None) -> bool:
    """Whether a step asks for an upgrade, and for none that is newer than the server."""
    if number is None or not _UPGRADE.match(step):
        return False
    told = [as_version(name) for name in _RELEASE.findall(step)]
    return bool(told) and all(one is not None and one <= number for one in told)


def _offers_tools(reading: Reading) -> bool | None:
    """Whether the request offers tools; None where it is not known, or only the server has all of it."""
    request = reading.header.request
    offered = bool(request.get("tools"))
    unknown = not request or any(map(request.get, reading.spec.elsewhere))
    return None if unknown and not offered else offered


def _fits(step: Step, situation: Situation) -> bool:
    """Whether a step makes sense in a situation."""
    if step.ended and situation.ended not in step.ended:
        return False
    if step.token_ids is not None and step.token_ids is not situation.token_ids:
        return False
    if step.captured is not None and step.captured is not situation.captured:
        return False
    if None not in (step.tools, situation.tools) and step.tools is not situation.tools:
        return False
    return not step.endpoints or situation.endpoint is None or situation.endpoint in step.endpoints


def _class(calls: bool | None) -> str:
    return _ANY if calls is None else "calls" if calls else "no calls"


@cache
def _table() -> Mapping[str, Mapping[tuple[str, str, str], Measured]]:
    """By issue, then by engine, endpoint and class of stream."""
    value = json.loads(MEASURED_FILE.read_text(encoding="utf-8"))
    return {
        issue: {
            (engine, endpoint, kind): Measured(
                first_right=seen["first_right"],
                oldest=value["releases"][engine][0],
                newest=value["releases"][engine][-1],
                streams=seen["streams"],
            )
            for endpoint, by_engine in by_endpoint.items()
            for engine, classes in by_engine.items()
            for kind, seen in classes.items()
        }
        for issue, by_endpoint in value["issues"].items()
    }
