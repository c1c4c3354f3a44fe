"""Whether a server sent the ids of all tokens, and how to get them."""

from collections.abc import Sequence

from inspector.analysis.reading import Evidence, Reading
from inspector.capture.capture import EventKind
from inspector.protocol.harmony.vocab import Marker

_FIRST = {Marker.CHANNEL, Marker.START}
"""Ids that a completion begins with, but for one that names a recipient first."""
_HEADER_AT_MOST = 12


def ids_missing(reading: Reading) -> bool:
    """True when the server sent fewer ids than tokens (vLLM issue 27482).

    Then the parse of those that came is a guess: only the loss of text that they contain is certain.
    vLLM to 0.12 sends no chat chunk, and so no ids, for tokens without text of their own; a stream of it that
    has no count, because it ended in an error, is taken so too when its ids do not begin a header.
    """
    if any(choice.has_finals for choice in reading.choices):
        return False  # no id was expected: the tokens of its messages are compared with the count
    received = sum(len(choice.tokens) for choice in reading.choices)
    if reading.stream.counted is not None:
        return reading.stream.counted > received
    if not reading.spec.deltas_only:
        return False
    if not any(event.kind is EventKind.SSE for event in reading.events):
        return False
    # Logprobs go with a chunk, and a step without text has none.
    if any(choice.evidence is Evidence.LOGPROBS for choice in reading.choices):
        return True
    sends_all = reading.engine.sends_all_ids(reading.header.endpoint, reading.server_version)
    if sends_all is None:
        return any(_headless(choice.tokens.ids[:_HEADER_AT_MOST]) for choice in reading.choices)
    begun = all(choice.tokens.ids[0] in _FIRST for choice in reading.choices if choice.tokens)
    return not sends_all and not begun


def evidence_hint(reading: Reading) -> str:
    """How to get the evidence that a reading lacks, one sentence."""
    return reading.engine.evidence_hint(
        reading.spec,
        requested=asks_for_ids(reading),
        streamed=_streamed(reading),
        version=reading.server_version,
    )


def ids_hint(reading: Reading) -> str:
    """How to get token IDs, on another endpoint where its own has none; one sentence."""
    if asks_for_ids(reading):
        return evidence_hint(reading)
    return reading.engine.ids_hint(reading.server_version, streamed=_streamed(reading))


def asks_for_ids(reading: Reading) -> bool:
    """Whether the request asks for token ids on an endpoint that can send them."""
    request = reading.header.request
    keys = reading.engine.evidence_request(reading.spec, streamed=_streamed(reading))
    return reading.spec.carries_ids and any(request.get(key) for key in keys)


def _streamed(reading: Reading) -> bool:
    """Whether the request asks for a stream; where it is not known, whether one came."""
    request = reading.header.request
    if request:
        return bool(request.get("stream"))
    return any(event.kind is EventKind.SSE for event in reading.events)


def _headless(ids: Sequence[int]) -> bool:
    """True when the first body begins without a channel before it."""
    before = ids[: ids.index(Marker.MESSAGE)] if Marker.MESSAGE in ids else ()
    return Marker.MESSAGE in ids and _FIRST.isdisjoint(before)
