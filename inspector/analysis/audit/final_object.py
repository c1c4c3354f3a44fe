"""Findings without token ids: the server's own final texts against the deltas that it sent."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from inspector.analysis.alignment import embed_or_align
from inspector.analysis.alignment.calls import arrived_by_final, renumbered
from inspector.analysis.audit.calls import wrong_arguments, wrong_name
from inspector.analysis.audit.facts import CallWithoutEvents, MisnamedCall, MistakenCall, NoFacts
from inspector.analysis.audit.finding import Finding
from inspector.analysis.audit.kinds import Code, Kind, Severity
from inspector.analysis.audit.words import is_json
from inspector.analysis.reading import ChoiceReading, Reading
from inspector.capture.deltas import CONTENT, REASONING, Delta, tool_arguments, tool_index, tool_name

_SPECIAL = "<|"


def final_findings(reading: Reading, choice: ChoiceReading) -> Iterator[Finding]:
    """Differences of each field between the final texts and the deltas."""
    numbers = arrived_by_final(choice)
    sent = renumbered(choice, numbers)
    yield from _names(choice, sent)
    fields = [field for field in {**choice.finals, **sent} if not field.endswith(".name")]
    lost: list[Finding] = []
    extra: list[Finding] = []
    for field in fields:
        final = choice.finals.get(field)
        if final is None:
            if (
                reading.stream.final_event is not None and reading.stream.final_status != "failed"
            ):  # else nothing is there to hold this field against
                extra.append(_no_item(choice, field, sent[field]))
            continue
        findings = list(_field_findings(choice, field, final, sent.get(field, [])))
        done_text = reading.stream.choice(choice.index).item_finals.get(_as_streamed(field, numbers))
        if not findings and done_text is not None and done_text != final:
            extra.append(_done_finding(reading, choice, field, done_text))
        if reading.stream.final_event is None:  # more of the field may be of items that are not done
            findings = [finding for finding in findings if finding.kind is not Kind.DUPLICATED]
        for finding in findings:
            (extra if finding.kind is Kind.DUPLICATED else lost).append(finding)
    wrong = list(_wrong_calls(reading, choice, sent))
    explained = {finding.delivered_in for finding in wrong}
    yield from _pair([finding for finding in lost if finding.field not in explained], extra)
    yield from wrong
    for field, final in choice.finals.items():
        if not field.startswith("tool_calls[") or not field.endswith(".arguments"):
            continue
        delivered = "".join(delta.text for delta in sent.get(field, []))
        if not is_json(delivered):
            yield replace(wrong_arguments(choice, field, final, delivered), by_final=True)


def _as_streamed(field: str, numbers: Sequence[int | None]) -> str:
    """The field of a call under the number that it had in the stream; empty where it was not streamed."""
    number = tool_index(field)
    if number is None or number >= len(numbers):
        return field
    streamed = numbers[number]
    return "" if streamed is None else tool_arguments(streamed)


def _names(choice: ChoiceReading, sent: Mapping[str, Sequence[Delta]]) -> Iterator[Finding]:
    """Names of function calls that differ between the deltas and the final object."""
    for field, final in choice.finals.items():
        index = tool_index(field)
        if index is None or field != tool_name(index):
            continue
        delivered = "".join(delta.text for delta in sent.get(field, []))
        if delivered != final:
            arguments = tool_arguments(index)
            only_final = not delivered and not choice.finals.get(arguments) and arguments not in sent
            facts = (
                CallWithoutEvents(call=index, name=final)
                if only_final
                else MisnamedCall(
                    code=Code.CALL_RENAMED if delivered else Code.CALL_NAME_LOST, call=index, name=final
                )
            )
            yield replace(wrong_name(choice, index, final, delivered), facts=facts, by_final=True)


def _wrong_calls(
    reading: Reading, choice: ChoiceReading, sent: Mapping[str, Sequence[Delta]]
) -> Iterator[Finding]:
    """Items of the final object that are calls of something else than the model called.

    A name that contains a special token: the parser took framing for a name, as vLLM 0.13 to 0.23 does with
    an answer after `<|channel|>final <|constrain|>json<|message|>`. A function of the client as an `mcp_call`
    of the server `functions`: vLLM to 0.18 makes it of a call on the analysis channel.
    """
    event = reading.stream.final_event
    output = (reading.stream.final_object or {}).get("output")
    counts: defaultdict[str, int] = defaultdict(int)
    streamed = {"".join(delta.text for delta in deltas) for deltas in sent.values()}
    for item in output if isinstance(output, list) else ():
        kind = item.get("type") if isinstance(item, dict) else None
        if kind not in ("function_call", "mcp_call"):  # a tuple: what a server sends need not hash
            continue
        number, name, text = counts[kind], str(item.get("name")), str(item.get("arguments") or "")
        counts[kind] += 1
        field = tool_name(number) if kind == "function_call" else f"mcp_call[{number}].arguments"
        mcp = kind == "mcp_call" and item.get("server_label") == "functions" and text not in streamed
        if _SPECIAL not in name and not mcp:
            continue
        text_of_call = name if kind == "function_call" else text
        yield Finding(
            kind=Kind.MISROUTED,
            severity=Severity.ERROR,
            facts=MistakenCall(
                code=Code.FINAL_CALL_OF_SPECIAL_TOKEN if _SPECIAL in name else Code.FINAL_FUNCTION_AS_MCP,
                name=name,
                detail=text,
            ),
            by_final=True,
            field=None if _SPECIAL in name else tool_arguments(counts["function_call"]),
            event_start=event,
            event_end=None if event is None else event + 1,
            generated=text_of_call,
            delivered=text_of_call,
            delivered_in=field,
            choice=choice.index,
        )


def _field_findings(
    choice: ChoiceReading, field: str, final: str, deltas: Sequence[Delta]
) -> Iterator[Finding]:
    if "".join([delta.text for delta in deltas]) == final:
        return
    gaps, rest = embed_or_align(final, [delta.text for delta in deltas])
    for start, end, before, after in gaps:
        text = final[start:end]
        if end == len(final) and not text.strip("\ufffd"):
            continue  # a character that the end cut off does not count as lost
        around = [deltas[place].event for place in (before, after) if place is not None]
        # For items of server-side tools no deltas are promised.
        promised = field in {REASONING, CONTENT} or tool_index(field) is not None
        yield Finding(
            kind=Kind.DROPPED if promised else Kind.PROTOCOL,
            severity=Severity.ERROR if promised else Severity.WARNING,
            facts=NoFacts(code=Code.FINAL_TEXT_NOT_STREAMED),
            by_final=True,
            field=field,
            event_start=around[0] if around else None,
            event_end=around[-1] + 1 if around else None,
            generated=text,
            delivered="",
            choice=choice.index,
        )
    for first, last, text in _runs(rest):
        yield Finding(
            kind=Kind.DUPLICATED,
            severity=Severity.ERROR,
            facts=NoFacts(code=Code.FINAL_LACKS_TEXT),
            by_final=True,
            field=field,
            event_start=deltas[first].event,
            event_end=deltas[last].event + 1,
            delivered=text,
            choice=choice.index,
        )


def _runs(rest: Sequence[tuple[int, str]]) -> Iterator[tuple[int, int, str]]:
    """Neighbouring pieces as one: first and last number, joined text."""
    run: tuple[int, int, str] | None = None
    for number, text in rest:
        if run is not None and number - run[1] <= 1:
            run = (run[0], number, run[2] + text)
        else:
            if run is not None:
                yield run
            run = (number, number, text)
    if run is not None:
        yield run


def _no_item(choice: ChoiceReading, field: str, deltas: Sequence[Delta]) -> Finding:
    text = "".join(delta.text for delta in deltas)
    return Finding(
        kind=Kind.PROTOCOL,
        severity=Severity.WARNING,
        facts=NoFacts(code=Code.FINAL_LACKS_ITEM),
        by_final=True,
        field=field,
        event_start=deltas[0].event,
        event_end=deltas[-1].event + 1,
        delivered=text,
        choice=choice.index,
    )


def _done_finding(reading: Reading, choice: ChoiceReading, field: str, done: str) -> Finding:
    event = reading.stream.final_event
    return Finding(
        kind=Kind.PROTOCOL,
        severity=Severity.WARNING,
        facts=NoFacts(code=Code.FINAL_DONE_DIFFERS),
        by_final=True,
        field=field,
        event_start=event,
        event_end=None if event is None else event + 1,
        generated=choice.finals[field],
        delivered=done,
        choice=choice.index,
    )


def _without_space(text: str | None) -> str:
    """A text without the character that its end cuts off, which deltas leave out."""
    return (text or "").rstrip("\ufffd")


def _pair(lost: list[Finding], extra: list[Finding]) -> Iterator[Finding]:
    """Text lost in one field and surplus in another is misrouted: one finding, not two."""
    unpaired = list(lost)
    for finding in extra:
        alike = [
            loss for loss in unpaired if _without_space(loss.generated) == _without_space(finding.delivered)
        ]
        alike.sort(key=lambda loss: loss.field == finding.field)
        pair = alike[0] if alike else None
        if pair is None:
            yield finding
            continue
        unpaired.remove(pair)
        if finding.kind is Kind.PROTOCOL:
            # A server-side tool's item: no field is promised for its text, so none is wrong.
            yield finding
            continue
        if pair.field == finding.field:
            yield replace(
                finding,
                facts=NoFacts(code=Code.TEXT_REORDERED),
                kind=Kind.REORDERED,
                generated=pair.generated,
            )
            continue
        yield Finding(
            kind=Kind.MISROUTED,
            severity=Severity.ERROR,
            facts=NoFacts(code=Code.TEXT_IN_OTHER_FIELD),
            by_final=True,
            field=pair.field,
            event_start=finding.event_start,
            event_end=finding.event_end,
            generated=pair.generated,
            delivered=finding.delivered,
            delivered_in=finding.field,
            choice=pair.choice,
        )
    yield from unpaired
