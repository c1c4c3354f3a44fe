"""What must hold of every verdict: functions that yield what does not, by the truth of `deliveries`."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any, Final

import inspector
from inspector.analysis.audit import KINDS, Finding, FindingSide, Severity
from inspector.analysis.audit.verdict import Level
from inspector.capture.capture import Capture, Endpoint, Event, EventKind
from inspector.inspection.inspection import Inspection
from inspector.views.strip import strip
from tests.support.deliveries import FAULTS, Delivery
from tests.support.recut import renumbered

__all__ = [
    "alarms",
    "contradictions",
    "hollow_proofs",
    "less_evidence",
    "missed_faults",
    "moved",
    "refuted_causes",
    "unequal_clean",
    "without",
]

_OF_TEXT: Final = frozenset({FindingSide.TEXT, FindingSide.MODEL})


def errors(seen: Inspection) -> list[Finding]:
    """The findings that are errors."""
    return [finding for finding in seen.findings if finding.severity is Severity.ERROR]


def _codes(findings: Sequence[Finding]) -> str:
    return ", ".join(f"{finding.code.value} in {finding.field}" for finding in findings)


def alarms(made: Delivery, seen: Inspection) -> Iterator[str]:
    """Errors about a response with which nothing is wrong; a missing end is no fault of its text."""
    if not made.harmless and made.whole:
        return
    if made.rejected or made.told or (not made.harmless and made.whole):
        return
    ended = made.whole and (made.evidence.done or made.evidence.final or not made.streamed)
    wrong = [finding for finding in errors(seen) if ended or KINDS[finding.kind].side in _OF_TEXT]
    if wrong:
        yield f"{seen.verdict.level}/{seen.verdict.outcome}: {_codes(wrong)}"


def unequal_clean(made: Delivery, seen: Inspection) -> Iterator[str]:
    """Clean although a field has other text than was generated for it, or a rejected text is gone."""
    if seen.verdict.level is not Level.CLEAN:
        return
    if not made.same:
        yield "clean, but the texts differ"
    elif made.capture.header.endpoint is not Endpoint.COMPLETIONS and any(
        choice.unheard for choice in made.choices
    ):
        yield "clean, but text behind a rejected token was not delivered"


def missed_faults(made: Delivery, seen: Inspection) -> Iterator[str]:
    """A fault that the token IDs of the capture prove, and no error says so."""
    if made.fault not in FAULTS or not made.covered or seen.verdict.level is Level.CLEAN:
        return
    if made.capture.header.endpoint is Endpoint.RESPONSES or made.evidence.ids == "logprobs":
        return
    if not any(KINDS[finding.kind].side is FindingSide.TEXT for finding in errors(seen)):
        yield f"{seen.verdict.level}/{seen.verdict.outcome}: {', '.join(f.code.value for f in seen.findings)}"


def hollow_proofs(made: Delivery, seen: Inspection) -> Iterator[str]:
    """Complete although the capture does not show it, or it is not."""
    if seen.verdict.outcome != "complete":
        return
    if not made.whole:
        yield "complete, but an event is missing"
    elif not made.covered:
        yield f"complete, but the evidence covers less ({made.evidence.ids})"
    elif not made.same:
        yield "complete, but the texts differ"
    elif made.capture.header.endpoint is not Endpoint.COMPLETIONS and any(
        choice.unheard for choice in made.choices
    ):
        yield "complete, but text behind a rejected token was not delivered"


# less evidence


def _payload(event: Event) -> Any:
    if event.kind is EventKind.COMMENT:
        return None
    try:
        return json.loads(event.data)
    except ValueError:
        return None


def _mapped(capture: Capture, change: Callable[[dict[str, Any]], bool]) -> Capture:
    """Each payload changed in place; an event whose change returns False is taken out."""
    events: list[Event] = []
    for event in capture.events:
        payload = _payload(event)
        if not isinstance(payload, dict):
            events.append(event)
        elif change(payload):
            events.append(event._replace(data=json.dumps(payload)))
    if capture.header.endpoint is Endpoint.RESPONSES:
        events = list(renumbered(events))
    return replace(capture, events=events)


def _choices(payload: Mapping[str, Any]) -> list[dict[str, Any]]:
    choices = payload.get("choices")
    return choices if isinstance(choices, list) else []


def without(what: str, capture: Capture, random: Random) -> Capture:
    """A capture with less evidence; delivered text stays."""

    def change(payload: dict[str, Any]) -> bool:
        for choice in _choices(payload):
            match what:
                case "ids":
                    choice.pop("token_ids", None)
                case "ids of some events" if random.random() < 0.4:
                    choice.pop("token_ids", None)
                case "some ids" if choice.get("token_ids"):
                    choice["token_ids"] = [each for each in choice["token_ids"] if random.random() < 0.7]
                case "logprobs":
                    choice["logprobs"] = None
                case "finish":
                    choice["finish_reason"] = None
        if what == "usage":
            if payload.pop("usage", None) is not None and payload.get("choices") == []:
                return False
            if isinstance(response := payload.get("response"), dict):
                response["usage"] = None
        return not (
            what == "final" and str(payload.get("type")) in {"response.completed", "response.incomplete"}
        )

    return _mapped(capture, change)


_REMOVALS: Final = ("ids", "ids of some events", "some ids", "logprobs", "usage", "finish", "final")


def less_evidence(made: Delivery, seen: Inspection) -> Iterator[str]:
    """New errors, sides or causes once evidence is taken out of the capture."""
    random = Random(made.seed)  # noqa: S311
    before = {(finding.code, finding.field) for finding in errors(seen)}
    sides = {KINDS[finding.kind].side for finding in errors(seen)}
    causes = {issue for finding in seen.findings for issue in finding.known_issues[:1]}
    for what in _REMOVALS:
        less = without(what, made.capture, random)
        if less.events == made.capture.events:
            continue
        after = inspector.inspect(less)
        ending = what in {"finish", "final"}
        new = [
            finding
            for finding in errors(after)
            if (finding.code, finding.field) not in before
            and not (ending and KINDS[finding.kind].side not in _OF_TEXT)
        ]
        if new:
            yield f"without {what}: {_codes(new)} ({after.verdict.sentence})"
            continue
        named = {issue for finding in after.findings for issue in finding.known_issues[:1]} - causes
        if named and not ending:
            yield f"without {what}: cause {', '.join(sorted(named))}"
        if {KINDS[finding.kind].side for finding in errors(after)} - sides and not ending:
            yield f"without {what}: another side"
        elif after.verdict.blame not in {"", seen.verdict.blame}:
            yield f"without {what}: {seen.verdict.blame!r} becomes {after.verdict.blame!r}"


# other cuts


def _places(seen: Inspection) -> list[tuple[Any, ...]]:
    return sorted(
        (
            finding.code.value,
            finding.choice,
            finding.field or "",
            -1 if finding.token_start is None else finding.token_start,
            -1 if finding.token_end is None else finding.token_end,
            finding.known_issues,
        )
        for finding in seen.findings
    )


def moved(seen: Inspection, again: Inspection) -> Iterator[str]:
    """What two captures of the same tokens and texts are judged differently in."""
    if again.verdict.level is not seen.verdict.level or again.verdict.outcome is not seen.verdict.outcome:
        states = [f"{each.verdict.level}/{each.verdict.outcome}" for each in (seen, again)]
        yield " becomes ".join(states)
        return
    before, after = _places(seen), _places(again)
    cause, other = (None if each.cause is None else each.cause.id for each in (seen, again))
    if [row[0] for row in before] != [row[0] for row in after]:
        yield f"codes {[row[0] for row in before]} become {[row[0] for row in after]}"
    elif [row[:5] for row in before] != [row[:5] for row in after]:
        changed = [(one[:5], two[:5]) for one, two in zip(before, after, strict=True) if one[:5] != two[:5]]
        yield f"spans {changed}"
    elif before != after or cause != other:
        yield f"causes {cause} become {other}"


# causes and interfaces


def refuted_causes(made: Delivery, seen: Inspection) -> Iterator[str]:
    """A cause that says nothing of a kind is delivered, where something of it is."""
    named = {cause.id for cause in seen.causes if cause is not None}
    fields = {name for choice in made.choices for name in choice.delivered}
    if "tool-parser-flags-missing" in named and any(name.startswith("tool_calls") for name in fields):
        yield "no tool parser, but a call was delivered"
    if "reasoning-parser-missing" in named and "reasoning" in fields:
        yield "no reasoning parser, but reasoning was delivered"


_LOSS: Final = frozenset({"text_lost", "call_lost", "no_field", "rejected_silently"})


def contradictions(seen: Inspection) -> Iterator[str]:
    """Where two interfaces say different things about one capture."""
    row = inspector.audit_dict(seen)
    if (row["verdict"]["level"], row["verdict"]["outcome"]) != (seen.verdict.level, seen.verdict.outcome):
        yield "audit --json has another verdict"
    if [finding["code"] for finding in row["findings"]] != [finding.code.value for finding in seen.findings]:
        yield "audit --json has other findings"
    for choice in seen.reading.choices:
        fates = list(inspector.tokens(seen, choice=choice.index))
        lost = {token.index for token in fates if token.fate == "lost"}
        own = [finding for finding in seen.findings if finding.choice == choice.index]
        spans = [
            set(range(finding.token_start or 0, finding.token_end or 0))
            for finding in own
            if finding.token_start is not None
        ]
        explained = set[int]().union(*spans)
        if lost - explained:
            yield f"tokens {sorted(lost - explained)[:5]} are lost, and no finding is about them"
        for finding in own:
            if finding.code.value == "text_lost" and finding.token_start is not None and fates:
                span = set(range(finding.token_start, finding.token_end or 0))
                if not finding.reconstructed and not lost & span:
                    yield f"text_lost at {sorted(span)[:5]}, and no token there has the fate lost"
        if lost and seen.verdict.level is Level.CLEAN:
            yield "clean, and a token has the fate lost"
        wrong = {token.index for token in fates if token.fate == "misrouted"}
        if wrong - explained:
            yield f"tokens {sorted(wrong - explained)[:5]} are misrouted, and no finding is about them"
        payload = strip(seen, key="key", choice=choice)
        drawn = {
            index
            for start, end, fate, *_ in payload["pipelines"][0]["fates"]
            if fate == "lost"
            for index in range(start, end)
        }
        if fates and drawn != lost:
            yield "the strip draws other tokens as lost"
