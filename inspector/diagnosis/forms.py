"""Whether an issue's token forms and finding forms hold for a reading. Decides yes or no, ranks nothing."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from inspector.audit import KINDS, Finding, Side, rejection, server_errors
from inspector.audit.finding import Missing
from inspector.capture import EventKind
from inspector.diagnosis.issue import STATES, Asked, Element, FindingForm, Issue, TokenForm
from inspector.formats import clip
from inspector.harmony.states import State, after
from inspector.harmony.text import text_of
from inspector.harmony.transcript import Message
from inspector.harmony.vocab import Marker, is_marker
from inspector.reading import ChoiceReading, Reading

__all__ = ["Evidence", "Place", "finding_holds", "request_holds", "token_places"]


_REFUSALS: Final = frozenset(kind for kind, info in KINDS.items() if info.side is Side.MODEL)


class Place(NamedTuple):
    """Where a token form holds; half-open token indexes."""

    start: int
    end: int
    words: str
    """The place as a sentence says it."""


class Evidence:
    """A reading with what the forms ask of it, computed once."""

    def __init__(self, reading: Reading, choice: ChoiceReading | None = None) -> None:
        self.reading = reading
        self.choice = choice or reading.choice
        found = rejection(reading)
        self.rejection = found if found is not None and found.choice == self.choice.index else None
        """What the server's error says that its parser rejected, if it is of this choice."""
        self.ids: Sequence[int] = self.choice.tokens.ids if self.choice.has_ids else ()
        """The ids sent, and the rejected one where nothing but it can be missing."""
        if (
            self.rejected_at is not None
            and self.rejection is not None
            and self.rejection.token_id is not None
        ):
            self.ids = [*self.ids, self.rejection.token_id]
        self._parts: dict[int, dict[str, str]] = {}  # by first token of the message
        self._mixtures: dict[int, bool] = {}  # by first token of the event

    @cached_property
    def told(self) -> bool:
        """True when the server told the client of an error."""
        return bool(server_errors(self.reading))

    @cached_property
    def rejected_at(self) -> int | None:
        """Where the rejected token stands after the ids sent; None when others are missing before it."""
        stopped = self.rejection
        if stopped is None or not stopped.sent or stopped.token_id is None:
            return None
        # Words of a header may be missing before its end; between messages nothing but the token is rejected.
        next_one = stopped.missing is Missing.NONE or (
            stopped.missing is Missing.POSSIBLE and not stopped.error.reason.in_header
        )
        return stopped.sent if next_one else None

    def has_all(self, finding: Finding) -> bool:
        """True when the ids hold all that a finding is about."""
        return self.rejection is None or finding.kind not in _REFUSALS or self.rejected_at is not None

    @cached_property
    def streamed(self) -> bool:
        """True when the answer came as server-sent events."""
        return any(event.kind is EventKind.SSE for event in self.reading.events)

    @cached_property
    def cut(self) -> bool:
        """True when the connection broke off without an end."""
        reading = self.reading
        return reading.stream.terminal_event is None and reading.end is not None and reading.end.cut

    @cached_property
    def states(self) -> list[State]:
        """The state before each token, and the one after the last."""
        refused: set[int | None] = {refusal.at for refusal in self.choice.transcript.refusals}
        refused.add(self.rejected_at)
        # A completion that brings its own <|start|> begins between messages.
        state = State.BETWEEN if self.ids and self.ids[0] == Marker.START else State.ROLE
        found = [state]
        for place, token_id in enumerate(self.ids):
            state = State.REFUSED if place in refused else after(state, token_id)
            found.append(state)
        if self.rejection is not None and self.rejected_at is None:
            found[-1] = State.REFUSED
        return found

    @cached_property
    def places_of(self) -> dict[int, list[int]]:
        """Where each id stands."""
        found: dict[int, list[int]] = {}
        for place, token_id in enumerate(self.ids):
            found.setdefault(token_id, []).append(place)
        return found

    @cached_property
    def headers(self) -> list[tuple[int, int, str, bool]]:
        """Start, end, text and whether it was refused, of each header."""
        transcript = self.choice.transcript
        rejected = None if self.rejection is None else self.rejection.header
        spans = [
            (one.start, len(self.ids), True)
            if rejected is not None and one.start == rejected[0]
            else (one.start, one.body, False)
            for one in transcript.messages
        ]
        spans += [(one.start, one.at + 1, True) for one in transcript.refusals if one.in_header]
        return [(start, end, text_of(self.ids[start:end]), refused) for start, end, refused in sorted(spans)]

    def message_at(self, token: int | None) -> Message | None:
        """The message that a token belongs to."""
        if token is None:
            return None
        messages = self.choice.transcript.messages
        before = bisect_right(messages, token, key=lambda one: one.start) - 1
        return messages[before] if before >= 0 and token < messages[before].end else None

    def parts(self, message: Message) -> dict[str, str]:
        """Role, channel, recipient, content type and body of a message; what is absent is ''."""
        if message.start in self._parts:
            return self._parts[message.start]
        header = message.header
        self._parts[message.start] = {
            "role": header.role or "",
            "channel": header.channel or "",
            "recipient": header.recipient or "",
            "content_type": header.content_type or "",
            "body": text_of(self.ids[message.body : message.body_end]),
        }
        return self._parts[message.start]

    @cached_property
    def tokens_by_event(self) -> dict[int, list[int]]:
        """Tokens that came in each event."""
        found: dict[int, list[int]] = {}
        if self.ids:
            for place, event in enumerate(self.choice.tokens.events):
                if event >= 0:
                    found.setdefault(event, []).append(place)
        return found

    def crowded(self, finding: Finding) -> bool | None:
        """Whether an event at the finding brought several tokens; None when that is not known."""
        counts = [len(places) for places in self._events(finding)]
        return any(count > 1 for count in counts) if counts else None

    def boundary(self, finding: Finding) -> bool | None:
        """Whether such an event holds body tokens and framing; None when that is not known."""
        groups = self._events(finding)
        return any(self._mixed(places) for places in groups) if groups else None

    def _mixed(self, places: list[int]) -> bool:
        """Whether the tokens of an event are of body and framing both."""
        known = self._mixtures.get(places[0])
        if known is None:
            known = len({self.states[place] is State.BODY for place in places}) > 1 or (
                len(places) > 1 and any(is_marker(self.ids[place]) for place in places)
            )
            self._mixtures[places[0]] = known
        return known

    def _events(self, finding: Finding) -> list[list[int]]:
        if finding.event_start is None or finding.event_end is None:
            return []
        by_event = self.tokens_by_event
        return [
            by_event[event] for event in range(finding.event_start, finding.event_end) if event in by_event
        ]


def token_places(issue: Issue, evidence: Evidence) -> list[Place]:
    """Where the issue's token forms hold, in token order; empty when there are no ids."""
    if not evidence.ids:
        return []
    return sorted({place for form in issue.tokens for place in _places(form, evidence)})


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
    if form.crowded is not None and evidence.crowded(finding) is (not form.crowded):
        return False
    if form.boundary is not None and evidence.boundary(finding) is (not form.boundary):
        return False
    return _message_holds(form, finding, evidence)


def _message_holds(form: FindingForm, finding: Finding, evidence: Evidence) -> bool:
    if not form.message and form.whole is None:
        return True
    message = evidence.message_at(finding.token_start)
    if message is None:
        return False
    if form.message and not _has_parts(form.message, evidence.parts(message)):
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
            said = [f"channel {parts['channel'] or 'none'}"]
            if parts["recipient"]:
                said.append(f"recipient {parts['recipient']}")
            yield Place(
                message.start,
                message.end,
                f"a message with {' and '.join(said)} (tokens {message.start} to {message.end - 1})",
            )


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
