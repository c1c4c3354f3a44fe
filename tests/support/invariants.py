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
from inspector.capture.deltas import tool_index
from inspector.data.scan.columns import CAPTURES, FINDINGS
from inspector.data.scan.items import ItemReader, ScanItem
from inspector.data.scan.rows import rows_of
from inspector.fleet.watch.summary import summarise
from inspector.inspection.inspection import Inspection
from inspector.protocol.harmony.markup import markup_in
from inspector.views.strip import strip
from tests.support.deliveries import FAULTS, RandomDelivery
from tests.support.recut import renumbered

__all__ = [
    "alarms",
    "blamed_for_a_break",
    "contradictions",
    "hollow_proofs",
    "is_settled",
    "judged_by_other_ids",
    "misread",
    "missed_faults",
    "more_blame",
    "moved",
    "moved_by_source",
    "new_causes",
    "new_errors",
    "refuted_causes",
    "unequal_clean",
    "without",
]

_OF_TEXT: Final = frozenset({FindingSide.TEXT, FindingSide.MODEL})


def _written_so(delivery: RandomDelivery, finding: Finding) -> bool:
    """Whether the model itself wrote as text what looks like Harmony that a server did not parse."""
    if finding.kind is not Kind.HARMONY_AS_TEXT:
        return False
    generated = [choice.generated.get(finding.field or "", ()) for choice in delivery.choices]
    return any(markup_in("".join(texts)) is not None for texts in generated)


def errors(inspection: Inspection) -> list[Finding]:
    """The findings that are errors."""
    return [finding for finding in inspection.findings if finding.severity is Severity.ERROR]


def _codes(findings: Sequence[Finding]) -> str:
    return ", ".join(f"{finding.code.value} in {finding.field}" for finding in findings)


def _shows_its_gaps(delivery: RandomDelivery) -> bool:
    """Whether a missing event can be noticed: where it is not the last one, only a count tells."""
    return delivery.fault != "lose_event" or delivery.evidence.usage


def alarms(delivery: RandomDelivery, inspection: Inspection) -> Iterator[str]:
    """Errors about text that is right; a missing end is an error of the stream, not of its text."""
    right = (delivery.harmless or not delivery.all_events_sent) and _shows_its_gaps(delivery)
    if not right or delivery.rejected or delivery.error_reported:
        return
    ended = delivery.all_events_sent and (
        delivery.evidence.done_sent or delivery.evidence.final or not delivery.streamed
    )
    wrong = [
        finding
        for finding in errors(inspection)
        if (ended or KINDS[finding.kind].side in _OF_TEXT) and not _written_so(delivery, finding)
    ]
    if wrong:
        yield f"{inspection.verdict.level}/{inspection.verdict.outcome}: {_codes(wrong)}"


def blamed_for_a_break(delivery: RandomDelivery, _: Inspection) -> Iterator[str]:
    """A loss or a clean response in a right stream that broke off, whose tokens are known from elsewhere."""
    if not (delivery.harmless and delivery.streamed and len(delivery.choices) == 1) or delivery.rejected:
        return
    bare = without("ids", delivery.capture, Random(delivery.seed))  # noqa: S311
    for size in range(len(bare.events)):
        cut = inspector.inspect(replace(bare, events=bare.events[:size]), truth=delivery.choices[0].ids)
        if cut.reading.stream.terminal_event is not None or cut.reading.choice.finish_reason is not None:
            return
        lost = [finding for finding in cut.findings if KINDS[finding.kind].side is FindingSide.TEXT]
        if lost or cut.verdict.level is Level.CLEAN or cut.verdict.blame:
            yield f"after {size} events {cut.verdict.level}: {_codes(lost)}"


def moved_by_source(delivery: RandomDelivery, inspection: Inspection) -> Iterator[str]:
    """Another verdict where the same IDs are known from elsewhere, not from the stream."""
    if delivery.evidence.ids != "all" or len(delivery.choices) != 1 or not delivery.all_events_sent:
        return
    if inspection.transmission.ids_missing:
        return
    bare = without("ids", delivery.capture, Random(delivery.seed))  # noqa: S311
    given = inspector.inspect(bare, truth=delivery.choices[0].ids)
    said, says = ((judged.verdict.level, judged.verdict.blame) for judged in (inspection, given))
    if said != says:
        yield f"{said} became {says}"


