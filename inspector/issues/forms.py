"""Whether an issue's token forms and finding forms hold for a reading. Decides yes or no, ranks nothing."""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from inspector.analysis.audit import Finding, FindingSide, kinds_of
from inspector.analysis.audit.kinds import Kind
from inspector.capture.formats import clip
from inspector.issues.evidence import Evidence, ended_of
from inspector.issues.issue import Asked, FindingForm, Issue, TokenForm
from inspector.issues.schema import Expression, MessagePart
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.violations import Violated

_REFUSALS: Final = kinds_of(FindingSide.MODEL)


_HEADER_SHOWN: Final = 80


class Place(NamedTuple):
    """Where a token form holds; half-open token indexes."""

    start: int
    end: int
    words: str
    """The place as a sentence says it."""


def token_places(issue: Issue, evidence: Evidence) -> list[Place]:
    """Where the issue's token forms hold, in token order; empty when there are no ids."""
    if not evidence.ids:
        return []
    return sorted({place for form in issue.tokens for place in _places(form, evidence)})


def told_words(issue: Issue, finding: Finding, evidence: Evidence) -> str:
    """Where a form of the issue holds among the messages of the final object; empty for nowhere."""
    if evidence.ids or not issue.tokens:
        return ""
    for told in evidence.told_at(finding):
        if not (_misread(told) or (finding.kind is Kind.NO_ANSWER and told["recipient"])):
            continue
        violated = evidence.told_violation(told)
        for form in issue.tokens:
            if form.alone and len(evidence.told_messages) != 1:
                continue
            by_message = bool(form.message) and _has_parts(form.message, told)
            if by_message or (violated is not None and violated in form.violations):
                return f"the final object has {_message_words(told)}"
    return ""


def _misread(told: Mapping[str, str]) -> bool:
    """True for a header that no server makes of well-formed tokens."""
    return "<|" in told["recipient"] or (told["role"] == "tool" and told["name"].startswith("assistant"))


def request_holds(issue: Issue, request: Mapping[str, object]) -> bool | None:
    """Whether the request is as the issue needs it; None when the issue asks nothing or nobody kept it."""
    if not issue.request or not request:
        return None
    return all(_asked(request.get(key)) is wanted for key, wanted in issue.request.items())


def _asked(value: object) -> Asked:
    if value is False:
        return Asked.FALSE
    return Asked.SET if value else Asked.ABSENT


def finding_holds(form: FindingForm, finding: Finding, evidence: Evidence) -> bool:
    """True when one finding has the form; what is not known speaks against nothing."""
    if form.kinds and finding.kind not in form.kinds:
        return False
    if form.codes and finding.code not in form.codes:
        return False
    if form.severity is not None and finding.severity is not form.severity:
        return False
    texts = (
        (form.field, finding.field),
        (form.delivered_in, finding.delivered_in),
        (form.generated, finding.generated),
        (form.delivered, finding.delivered),
    )
    if any(wanted is not None and not wanted.expression.search(text or "") for wanted, text in texts):
        return False
    if form.told is not None and form.told is not evidence.told:
        return False
    if form.streamed is not None and form.streamed is not evidence.streamed:
        return False
    if form.cut is not None and form.cut is not evidence.cut:
        return False
    if form.ended and ended_of(evidence.choice) not in form.ended:
        return False
    if form.crowded is not None and evidence.crowded(finding) is (not form.crowded):
        return False
    if form.boundary is not None and evidence.boundary(finding) is (not form.boundary):
        return False
    if form.inner is not None and evidence.inner is not form.inner:
        return False
    if form.whole_step is not None and evidence.whole_step is not form.whole_step:
        return False
    if form.second_copy is not None and evidence.second_copy(finding) is not form.second_copy:
        return False
    return _message_holds(form, finding, evidence)


def _message_holds(form: FindingForm, finding: Finding, evidence: Evidence) -> bool:
    if not form.message and form.whole is None and form.open is None:
        return True
    message = evidence.message_at(finding.token_start)
    if message is None:
        if form.whole is not None or form.open is not None:
            return False
        known = [*evidence.told_at(finding), *evidence.repeated_at(finding)]
        return any(_has_parts(form.message, one) for one in known)
    if form.message and not _has_parts(form.message, evidence.parts(message)):
        return False
    if form.open is not None and message.complete is form.open:
        return False
    if form.whole is None:
        return True
    start, end = finding.token_start or 0, finding.token_end or 0
    return (start <= message.body and end >= message.body_end) is form.whole


def _has_parts(wanted: Mapping[MessagePart, Expression], parts: Mapping[str, str]) -> bool:
    return all(wanting.expression.search(parts[part]) for part, wanting in wanted.items())


def _places(form: TokenForm, evidence: Evidence) -> Iterator[Place]:
    if form.message:
        yield from _messages(form, evidence)
    elif not (form.alone and any(message.in_body for message in evidence.choice.transcript.messages)):
        for start, end, violated in evidence.violations:
            if violated.violation in form.violations:
                yield Place(start, end, _violation_words(evidence, start, end, violated))


def _violation_words(evidence: Evidence, start: int, end: int, violated: Violated) -> str:
    """Where it is, what came there, and what may stand there."""
    if violated.at is not None:
        token_id = evidence.ids[violated.at]
        came = f"token {violated.at} ({_shown(token_id)}) comes {violated.place}"
        return f"{came}, where only {violated.expected} may follow"
    text = clip(text_of(evidence.ids[start:end]), _HEADER_SHOWN)
    return f"the header “{text}” (tokens {start} to {end - 1}) has a violation: {violated.violation}"


def _messages(form: TokenForm, evidence: Evidence) -> Iterator[Place]:
    messages = [one for one in evidence.choice.transcript.messages if one.in_body]
    if form.alone and len(messages) != 1:
        return
    for message in messages:
        parts = evidence.parts(message)
        if _has_parts(form.message, parts):
            words = f"{_message_words(parts)} (tokens {message.start} to {message.end - 1})"
            yield Place(message.start, message.end, words)


def _message_words(parts: Mapping[str, str]) -> str:
    said = [f"role {parts['role']}"] if parts["role"] != "assistant" else []
    said.append(f"channel {parts['channel'] or 'none'}")
    if parts["recipient"]:
        said.append(f"recipient {parts['recipient']}")
    return f"a message with {' and '.join(said)}"


def _shown(token_id: int) -> str:
    return f"{token_id} {text_of([token_id])!r}"
