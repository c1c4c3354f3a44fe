"""What the client got, in a headline, and what repairs it.

The headline is made from the codes of findings and the delivered texts, never from sentences. What the server
or the model did, and what that was checked against, is the verdict's to say.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, assert_never
from urllib.parse import urlencode

from inspector.analysis.audit import Finding, Severity
from inspector.analysis.audit.facts import HarmonyText
from inspector.analysis.audit.fields import FieldState, FieldTexts
from inspector.analysis.audit.kinds import TRANSCRIPTS, Code, Kind
from inspector.analysis.audit.verdict import Level
from inspector.analysis.reading import ChoiceReading
from inspector.capture.deltas import CONTENT, REASONING, TEXT, tool_index
from inspector.capture.formats import clip, count, listed
from inspector.inspection.inspection import Examined
from inspector.issues import Advice, Issue, Situation
from inspector.issues.catalogue.commands import explained
from inspector.issues.catalogue.issue import Step
from inspector.issues.catalogue.steps import measured

NOTHING: Final = "Your client got no answer, and no error."
"""The headline of the worst failure there is, whoever's fault it is."""
_NAME_SHOWN: Final = 60
_GITHUB: Final = re.compile(r"https://github\.com/[\w.-]+/([\w.-]+)/(?:issues|pull)/(\d+)")
_NOUNS: Final = {REASONING: "reasoning", CONTENT: "answer", TEXT: "text"}
_ERRORS: Final = frozenset({Code.SERVER_REJECTED_TOKEN, Code.SERVER_REJECTED_HEADER, Code.SERVER_ERROR})
_LOST_CALLS: Final = frozenset({Code.CALL_LOST, Code.CALL_WITHOUT_EVENTS, Code.CALL_AS_TEXT})
_CUTS: Final = frozenset({Code.CUT, Code.CUT_AFTER_ERROR})
_ALTERED: Final = frozenset({Kind.GARBLED, Kind.REORDERED, Kind.DUPLICATED, Kind.ADDED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """A part of what to do."""

    text: str
    url: str | None = None
    """Where it leads."""
    command: bool = False
    """Whether the text is a command: one whose result tells two causes apart."""
    meaning: str = ""
    """What the result of a command means."""
    folded: bool = False
    """Whether a page folds it: why a release, and steps beyond the first and what to do until then."""

    @property
    def words(self) -> str:
        """The part in a line of text."""
        if not self.command:
            return self.text
        return f"To tell them apart: `{self.text}`{f' ({self.meaning})' if self.meaning else ''}"


def headline(examined: Examined, choice: ChoiceReading, texts: Sequence[FieldTexts]) -> str | None:
    """What the client got of a choice, by its `texts`; None where only the verdict's own sentence says it."""
    if examined.verdict.level is Level.UNKNOWN or not examined.reading.spec.delivers:
        return None
    fields = {row.field: row for row in texts}
    findings = [finding for finding in examined.findings if finding.choice == choice.index]
    if examined.verdict.level is Level.CLEAN:
        return None if examined.reading.stopped else _everything(fields)
    return next(
        (sentence for rule in _HEADLINES if (sentence := rule(choice, fields, findings)) is not None),
        None,
    )


_Fields = dict[str, FieldTexts]
_Headline = Callable[[ChoiceReading, _Fields, Sequence[Finding]], str | None]


def _everything(fields: _Fields) -> str | None:
    parts = [
        noun if field == REASONING else f"the {noun}"
        for field, noun in _NOUNS.items()
        if _delivered(fields, field)
    ]
    calls = sum(field.endswith(".name") and tool_index(field) is not None for field in fields)
    if calls:
        parts.append(count(calls, "tool call"))
    return f"Your client got everything: {listed(parts)}." if parts else None


def _broken_call(choice: ChoiceReading, fields: _Fields, findings: Sequence[Finding]) -> str | None:
    broken = next((finding for finding in findings if finding.kind is Kind.INVALID_TOOL_ARGUMENTS), None)
    if broken is None:
        return None
    return (
        f"Your client got a broken tool call: the arguments of {_call(choice, fields, broken.field)} are not "
        "valid JSON."
    )


def _harmony(_: ChoiceReading, __: _Fields, findings: Sequence[Finding]) -> str | None:
    """Harmony in delivered text, whole messages first."""
    in_text = [(finding, finding.facts) for finding in findings if isinstance(finding.facts, HarmonyText)]
    in_text.sort(key=lambda pair: pair[1].code not in TRANSCRIPTS)
    if not in_text:
        return None
    finding, facts = in_text[0]
    text = clip((finding.delivered or "")[facts.at :], _NAME_SHOWN)
    where = _NOUNS.get(finding.field or "", "response")
    match facts.code:
        case Code.TRANSCRIPT_UNPARSED | Code.TRANSCRIPT_STRIPPED:
            what = "instead of a tool call" if facts.calls else f"in the {where}"
            return f"Your client got raw Harmony {what}."
        case Code.TOKEN_IN_TEXT:
            return f"Your client got a piece of Harmony in the {where}: {text}"
        case Code.TOKEN_IN_NAME | Code.HEADER_WORD_IN_NAME:
            name = clip(finding.delivered or "", _NAME_SHOWN)
            return f"Your client got a tool call with a broken name: {name}"
        case _:
            assert_never(facts.code)


def _lost_call(choice: ChoiceReading, fields: _Fields, findings: Sequence[Finding]) -> str | None:
    lost = [finding for finding in findings if finding.code in _LOST_CALLS]
    if not lost:
        return None
    if len(lost) > 1:
        return f"Your client did not get {count(len(lost), 'tool call')}."
    return f"Your client did not get the call of {_call(choice, fields, lost[0].field)}."


def _error(_: ChoiceReading, fields: _Fields, findings: Sequence[Finding]) -> str | None:
    codes = {finding.code for finding in findings}
    if codes & _ERRORS:
        got = "an error"
    elif codes & _CUTS:
        got = "a stream that broke off"
    else:
        return None
    if _delivered(fields, CONTENT) or _delivered(fields, TEXT):
        return f"Your client got {got} after the beginning of the answer."
    if any(field.startswith("tool_calls[") and row.delivered for field, row in fields.items()):
        return f"Your client got {got} after the beginning of a tool call."
    return f"Your client got {got} and no answer."


def _swallowed(_: ChoiceReading, fields: _Fields, findings: Sequence[Finding]) -> str | None:
    if not any(finding.code is Code.REJECTED_SILENTLY for finding in findings):
        return None
    if any(_delivered(fields, field) for field in fields if field != REASONING):
        return "Your client got only a part of the response, and no error."
    return NOTHING


def _unaccounted(_: ChoiceReading, fields: _Fields, findings: Sequence[Finding]) -> str | None:
    """No answer without a loss that is proven, or more tokens than the texts account for."""
    answered = any(_delivered(fields, field) for field in fields if field != REASONING)
    unexplained = any(finding.code is Code.COUNT_UNEXPLAINED for finding in findings)
    if not answered and (unexplained or any(finding.kind is Kind.NO_ANSWER for finding in findings)):
        return NOTHING
    return "Your client may have got only a part of the response." if unexplained else None


def _differing(choice: ChoiceReading, fields: _Fields, findings: Sequence[Finding]) -> str | None:
    """The first field that differs, the answer before calls and reasoning."""
    rows = [row for row in fields.values() if row.state is FieldState.DIFFERENT]
    rows.sort(key=lambda row: (row.field != CONTENT, row.field == REASONING))
    for row in rows:
        noun = _NOUNS.get(row.field)
        if noun is None:
            if not row.field.endswith(".arguments"):
                continue
            noun = f"arguments of {_call(choice, fields, row.field)}"
        own = {finding.kind for finding in findings if finding.field == row.field}
        if not row.delivered:
            where = "it arrived in another field" if Kind.MISROUTED in own else "all of it was lost"
            return f"Your client got no {noun}: {where}."
        strays = {finding.field for finding in findings if finding.delivered_in == row.field}
        if strays - {row.field, None}:
            source = "reasoning" if REASONING in strays else "other text"
            return f"Your client got {source} in the {noun}."
        article = "an " if row.field == CONTENT else ""
        if own & _ALTERED:
            return f"Your client got {article}altered {noun}."
        if row.generated is not None and len(row.generated) > len(row.delivered):
            return f"Your client got {article}incomplete {noun}."
    return None


_HEADLINES: Final[Sequence[_Headline]] = (
    _harmony,
    _lost_call,
    _broken_call,
    _error,
    _swallowed,
    _differing,
    _unaccounted,
)
"""Worst first."""


def _delivered(fields: _Fields, field: str) -> bool:
    return field in fields and bool(fields[field].delivered)


def _call(choice: ChoiceReading, fields: _Fields, field: str | None) -> str:
    """The name of the call that a field belongs to."""
    number = None if field is None else tool_index(field)
    calls = choice.expected.calls if choice.has_ids else ()
    if number is None:
        return "a tool"
    if number < len(calls):
        return clip(calls[number].name, _NAME_SHOWN)
    row = fields.get(f"tool_calls[{number}].name")
    return (
        clip((row.generated or row.delivered or "") if row else "", _NAME_SHOWN) or f"tool call {number + 1}"
    )


def fix_words(parts: Iterable[Fix]) -> str:
    """The parts of a fix as one line of text."""
    line = ""
    for part in parts:
        between = (
            ""
            if not line or part.text.startswith(",")
            else " · "
            if (part.url or "").startswith("https://")
            else " "
        )
        line += f"{between}{part.words}"
    return line


def fixes(examined: Examined) -> list[Fix]:
    """What to do about the first cause, what tells it from others, and the first step for another error.

    Empty where no cause is known.
    """
    if not examined.advice:
        return []
    parts = advice_fixes(examined.advice[0], examined.situation)
    parts += [
        Fix(text=f"· Also: {advice.steps[0].text}") for advice in also_caused(examined)[:1] if advice.steps
    ]
    for alternative in examined.cause.alternatives if examined.cause is not None else ():
        command, meaning = explained(alternative.experiment)
        parts.append(Fix(text=f"· Or another cause: {alternative.sentence}"))
        parts.append(Fix(text=command, command=True, meaning=meaning))
    return parts


def also_caused(examined: Examined) -> list[Advice]:
    """The causes of errors that the first cause does not explain."""
    errors = {
        cause.id
        for finding, cause in zip(examined.findings, examined.causes, strict=False)
        if cause is not None and finding.severity is Severity.ERROR
    }
    return [advice for advice in examined.advice[1:] if advice.issue.id in errors]


def advice_fixes(advice: Advice, situation: Situation) -> list[Fix]:
    """What to do about one cause, with links."""
    parts: list[Fix] = []
    for number, step in enumerate(advice.steps):
        step_parts = _step(step, advice.issue, situation, first=not number)
        parts += (
            (replace(part, folded=True) for part in step_parts) if number and not step.until else step_parts
        )
    link = next(filter(None, map(_GITHUB.fullmatch, advice.links)), None)
    if link is not None:
        parts.append(Fix(text=f"{link[1]}#{link[2]}", url=link[0]))
    return parts


def _step(step: Step, issue: Issue, situation: Situation, *, first: bool) -> Iterator[Fix]:
    """A step; the release of a measured upgrade leads to the Matrix."""
    text = step.text if first else f"· {step.text}"
    release = f"{situation.engine.labelled(step.upgrade)} or newer"
    before, found, after = text.partition(release) if step.upgrade else (text, "", "")
    if not found:
        yield Fix(text=text)
        return
    row = matrix_row(step, issue, situation)
    yield Fix(text=before.rstrip())
    yield Fix(text=release, url=f"matrix?{urlencode(row)}" if row else None)
    if after != ".":
        yield Fix(text=after.lstrip(), folded=True)


def matrix_row(step: Step, issue: Issue, situation: Situation) -> dict[str, str]:
    """The query of the Matrix page for the release of a step; empty where the matrix has not measured it."""
    measurement = measured(issue.measured_as or issue.id, situation)
    if measurement is None or not step.upgrade:
        return {}
    endpoint = {"endpoint": situation.endpoint.value} if situation.endpoint else {}
    return {**endpoint, "class": measurement.script_class, "release": step.upgrade}
