"""Whether a server sent the IDs of all tokens, whether they cover the response, and how to get them."""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

from inspector.analysis.alignment import Alignment, FateState
from inspector.analysis.reading import ChoiceReading, Evidence, Reading
from inspector.capture.capture import EventKind
from inspector.protocol.harmony.vocab import Marker

_FIRST = {Marker.CHANNEL, Marker.START}
"""IDs that a completion begins with, unless its header names a recipient first."""
_HEADER_AT_MOST = 12
"""Tokens in which the first header ends, if it was sent."""
_SENT = {Evidence.TOKEN_IDS, Evidence.LOGPROBS}
_ENDS = [[Marker.RETURN], [Marker.CALL]]
"""Last tokens after which a model does not continue."""


class IdsGap(StrEnum):
    """How it is known, or suspected, that a server did not send the IDs of all tokens."""

    COUNTED = "counted"
    """It counted more tokens than it sent IDs."""
    HIDDEN = "hidden"
    """The request has `include_reasoning: false`, with which vLLM's Rust front end leaves out IDs."""
    CHUNKS = "chunks"
    """Chunks in the middle of the stream have neither IDs nor text, and nothing is counted."""
    UNEXPLAINED = "unexplained"
    """Text that no ID accounts for, and no token count: its IDs may be missing, or the server added it."""
    EXCERPT = "excerpt"
    """The capture is a part of the response."""
    RELEASE = "release"
    """Its release leaves some out (vLLM to 0.12, issue 27482), and nothing is counted."""


def ids_missing(reading: Reading, aligned: Mapping[int, Alignment | None]) -> IdsGap | None:
    """Why the IDs in a response may not be those of all its tokens; None where they are all.

    With some of them missing, the rest may be parsed wrongly, so they prove neither a loss nor its absence.
    vLLM to 0.12 sends no chat chunk, and so no ids, for tokens without text of their own; a stream of it that
    has no count, because it ended in an error, is taken so too when its ids do not begin a header.
    """
    if reading.excerpt is not None and reading.excerpt.is_certain:
        return IdsGap.EXCERPT
    if any(choice.has_finals for choice in reading.choices):
        return None  # no id was expected: the tokens of its messages are compared with the count
    received = sum(len(choice.tokens) for choice in reading.choices)
    # A count decides alone, both ways. What follows are signs of missing IDs in streams without one.
    if reading.stream.counted is not None:
        return IdsGap.COUNTED if reading.stream.counted > received else None
    if not reading.spec.delivers:
        return None
    sent = [choice for choice in reading.choices if choice.evidence in _SENT]
    if sent and reading.hides_reasoning:
        return IdsGap.HIDDEN
    if any(reading.stream.choice(choice.index).has_gap for choice in sent):
        return IdsGap.CHUNKS
    if any(any(unexplained_text(choice, aligned.get(choice.index))) for choice in sent):
        return IdsGap.UNEXPLAINED
    if not reading.spec.deltas_only:
        return None
    if not any(event.kind is EventKind.SSE for event in reading.events):
        return None
    # Logprobs go with a chunk, which a step without text has where the framing has entries.
    if any(choice.evidence is Evidence.LOGPROBS and not _framed(choice) for choice in reading.choices):
        return IdsGap.RELEASE
    sends_all = reading.engine.sends_all_ids(reading.header.endpoint, reading.server_version)
    if sends_all is None:
        headless = any(_headless(choice.tokens.ids[:_HEADER_AT_MOST]) for choice in reading.choices)
        return IdsGap.RELEASE if headless else None
    begun = all(choice.tokens.ids[0] in _FIRST for choice in reading.choices if choice.tokens)
    return IdsGap.RELEASE if not sends_all and not begun else None


def covers(reading: Reading, gap: IdsGap | None) -> bool:
    """Whether the evidence is of the whole response: the tokens of every choice, to its end."""
    if reading.unread or reading.foreign or not reading.ended or reading.excerpt is not None:
        return False
    if any(map(reading.broke_off, reading.choices)):
        return False
    if not reading.spec.delivers:
        return True
    if gap is not None or not all(choice.has_ids for choice in reading.choices):
        return False
    received = sum(len(choice.tokens) for choice in reading.choices)
    return reading.stream.counted == received or all(map(_has_end, reading.choices))


def _has_end(choice: ChoiceReading) -> bool:
    return choice.finish_reason is not None or choice.tokens.ids[-1:] in _ENDS


def unexplained_text(choice: ChoiceReading, alignment: Alignment | None) -> Iterator[tuple[int, str, str]]:
    """Event, field and text of what no token accounts for: surplus, and text in place of other tokens.

    The latter only from events without IDs: an event that has some has those of its text.
    """
    if alignment is None:
        return
    for extra in alignment.extras:
        if not extra.separates:
            yield extra.event, extra.field, extra.text
    with_ids = frozenset(choice.tokens.events)
    for fate in alignment.fates:
        # An event of its own is that of its tokens.
        if fate.state is FateState.GARBLED and fate.event is not None and fate.event not in with_ids:
            yield fate.event, fate.delivered_in or "", fate.delivered


def evidence_hint(reading: Reading) -> str:
    """How to get the evidence that a reading lacks, one sentence."""
    if reading.hides_reasoning and asks_for_ids(reading):
        return "With `include_reasoning: false` servers leave out token IDs: send the request without it."
    return reading.engine.evidence_hint(
        reading.spec,
        requested=asks_for_ids(reading),
        streamed=_streamed(reading),
        version=reading.server_version,
    )


def ids_hint(reading: Reading) -> str:
    """How to get token IDs, if need be from another endpoint; one sentence."""
    if asks_for_ids(reading):
        return evidence_hint(reading)
    return reading.engine.ids_hint(reading.server_version, streamed=_streamed(reading))


def asks_for_ids(reading: Reading) -> bool:
    """Whether the request asks for token ids on an endpoint that can send them."""
    request = reading.header.request
    keys = reading.engine.evidence_request(reading.spec, streamed=_streamed(reading))
    return reading.spec.carries_ids and any(request.get(key) for key in keys)


def _streamed(reading: Reading) -> bool:
    """Whether the request asks for a stream; without a known request, whether the response is one."""
    request = reading.header.request
    if request:
        return bool(request.get("stream"))
    return any(event.kind is EventKind.SSE for event in reading.events)


def _framed(choice: ChoiceReading) -> bool:
    """Whether the tokens begin with a header, as only those do that a server sends without text too."""
    ids = choice.tokens.ids
    return bool(ids) and ids[0] in _FIRST and Marker.MESSAGE in ids[:_HEADER_AT_MOST]


def _headless(ids: Sequence[int]) -> bool:
    """True when the first body begins without a channel before it."""
    before = ids[: ids.index(Marker.MESSAGE)] if Marker.MESSAGE in ids else ()
    return Marker.MESSAGE in ids and _FIRST.isdisjoint(before)
