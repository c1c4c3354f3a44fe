"""Whether an issue's token forms and finding forms hold for a reading. Decides yes or no, ranks nothing."""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from inspector.analysis.audit import Finding, FindingSide, kinds_of
from inspector.analysis.audit.kinds import Kind
from inspector.capture.formats import clip
from inspector.issues.catalogue.evidence import FormFacts
from inspector.issues.catalogue.issue import FindingForm, Issue, RequestSetting, TokenForm
from inspector.issues.catalogue.schema import Expression, MessagePart
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.violations import Violated

_REJECTIONS: Final = kinds_of(FindingSide.MODEL)


_HEADER_SHOWN: Final = 80


class FormMatch(NamedTuple):
    """Where a token form holds; half-open token indexes."""

    start: int
    end: int
    words: str
    """The place, for a sentence."""


def token_places(issue: Issue, evidence: FormFacts) -> list[FormMatch]:
    """Where the issue's token forms hold, in token order; empty when there are no ids."""
    if not evidence.ids:
        return []
    return sorted({place for form in issue.tokens for place in _places(form, evidence)})


def reported_words(issue: Issue, finding: Finding, evidence: FormFacts) -> str:
    """Where a form of the issue holds among the messages of the final object; empty for nowhere."""
    if evidence.ids or not issue.tokens:
        return ""
    for message in evidence.reported_at(finding):
        if not (_misread(message) or (finding.kind is Kind.NO_ANSWER and message["recipient"])):
            continue
        violated = evidence.reported_violation(message)
        for form in issue.tokens:
            if form.alone and len(evidence.reported_messages) != 1:
                continue
            by_message = bool(form.message) and has_parts(form.message, message)
            if by_message or (violated is not None and violated in form.violations):
                return f"the final object has {_message_words(message)}"
    return ""


def _misread(message: Mapping[str, str]) -> bool:
    """True for a header that no server makes of well-formed tokens."""
    return "<|" in message["recipient"] or (
        message["role"] == "tool" and message["name"].startswith("assistant")
    )


def request_holds(issue: Issue, request: Mapping[str, object]) -> bool | None:
    """Whether the request is as the issue needs it; None if it needs nothing or none was kept."""
    if not issue.request or not request:
        return None
    return all(_setting(request.get(key)) is setting for key, setting in issue.request.items())


def _setting(value: object) -> RequestSetting:
    if value is False:
        return RequestSetting.FALSE
    return RequestSetting.SET if value else RequestSetting.ABSENT


def finding_holds(form: FindingForm, finding: Finding, evidence: FormFacts) -> bool:
    """True when one finding has the form; a part that cannot be determined does not rule it out."""
    if form.kinds and finding.kind not in form.kinds:
        return False
    if form.codes and finding.code not in form.codes:
        return False
    if form.engines and evidence.reading.engine.name not in form.engines:
        return False
    texts = (
        (form.field, finding.field),
        (form.delivered_in, finding.delivered_in),
        (form.generated, finding.generated),
        (form.delivered, finding.delivered),
    )
    if any(pattern is not None and not pattern.expression.search(text or "") for pattern, text in texts):
        return False
    if form.error_reported is not None and form.error_reported is not evidence.error_reported:
        return False
    if form.streamed is not None and form.streamed is not evidence.streamed:
        return False
    if not all(condition.holds(finding, evidence) for condition in form.when):
        return False
    return _message_holds(form, finding, evidence)


def _message_holds(form: FindingForm, finding: Finding, evidence: FormFacts) -> bool:
    if not form.message and form.whole is None:
        return True
    message = evidence.message_at(finding.token_start)
    if message is None:
        if form.whole is not None:
            return False
        messages = [*evidence.reported_at(finding), *evidence.repeated_at(finding)]
        return any(has_parts(form.message, parts) for parts in messages)
    if form.message and not has_parts(form.message, evidence.parts(message)):
        return False
    if form.whole is None:
        return True
    start, end = finding.token_start or 0, finding.token_end or 0
    return (start <= message.body and end >= message.body_end) is form.whole


def has_parts(expressions: Mapping[MessagePart, Expression], parts: Mapping[str, str]) -> bool:
    """Whether every expression is found in its part of a message."""
    return all(pattern.expression.search(parts[part]) for part, pattern in expressions.items())


def _places(form: TokenForm, evidence: FormFacts) -> Iterator[FormMatch]:
    if form.message:
        yield from _messages(form, evidence)
    elif not (form.alone and any(message.in_body for message in evidence.choice.transcript.messages)):
        for start, end, violated in evidence.violations:
            if violated.violation in form.violations:
                yield FormMatch(start, end, _violation_words(evidence, start, end, violated))


def _violation_words(evidence: FormFacts, start: int, end: int, violated: Violated) -> str:
    """The place, the token, and what is allowed there."""
    if violated.at is not None:
        token_id = evidence.ids[violated.at]
        came = f"token {violated.at} ({_shown(token_id)}) comes {violated.place}"
        return f"{came}, where only {violated.expected} may follow"
    text = clip(text_of(evidence.ids[start:end]), _HEADER_SHOWN)
    return f"the header “{text}” (tokens {start} to {end - 1}) has a violation: {violated.violation}"


def _messages(form: TokenForm, evidence: FormFacts) -> Iterator[FormMatch]:
    messages = [message for message in evidence.choice.transcript.messages if message.in_body]
    if form.alone and len(messages) != 1:
        return
    for message in messages:
        parts = evidence.parts(message)
        if has_parts(form.message, parts):
            words = f"{_message_words(parts)} (tokens {message.start} to {message.end - 1})"
            yield FormMatch(message.start, message.end, words)


def _message_words(parts: Mapping[str, str]) -> str:
    phrases = [f"role {parts['role']}"] if parts["role"] != "assistant" else []
    phrases.append(f"channel {parts['channel'] or 'none'}")
    if parts["recipient"]:
        phrases.append(f"recipient {parts['recipient']}")
    return f"a message with {' and '.join(phrases)}"


def _shown(token_id: int) -> str:
    return f"{token_id} {text_of([token_id])!r}"
