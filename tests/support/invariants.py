"""What must hold of every verdict: functions that yield what does not, by the truth of `deliveries`."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Final

import inspector
from inspector.analysis.audit import KINDS, Code, Finding, FindingSide, Kind, Severity
from inspector.analysis.audit.verdict import Level
from inspector.capture.capture import Capture, Endpoint, Event, EventKind
from inspector.data.scan.columns import CAPTURES, FINDINGS
from inspector.data.scan.items import ItemReader, ScanItem
from inspector.data.scan.rows import rows_of
from inspector.fleet.watch.summary import summarise
from inspector.inspection.inspection import Inspection
from inspector.protocol.harmony.markup import markup_in
from inspector.views.strip import strip
from tests.support.deliveries import FAULTS, Delivery
from tests.support.recut import renumbered

__all__ = [
    "alarms",
    "contradictions",
    "hollow_proofs",
    "is_settled",
    "missed_faults",
    "more_blame",
    "moved",
    "new_causes",
    "new_errors",
    "refuted_causes",
    "unequal_clean",
    "without",
]

_OF_TEXT: Final = frozenset({FindingSide.TEXT, FindingSide.MODEL})


def _written_so(made: Delivery, finding: Finding) -> bool:
    """Whether the model itself wrote as text what looks like Harmony that a server did not parse."""
    if finding.kind is not Kind.HARMONY_AS_TEXT:
        return False
    generated = [choice.generated.get(finding.field or "", ()) for choice in made.choices]
    return any(markup_in("".join(texts)) is not None for texts in generated)


def errors(seen: Inspection) -> list[Finding]:
    """The findings that are errors."""
    return [finding for finding in seen.findings if finding.severity is Severity.ERROR]


def _codes(findings: Sequence[Finding]) -> str:
    return ", ".join(f"{finding.code.value} in {finding.field}" for finding in findings)


def _shows_its_gaps(made: Delivery) -> bool:
    """Whether a missing event can be noticed: where it is not the last one, only a count tells."""
    return made.fault != "lose_event" or made.evidence.usage


def alarms(made: Delivery, seen: Inspection) -> Iterator[str]:
    """Errors about text that is right; a missing end is an error of the stream, not of its text."""
    right = (made.harmless or not made.whole) and _shows_its_gaps(made)
    if not right or made.rejected or made.told:
        return
    ended = made.whole and (made.evidence.done or made.evidence.final or not made.streamed)
    wrong = [
        finding
        for finding in errors(seen)
        if (ended or KINDS[finding.kind].side in _OF_TEXT) and not _written_so(made, finding)
    ]
    if wrong:
        yield f"{seen.verdict.level}/{seen.verdict.outcome}: {_codes(wrong)}"


def _is_unheard(made: Delivery) -> bool:
    """Whether text behind a rejected token was not delivered; plain completions deliver all."""
    parsed = made.capture.header.endpoint is not Endpoint.COMPLETIONS
    return parsed and any(choice.unheard for choice in made.choices)


def unequal_clean(made: Delivery, seen: Inspection) -> Iterator[str]:
    """Clean although a field has other text than was generated for it, or a rejected text is gone."""
    if seen.verdict.level is not Level.CLEAN or (made.in_final and made.same_count):
        return  # docs/verdicts.md: texts of one count look the same
    if not made.same:
        yield "clean, but the texts differ"
    elif made.whole and _is_unheard(made):
        yield "clean, but text behind a rejected token was not delivered"


def missed_faults(made: Delivery, seen: Inspection) -> Iterator[str]:
    """A fault that the token IDs of the capture prove, and no error says so."""
    if made.fault not in FAULTS or not made.covered or seen.verdict.level is Level.CLEAN:
        return
    if made.capture.header.endpoint is Endpoint.RESPONSES or made.evidence.ids == "logprobs":
        return
    if not made.evidence.usage and any(finding.code is Code.TEXT_WITHOUT_IDS for finding in seen.findings):
        return  # without a count its IDs may be missing, and the finding says both
    if not any(
        KINDS[finding.kind].side is FindingSide.TEXT or finding.code is Code.ARGUMENTS_BROKEN
        for finding in errors(seen)
    ):
        yield f"{seen.verdict.level}/{seen.verdict.outcome}: {', '.join(f.code.value for f in seen.findings)}"


def hollow_proofs(made: Delivery, seen: Inspection) -> Iterator[str]:
    """Complete although the capture does not show it, or it is not."""
    if seen.verdict.outcome != "complete" or not _shows_its_gaps(made):
        return
    if made.in_final and made.same_count:
        return
    if made.fault == "hide_reasoning" and made.evidence.ids == "all":
        return  # all that the request wants may be covered
    if not made.whole:
        yield "complete, but an event is missing"
    elif not made.covered:
        yield f"complete, but the evidence covers less ({made.evidence.ids})"
    elif not made.same:
        yield "complete, but the texts differ"
    elif _is_unheard(made):
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


_ENDINGS: Final = frozenset({"finish", "final"})
_REMOVALS: Final = ("ids", "ids of some events", "some ids", "logprobs", "usage", "finish", "final")


def _reduced(made: Delivery) -> Iterator[tuple[str, Inspection]]:
    """The capture with less evidence, in every way that applies to it."""
    random = Random(made.seed)  # noqa: S311
    for what in _REMOVALS:
        if what == "usage" and made.fault in {"lose_event", "lose_end"}:
            continue  # without a count nothing tells that an event is missing
        if what == "some ids" and not made.evidence.usage:
            continue  # nor that IDs of an event are, which has others
        less = without(what, made.capture, random)
        if less.events != made.capture.events:
            yield what, inspector.inspect(less)


def more_blame(made: Delivery, seen: Inspection, after: Inspection, what: str) -> Iterator[str]:
    """Errors or blame that appear once evidence is taken out; a missing end may be said."""
    if any(_written_so(made, finding) for finding in after.findings):
        return
    before = {(finding.code, finding.field) for finding in errors(seen)}
    new = [finding for finding in errors(after) if (finding.code, finding.field) not in before]
    if what in _ENDINGS:
        new = [finding for finding in new if KINDS[finding.kind].side in _OF_TEXT]
    if what == "final" and before:
        return  # the same difference, against the texts of the items
    if new:
        yield f"without {what}: {_codes(new)} ({after.verdict.sentence})"
    elif after.verdict.blame not in {"", seen.verdict.blame}:
        yield f"without {what}, another side: {seen.verdict.blame!r} becomes {after.verdict.blame!r}"


def new_errors(made: Delivery, seen: Inspection) -> Iterator[str]:
    """More blame with less evidence, whatever is taken out."""
    for what, after in _reduced(made):
        yield from more_blame(made, seen, after, what)


def new_causes(made: Delivery, seen: Inspection) -> Iterator[str]:
    """Known issues that are named only once evidence is taken out."""
    before = {issue for finding in seen.findings for issue in finding.known_issues}
    for what, after in _reduced(made):
        judged = zip(after.findings, after.causes, strict=True)
        named = {
            cause.id
            for finding, cause in judged
            if cause is not None and finding.severity is Severity.ERROR and not _written_so(made, finding)
        } - before
        if named and what not in _ENDINGS:
            yield f"without {what}: {', '.join(sorted(named))}"


# other cuts


def is_settled(made: Delivery) -> bool:
    """Whether the capture's texts and tokens alone decide what is wrong with it, however it is cut.

    Without a count, text in an event of its own may be that of IDs which are missing. Of a text in another
    order either part may have moved, and the final object shows no tokens in whose place others are.
    """
    if made.fault.startswith("reorder"):
        return False
    if made.capture.header.endpoint is Endpoint.RESPONSES:
        return made.fault != "garble"
    return made.evidence.usage or made.evidence.ids == "none"


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


def moved(seen: Inspection, again: Inspection, *, causes: bool = True) -> Iterator[str]:
    """What two captures of the same tokens and texts are judged differently in.

    Without `causes` where the events differ: a fault of an engine's steps shows in them.
    """
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
    elif causes and (before != after or cause != other):
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


def _scanned(capture: Capture) -> tuple[Any, ...]:
    """Level, sentence and codes in the rows of a scan."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "stream.jsonl"
        inspector.save(capture, path)
        rows = rows_of(ScanItem(str(path), None, path.stat().st_size, ""), ItemReader())
    names = [column.name for column in CAPTURES]
    row = dict(zip(names, rows.captures[0], strict=True))
    place = [column.name for column in FINDINGS].index("code")
    return row["verdict"], row["sentence"], sorted(finding[place] for finding in rows.findings)


