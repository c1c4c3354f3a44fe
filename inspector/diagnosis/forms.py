"""Whether an issue's token forms and finding forms hold for a reading. Decides yes or no, ranks nothing."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from inspector.audit import KINDS, Finding, Side
from inspector.audit.kinds import Kind
from inspector.diagnosis.evidence import Evidence, ended_of
from inspector.diagnosis.issue import STATES, Asked, Element, FindingForm, Issue, TokenForm
from inspector.formats import clip
from inspector.harmony.text import text_of
from inspector.harmony.vocab import is_marker

__all__ = ["Place", "finding_holds", "request_holds", "token_places", "told_words"]

_REFUSALS: Final = frozenset(kind for kind, info in KINDS.items() if info.side is Side.MODEL)


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
    """Where a message form of the issue holds among the messages of the final object; empty for nowhere."""
    if evidence.ids:
        return ""
    for form in issue.tokens:
        if not form.message or (form.alone and len(evidence.told_messages) != 1):
            continue
        for one in evidence.told_at(finding):
            called = finding.kind is Kind.NO_ANSWER and one["recipient"]
            if (called or _misread(one)) and _has_parts(form.message, one):
                return f"the final object has {_message_words(one)}"
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
    if any(wanted is not None and not wanted.search(text or "") for wanted, text in texts):
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


def _has_parts(wanted: Mapping[str, re.Pattern[str]], parts: Mapping[str, str]) -> bool:
    return all(expression.search(parts[part]) for part, expression in wanted.items())


def _places(form: TokenForm, evidence: Evidence) -> Iterator[Place]:
    if form.open_at_end and evidence.states[-1] not in STATES[form.open_at_end]:
        return
    if form.header is not None:
        found = list(_headers(form, form.header, evidence))
    elif form.message:
        found = list(_messages(form, evidence))
    elif form.sequence:
        found = list(_sequences(form, evidence))
    else:
        end = len(evidence.ids)
        found = [Place(end - 1, end, f"the stream ends inside a {form.open_at_end}")]
    yield from found


def _headers(form: TokenForm, wanted: re.Pattern[str], evidence: Evidence) -> Iterator[Place]:
    for start, end, text, refused in evidence.headers:
        if form.first and start:
            return
        if (form.refused is None or form.refused is refused) and wanted.search(text):
            shown = clip(text, 80)
            yield Place(start, end, f"the header “{shown}” (tokens {start} to {end - 1})")


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


def _sequences(form: TokenForm, evidence: Evidence) -> Iterator[Place]:
    ids, length = evidence.ids, len(form.sequence)
    for start in _starts(form, evidence):
        last = start + length - 1
        if start < 0 or last >= len(ids) or ids[last] in form.besides:
            continue
        if form.state and evidence.states[last] not in STATES[form.state]:
            continue
        if all(_fits(one, ids[start + place]) for place, one in enumerate(form.sequence)):
            yield Place(start, last + 1, _sequence_words(evidence, start, last))


def _starts(form: TokenForm, evidence: Evidence) -> Iterable[int]:
    """Where the sequence may begin: everywhere, or where its rarest given id stands."""
    if form.first:
        return (0,)
    if form.last:
        return (len(evidence.ids) - len(form.sequence),)
    given = [
        [at - place for token_id in one.ids for at in evidence.places_of.get(token_id, ())]
        for place, one in enumerate(form.sequence)
        if not one.any_text and not one.anything
    ]
    if not given:
        return range(len(evidence.ids))
    fewest: list[int] = min(given, key=len)
    return sorted(fewest)


def _fits(element: Element, token_id: int) -> bool:
    return token_id in element.ids or element.anything or (element.any_text and not is_marker(token_id))


def _sequence_words(evidence: Evidence, start: int, last: int) -> str:
    token = f"token {last} ({_shown(evidence.ids[last])})"
    where = f"in the state “{evidence.states[last]}”"
    if start == last:
        return f"{token} {where}"
    return f"{token} after {' '.join(_shown(one) for one in evidence.ids[start:last])}, {where}"


def _shown(token_id: int) -> str:
    return f"{token_id} {text_of([token_id])!r}"
