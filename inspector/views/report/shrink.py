"""The shortest token list that still fails: delta debugging against the reference parser and the transcript.

Only what tokens alone decide can be shrunk: a token or header that the reference parser rejects, arguments
that are not JSON, text that no field is promised. What a server lost depends on the server: such a
reproduction has all tokens of the message. The method is Zeller's and Hildebrandt's ddmin (IEEE TSE 28,
2002), first over messages, then over tokens.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, pairwise
from typing import Final, NamedTuple

from inspector.analysis.audit import Finding, Kind, explain
from inspector.analysis.audit.words import is_json
from inspector.analysis.reading import ChoiceReading
from inspector.protocol.harmony.contract import expect
from inspector.protocol.harmony.events import TokenRejected
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.tracker import HarmonyTracker
from inspector.protocol.harmony.transcript import Message, Transcript
from inspector.protocol.harmony.vocab import MARKERS, Marker

_TOKENS_AT_MOST: Final = 60_000
"""Tokens parsed in all while shrinking: three seconds, at 20,000 tokens of a long header per second."""

_NEIGHBOURS: Final = 4

Fails = Callable[[Sequence[int]], bool]


class Reproduction(NamedTuple):
    """Tokens that reproduce a finding."""

    ids: list[int]
    says: str
    """The reference parser's words, or what the finding says."""
    by_parser: bool
    """True when the reference parser alone rejects them."""
    shrunk: bool
    """True when no single token can be left out without the failure going away."""
    script: list[int]
    """Tokens for a real server to sample: where the loss is the server's, all tokens up to
    the end of the message, as it depends on how the server cuts them into steps."""


def reproduce(choice: ChoiceReading, finding: Finding) -> Reproduction | None:
    """As few tokens as possible that reproduce a finding; None if its tokens are unknown."""
    if finding.token_start is None or finding.token_end is None or not choice.has_ids or not finding.sent:
        return None
    ids = choice.tokens.ids
    if finding.kind in {Kind.UNEXPECTED_TOKEN, Kind.BAD_HEADER}:
        words = finding.delivered or ""
        # An earlier rejection would hide this one: begin after it, where parsing resumed.
        ends = [
            rejected_run.end
            for rejected_run in choice.transcript.rejected_runs
            if rejected_run.end <= finding.token_start
        ]
        whole = ids[max(ends, default=0) : finding.token_end]
        if not any(
            rejected_run.start == finding.token_start for rejected_run in choice.transcript.rejected_runs
        ):
            whole = [*whole, int(Marker.MESSAGE)]  # a header that only the server's error says was rejected
            if rejection_words(whole) != words:
                return None
        minimal_ids, shrunk = minimal(whole, lambda part: rejection_words(part) == words)
        return Reproduction(minimal_ids, words, by_parser=True, shrunk=shrunk, script=minimal_ids)
    message = _message_at(choice, finding.token_start)
    if message is None:
        whole = ids[finding.token_start : finding.token_end]
        before = ids[: finding.token_end]
        return Reproduction(whole, explain(finding), by_parser=False, shrunk=False, script=before)
    fails = _by_transcript(message, finding)
    whole = ids[message.start : message.end]
    if fails is None:
        before = ids[: message.end]
        return Reproduction(whole, explain(finding), by_parser=False, shrunk=False, script=before)
    minimal_ids, shrunk = minimal(whole, fails)
    return Reproduction(minimal_ids, explain(finding), by_parser=False, shrunk=shrunk, script=minimal_ids)


def rejection_words(ids: Sequence[int]) -> str | None:
    """The reference parser's words on the first token that it rejects; None when it accepts all.

    IDs that begin with `<|start|>` bring their own role; others continue `<|start|>assistant`.
    """
    events = HarmonyTracker(_prompt(ids)).receive(ids)
    return next((event.words for event in events if isinstance(event, TokenRejected)), None)


def minimal(ids: Sequence[int], fails: Fails) -> tuple[list[int], bool]:
    """A part of `ids` that still fails, and whether it is minimal: False when the search was cut short.

    When the whole does not fail, the whole comes back.
    """
    budget = _Budget(fails)
    if not budget.fails(ids):
        return list(ids), False
    messages = _messages(next((guess for guess in _guesses(ids) if budget.fails(guess)), ids))
    kept = _ddmin(messages, budget)
    return _flat(_ddmin([[token_id] for token_id in _flat(kept)], budget)), not budget.spent