def contradictions(seen: Inspection) -> Iterator[str]:
    """Where two interfaces say different things about one capture."""
    row = inspector.audit_dict(seen)
    if (row["verdict"]["level"], row["verdict"]["outcome"]) != (seen.verdict.level, seen.verdict.outcome):
        yield "audit --json has another verdict"
    if [finding["code"] for finding in row["findings"]] != [finding.code.value for finding in seen.findings]:
        yield "audit --json has other findings"
    if summarise(seen).outcome is not seen.verdict.outcome:
        yield "the metrics have another outcome"
    if f"<h1 class='{seen.verdict.level}'>" not in inspector.html_report(seen):
        yield "the HTML report has another level"
    if _scanned(seen.capture) != (
        seen.verdict.level,
        seen.verdict.sentence,
        sorted(finding.code.value for finding in seen.findings),
    ):
        yield "the rows of a scan say something else"
    for choice in seen.reading.choices:
        fates = list(inspector.tokens(seen, choice=choice.index))
        lost = {token.index for token in fates if token.fate == "lost"}
        wrong = {token.index for token in fates if token.fate == "misrouted"}
        own = [finding for finding in seen.findings if finding.choice == choice.index]
        spans = [finding for finding in own if finding.token_start is not None]
        explained = {
            index for finding in spans for index in range(finding.token_start or 0, finding.token_end or 0)
        }
        if not choice.has_ids:  # a finding by the final object has no tokens
            explained |= lost | wrong if own else set()
        for fate, places in (("lost", lost), ("misrouted", wrong)):
            if places - explained:
                yield f"no finding is about {fate} tokens {sorted(places - explained)[:5]}"
        for finding in spans if fates else ():
            span = set(range(finding.token_start or 0, finding.token_end or 0))
            if finding.code is Code.TEXT_LOST and not lost & span:
                yield f"text_lost, and no token has that fate at {sorted(span)[:5]}"
        if lost and seen.verdict.level is Level.CLEAN:
            yield "clean, and a token has the fate lost"
        payload = strip(seen, key="key", choice=choice)
        drawn = {
            index
            for start, end, fate, *_ in payload["pipelines"][0]["fates"]
            if fate == "lost"
            for index in range(start, end)
        }
        if fates and drawn != lost:
            yield "the strip draws other tokens as lost"