def judged_by_other_ids(delivery: RandomDelivery, inspection: Inspection) -> Iterator[str]:
    """Anything said from given IDs of which the server counted more or fewer."""
    [first, *more] = delivery.choices
    if more or not (delivery.evidence.usage and delivery.evidence.finish and delivery.all_events_sent):
        return
    other = inspector.inspect(delivery.capture, truth=[*first.ids, first.ids[-1]])
    if inspection.reading.stream.counted is not None and (
        other.findings or other.verdict.level is not Level.UNKNOWN
    ):
        yield f"{other.verdict.level}: {other.verdict.sentence}"


def misread(delivery: RandomDelivery, inspection: Inspection) -> Iterator[str]:
    """Another text in a field of a stream than was sent there."""
    if not delivery.streamed or not delivery.all_events_sent:
        return
    for truth, choice in zip(delivery.choices, inspection.reading.choices, strict=True):
        read = _numbered_as_sent(choice.delivered().by_field())
        sent = _numbered_as_sent(truth.delivered)
        if read != sent:
            yield f"{sent} was read as {read}"


def _numbered_as_sent(texts: Mapping[str, str]) -> dict[str, str]:
    """The texts that are not empty; calls count from 0 as they come, also where one of them was lost."""
    numbers = sorted(
        {index for name, text in texts.items() if text and (index := tool_index(name)) is not None}
    )
    places = {number: place for place, number in enumerate(numbers)}
    return {
        name
        if (index := tool_index(name)) is None
        else name.replace(f"[{index}]", f"[{places[index]}]"): text
        for name, text in texts.items()
        if text
    }


def _is_unheard(delivery: RandomDelivery) -> bool:
    """Whether text behind a rejected token was not delivered; plain completions deliver all."""
    parsed = delivery.capture.header.endpoint is not Endpoint.COMPLETIONS
    return parsed and any(choice.unheard for choice in delivery.choices)


def unequal_clean(delivery: RandomDelivery, inspection: Inspection) -> Iterator[str]:
    """Clean although a field has other text than was generated for it, or a rejected text is gone."""
    if inspection.verdict.level is not Level.CLEAN or (delivery.in_final and delivery.same_count):
        return  # docs/verdicts.md: texts of one count look the same
    if not delivery.delivers_all:
        yield "clean, but the texts differ"
    elif delivery.all_events_sent and _is_unheard(delivery):
        yield "clean, but text behind a rejected token was not delivered"


def missed_faults(delivery: RandomDelivery, inspection: Inspection) -> Iterator[str]:
    """A fault that the token IDs of the capture prove, and no error says so."""
    if delivery.fault not in FAULTS or not delivery.covered or inspection.verdict.level is Level.CLEAN:
        return
    if delivery.capture.header.endpoint is Endpoint.RESPONSES or delivery.evidence.ids == "logprobs":
        return
    if not delivery.evidence.usage and any(
        finding.code is Code.TEXT_WITHOUT_IDS for finding in inspection.findings
    ):
        return  # without a count its IDs may be missing, and the finding says both
    if not any(
        KINDS[finding.kind].side is FindingSide.TEXT or finding.code is Code.ARGUMENTS_BROKEN
        for finding in errors(inspection)
    ):
        codes = ", ".join(finding.code.value for finding in inspection.findings)
        yield f"{inspection.verdict.level}/{inspection.verdict.outcome}: {codes}"


