"""Requests token IDs on behalf of a client, and removes them from what it receives.

Responses has none: there the Harmony messages are requested, from which tokens are reconstructed. All other
bytes stay as they are: the request gets one key, an event loses an array or two.
"""

import json
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from inspector.protocol.wire.strip_ids import (
    plain_events_without_ids,
    without_member,
    without_response_messages,
    without_token_ids,
)

_BACKGROUND: Final = "background"
_WAITING_AT_MOST: Final = 64 * 2**20
_EVENT_END: Final = re.compile(rb"(?>\r\n|\n|\r){2,}")
"""Any number of empty lines: one match for all of them."""
_END_BYTES: Final = 3
"""Longest incomplete end of an event, in bytes, that may be the last to arrive."""
_DATA: Final = re.compile(rb"(?:\A(?:\xef\xbb\xbf)?|(?<=[\r\n]))data:")
_LINE_END: Final = re.compile(rb"[\r\n]")


def ask_for_ids(raw: bytes, body: Any, members: Mapping[str, Any]) -> bytes | None:
    """The request with these members added; None if there are none, or it sets one of them itself.

    A background request stays as it is: its response is fetched later by its ID, without this request.
    """
    if not members or not isinstance(body, dict) or not body.keys().isdisjoint(members):
        return None
    if body.get(_BACKGROUND):
        return None
    start = raw.find(b"{")
    rest = raw[start + 1 :]
    comma = b"" if not body else b","
    return raw[: start + 1] + json.dumps(members, separators=(",", ":"))[1:-1].encode() + comma + rest


def body_without_ids(raw: bytes, *, messages: bool = False, members: Sequence[str] = ()) -> bytes:
    """An unstreamed response as without what was added; `messages` for one of Responses."""
    if not any(mark in raw for mark in _marks(messages=messages, members=members)):
        return raw
    try:
        json.loads(raw)
        text = raw.decode("utf-8")
    except (ValueError, RecursionError):
        return raw
    rewritten = _rewritten(text, messages=messages, members=members)
    return raw if rewritten is None else rewritten.encode("utf-8")


def _marks(*, messages: bool, members: Sequence[str]) -> tuple[bytes, ...]:
    """An event that needs rewriting contains at least one of these."""
    if messages:
        return (b'_messages"',)
    return (b"token_ids", *(f'"{member.rpartition(".")[2]}"'.encode() for member in members))


def _rewritten(
    text: str, *, messages: bool, members: Sequence[str], keeps_logprobs: bool = True
) -> str | None:
    if messages:
        return without_response_messages(text)
    rewritten: str | None = text
    for member in members:
        rewritten = None if rewritten is None else without_member(rewritten, member)
    return None if rewritten is None else without_token_ids(rewritten, keeps_logprobs=keeps_logprobs)


class EventRewriter:
    """Removes token IDs from an event stream, event by event, in linear time.

    An event ends with an empty line, and lines end in CR, LF or CR LF, as the event stream rules have it.
    """

    def __init__(self, *, keeps_logprobs: bool, messages: bool = False, members: Sequence[str] = ()) -> None:
        self._keeps_logprobs = keeps_logprobs
        self._messages = messages
        self._members = members
        self._marks = _marks(messages=messages, members=members)
        self._rest = bytearray()
        self._searched = 0
        """How much of `_rest` was searched: no event ends there."""
        self._too_long = False
        """Inside an event that is passed on unchanged, because it is too long to wait for."""

    def receive(self, chunk: bytes) -> bytes:
        """The bytes that are ready; the beginning of an event waits for its end."""
        rest = self._rest
        rest += chunk
        if not (self._too_long or self._messages or self._members) and chunk.endswith(b"\n\n"):
            plain = plain_events_without_ids(bytes(rest))
            if plain is not None:
                self._taken(len(rest))
                return plain
        ends = [match.end() for match in _EVENT_END.finditer(rest, self._searched)]
        if not ends:
            if self._too_long or len(rest) > _WAITING_AT_MOST:
                self._too_long = True
                kept = len(rest) - _END_BYTES
                return self._taken(max(kept, 0))
            self._searched = max(len(rest) - _END_BYTES, 0)
            return b""
        first = self._taken(ends[0]) if self._too_long else b""
        self._too_long = False
        whole = self._taken(ends[-1] - len(first))
        if not any(mark in whole for mark in self._marks):
            return first + whole
        edges = [len(first), *(end for end in ends if end > len(first))]
        return first + b"".join(
            self._event(whole[start - len(first) : end - len(first)]) for start, end in pairwise(edges)
        )

    def close(self) -> bytes:
        """The incomplete event at the end of the stream."""
        return self._taken(len(self._rest))

    def _taken(self, size: int) -> bytes:
        taken = bytes(self._rest[:size])
        del self._rest[:size]
        self._searched = 0
        return taken

    def _event(self, event: bytes) -> bytes:
        """One event with the empty line that ends it."""
        starts = list(_DATA.finditer(event))
        if len(starts) != 1 or not any(mark in event for mark in self._marks):
            return event
        start = starts[0].end()
        line_end = _LINE_END.search(event, start)
        end = len(event) if line_end is None else line_end.start()
        try:
            payload = event[start:end].decode("utf-8")
        except UnicodeDecodeError:
            return event
        rewritten = _rewritten(
            payload, messages=self._messages, members=self._members, keeps_logprobs=self._keeps_logprobs
        )
        return b"" if rewritten is None else event[:start] + rewritten.encode("utf-8") + event[end:]