def _messages(ids: Sequence[int]) -> list[list[int]]:
    starts = [place for place, token_id in enumerate(ids) if token_id == Marker.START and place]
    return [list(ids[a:b]) for a, b in pairwise([0, *starts, len(ids)])]


def _guesses(ids: Sequence[int]) -> Iterator[list[int]]:
    """Parts that often fail like the whole, small ones first: the last messages, without their bodies."""
    messages = _messages(ids)
    for count in (1, 2):
        last = _flat(messages[-count:])
        yield _framing(last)
        yield last
    yield _framing(ids)


def _framing(ids: Sequence[int]) -> list[int]:
    """Headers, special tokens and the last tokens; bodies are left out."""
    kept: list[int] = []
    in_body = False
    for token_id in ids[:-_NEIGHBOURS]:
        if not in_body or token_id in MARKERS:
            kept.append(token_id)
        in_body = token_id == Marker.MESSAGE or (in_body and token_id != Marker.START)
    return kept + list(ids[-_NEIGHBOURS:])


def _flat(parts: Sequence[Sequence[int]]) -> list[int]:
    return list(chain.from_iterable(parts))


class _Budget:
    """A limit on the tokens parsed; once it is spent, nothing fails any more and the search ends."""

    def __init__(self, fails: Fails) -> None:
        self._fails = fails
        self._tokens_left = _TOKENS_AT_MOST

    @property
    def spent(self) -> bool:
        return self._tokens_left <= 0

    def fails(self, ids: Sequence[int]) -> bool:
        if self.spent:
            return False
        self._tokens_left -= len(ids) + 1
        return self._fails(ids)


def _ddmin(parts: list[list[int]], budget: _Budget) -> list[list[int]]:
    """Parts that fail together; none can be omitted, unless the budget ran out."""
    pieces = 2
    while len(parts) > 1 and not budget.spent:
        size = -(-len(parts) // pieces)
        chunks = [parts[at : at + size] for at in range(0, len(parts), size)]
        # From the end: what fails last is what fails.
        for place in range(len(chunks) - 1, -1, -1):
            if len(chunks) > 2 and budget.fails(_flat(chunks[place])):
                parts, pieces = chunks[place], 2
                break
            if budget.spent:
                return parts
            rest = [part for number, chunk in enumerate(chunks) if number != place for part in chunk]
            if budget.fails(_flat(rest)):
                parts, pieces = rest, max(pieces - 1, 2)
                break
        else:
            if size == 1:
                return parts
            pieces = min(len(parts), pieces * 2)
    return parts


def _prompt(ids: Sequence[int]) -> Sequence[int] | None:
    return () if ids and ids[0] == Marker.START else None


def _message_at(choice: ChoiceReading, token: int) -> Message | None:
    messages = choice.transcript.messages
    return next((message for message in messages if message.start <= token < message.end), None)


def _by_transcript(message: Message, finding: Finding) -> Fails | None:
    """Whether some IDs hold a message of that kind: no field promised, or arguments that are not JSON."""
    if finding.kind is Kind.UNSERVED:
        header = message.header

        def unserved(ids: Sequence[int]) -> bool:
            return any(
                field is None and parsed.header == header and text for parsed, field, text in _bodies(ids)
            )

        return unserved
    if finding.kind is Kind.INVALID_TOOL_ARGUMENTS and not is_json(finding.generated or ""):

        def no_json(ids: Sequence[int]) -> bool:
            return any(
                parsed.complete and (field or "").endswith(".arguments") and bool(text) and not is_json(text)
                for parsed, field, text in _bodies(ids)
            )

        return no_json
    return None


def _bodies(ids: Sequence[int]) -> list[tuple[Message, str | None, str]]:
    transcript = Transcript()
    transcript.receive(HarmonyTracker(_prompt(ids)).receive(ids), len(ids))
    return [
        (transcript.messages[segment.message], segment.field, text_of(ids[segment.start : segment.end]))
        for segment in expect(transcript).segments
        if segment.message is not None
    ]