def hollow_proofs(delivery: RandomDelivery, inspection: Inspection) -> Iterator[str]:
    """Complete although the capture does not show it, or it is not."""
    if inspection.verdict.outcome != "complete" or not _shows_its_gaps(delivery):
        return
    if delivery.in_final and delivery.same_count:
        return
    if delivery.fault == "hide_reasoning" and delivery.evidence.ids == "all":
        return  # all that the request wants may be covered
    if not delivery.all_events_sent:
        yield "complete, but an event is missing"
    elif not delivery.covered:
        yield f"complete, but the evidence covers less ({delivery.evidence.ids})"
    elif not delivery.delivers_all:
        yield "complete, but the texts differ"
    elif _is_unheard(delivery):
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


def without(removal: str, capture: Capture, random: Random) -> Capture:
    """A capture with less evidence; delivered text stays."""

    def change(payload: dict[str, Any]) -> bool:
        for choice in _choices(payload):
            match removal:
                case "ids":
                    choice.pop("token_ids", None)
                case "ids of some events" if random.random() < 0.4:
                    choice.pop("token_ids", None)
                case "some ids" if choice.get("token_ids"):
                    choice["token_ids"] = [
                        token_id for token_id in choice["token_ids"] if random.random() < 0.7
                    ]
                case "logprobs":
                    choice["logprobs"] = None
                case "finish":
                    choice["finish_reason"] = None
        if removal == "usage":
            if payload.pop("usage", None) is not None and payload.get("choices") == []:
                return False
            if isinstance(response := payload.get("response"), dict):
                response["usage"] = None
        return not (
            removal == "final" and str(payload.get("type")) in {"response.completed", "response.incomplete"}
        )

    return _mapped(capture, change)


_ENDINGS: Final = frozenset({"finish", "final"})
_REMOVALS: Final = ("ids", "ids of some events", "some ids", "logprobs", "usage", "finish", "final")


def _reduced(delivery: RandomDelivery) -> Iterator[tuple[str, Inspection]]:
    """The capture with less evidence, in every way that applies to it."""
    random = Random(delivery.seed)  # noqa: S311
    for removal in _REMOVALS:
        if removal == "usage" and delivery.fault in {"lose_event", "lose_end"}:
            continue  # without a count nothing tells that an event is missing
        if removal == "some ids" and not delivery.evidence.usage:
            continue  # nor that IDs of an event are, which has others
        reduced = without(removal, delivery.capture, random)
        if reduced.events != delivery.capture.events:
            yield removal, inspector.inspect(reduced)


def more_blame(
    delivery: RandomDelivery, inspection: Inspection, after: Inspection, removal: str
) -> Iterator[str]:
    """Errors or blame that appear once evidence is taken out; a missing end may be said."""
    if any(_written_so(delivery, finding) for finding in after.findings):
        return
    before = {(finding.code, finding.field) for finding in errors(inspection)}
    new = [finding for finding in errors(after) if (finding.code, finding.field) not in before]
    if removal in _ENDINGS:
        new = [finding for finding in new if KINDS[finding.kind].side in _OF_TEXT]
    if removal == "final" and before:
        return  # the same difference, against the texts of the items
    if new:
        yield f"without {removal}: {_codes(new)} ({after.verdict.sentence})"
    elif after.verdict.blame not in {"", inspection.verdict.blame}:
        yield f"without {removal}, another side: {inspection.verdict.blame!r} becomes {after.verdict.blame!r}"


def new_errors(made: RandomDelivery, seen: Inspection) -> Iterator[str]:
    """More blame with less evidence, whatever is taken out."""
    for what, after in _reduced(made):
        yield from more_blame(made, seen, after, what)


def new_causes(delivery: RandomDelivery, inspection: Inspection) -> Iterator[str]:
    """Known issues that are named only once evidence is taken out."""
    before = {issue for finding in inspection.findings for issue in finding.known_issues}
    for removal, after in _reduced(delivery):
        judged = zip(after.findings, after.causes, strict=True)
        named = {
            cause.id
            for finding, cause in judged
            if cause is not None and finding.severity is Severity.ERROR and not _written_so(delivery, finding)
        } - before
        if named and removal not in _ENDINGS:
            yield f"without {removal}: {', '.join(sorted(named))}"


# other cuts


def is_settled(delivery: RandomDelivery) -> bool:
    """Whether the capture's texts and tokens alone decide what is wrong with it, however it is cut.

    Without a count, text in an event of its own may be that of IDs which are missing. Of a text in another
    order either part may have moved, and the final object shows no tokens in whose place others are.
    """
    if delivery.fault.startswith("reorder"):
        return False
    if delivery.capture.header.endpoint is Endpoint.RESPONSES:
        return delivery.fault != "garble"
    return delivery.evidence.usage or delivery.evidence.ids == "none"


def _places(inspection: Inspection) -> list[tuple[Any, ...]]:
    return sorted(
        (
            finding.code.value,
            finding.choice,
            finding.field or "",
            -1 if finding.token_start is None else finding.token_start,
            -1 if finding.token_end is None else finding.token_end,
            finding.known_issues,
        )
        for finding in inspection.findings
    )


def moved(inspection: Inspection, recut: Inspection, *, causes: bool = True) -> Iterator[str]:
    """What two captures of the same tokens and texts are judged differently in.

    Without `causes` where the events differ: a fault of an engine's steps shows in them.
    """
    if (
        recut.verdict.level is not inspection.verdict.level
        or recut.verdict.outcome is not inspection.verdict.outcome
    ):
        states = [f"{judged.verdict.level}/{judged.verdict.outcome}" for judged in (inspection, recut)]
        yield " becomes ".join(states)
        return
    before, after = _places(inspection), _places(recut)
    cause, changed_cause = (
        None if judged.cause is None else judged.cause.id for judged in (inspection, recut)
    )
    if [row[0] for row in before] != [row[0] for row in after]:
        yield f"codes {[row[0] for row in before]} become {[row[0] for row in after]}"
    elif [row[:5] for row in before] != [row[:5] for row in after]:
        changed = [
            (row[:5], changed_row[:5])
            for row, changed_row in zip(before, after, strict=True)
            if row[:5] != changed_row[:5]
        ]
        yield f"spans {changed}"
    elif causes and (before != after or cause != changed_cause):
        yield f"causes {cause} become {changed_cause}"


# causes and interfaces


def refuted_causes(delivery: RandomDelivery, inspection: Inspection) -> Iterator[str]:
    """A cause that says nothing of a kind is delivered, where something of it is."""
    named = {cause.id for cause in inspection.causes if cause is not None}
    fields = {name for choice in delivery.choices for name in choice.delivered}
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


def contradictions(inspection: Inspection) -> Iterator[str]:
    """Where two interfaces say different things about one capture."""
    row = inspector.audit_dict(inspection)
    if (row["verdict"]["level"], row["verdict"]["outcome"]) != (
        inspection.verdict.level,
        inspection.verdict.outcome,
    ):
        yield "audit --json has another verdict"
    if [finding["code"] for finding in row["findings"]] != [
        finding.code.value for finding in inspection.findings
    ]:
        yield "audit --json has other findings"
    if summarise(inspection).outcome is not inspection.verdict.outcome:
        yield "the metrics have another outcome"
    if f": {inspection.verdict.level}</title>" not in inspector.html_report(inspection):
        yield "the HTML report has another level"
    if _scanned(inspection.capture) != (
        inspection.verdict.level,
        inspection.verdict.sentence,
        sorted(finding.code.value for finding in inspection.findings),
    ):
        yield "the rows of a scan say something else"
    for choice in inspection.reading.choices:
        fates = list(inspector.tokens(inspection, choice=choice.index))
        lost = {token.index for token in fates if token.fate == "lost"}
        wrong = {token.index for token in fates if token.fate == "misrouted"}
        own = [finding for finding in inspection.findings if finding.choice == choice.index]
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
        if lost and inspection.verdict.level is Level.CLEAN:
            yield "clean, and a token has the fate lost"
        payload = strip(inspection, key="key", choice=choice)
        drawn = {
            index
            for start, end, fate, *_ in payload["pipelines"][0]["fates"]
            if fate == "lost"
            for index in range(start, end)
        }
        if fates and drawn != lost:
            yield "the strip draws other tokens as lost"
