"""Token ids asked for on behalf of a client, and taken out again of what it sees.

Responses has none: there the Harmony messages are asked for, of which tokens are reconstructed. Bytes that
need no change are not touched: the request gets one key, an event loses one array or two.
"""

import json
from typing import Any, Final

from inspector.wire.strip_ids import without_response_messages, without_token_ids

__all__ = ["EventRewriter", "ask_for_ids", "body_without_ids"]

_BACKGROUND: Final = "background"
_WAITING_AT_MOST: Final = 64 * 2**20


def ask_for_ids(raw: bytes, body: Any, key: str) -> bytes | None:
    """The request with `key` set to true; None when it says something about it already.

    A background response is left alone: it is fetched later by its id, where nothing tells who asked.
    """
    if not isinstance(body, dict) or key in body or body.get(_BACKGROUND):
        return None
    start = raw.find(b"{")
    rest = raw[start + 1 :]
    comma = b"" if not body else b","
    return raw[: start + 1] + f'"{key}":true'.encode() + comma + rest


def body_without_ids(raw: bytes, *, messages: bool = False) -> bytes:
    """An unstreamed answer as the client would have got it; `messages` for one of Responses."""
    if _mark(messages=messages) not in raw:
        return raw
    try:
        json.loads(raw)
        text = raw.decode("utf-8")
    except (ValueError, RecursionError):
        return raw
    found = without_response_messages(text) if messages else without_token_ids(text)
    return raw if found is None else found.encode("utf-8")


def _mark(*, messages: bool) -> bytes:
    """What stands in every event that has something to take out."""
    return b'_messages"' if messages else b"token_ids"


class EventRewriter:
    """Takes token ids out of an event stream, event by event; bytes in, bytes out."""

    def __init__(self, *, keeps_logprobs: bool, messages: bool = False) -> None:
        self._keeps_logprobs = keeps_logprobs
        self._messages = messages
        self._mark = _mark(messages=messages)
        self._rest = b""

    def receive(self, chunk: bytes) -> bytes:
        """The bytes that are ready; the beginning of an event waits for its end."""
        # vLLM ends lines with a line feed; a stream with other line ends passes as one event at a time.
        rest = self._rest + chunk
        end = rest.rfind(b"\n\n")
        if end < 0:
            if len(rest) > _WAITING_AT_MOST:
                self._rest = b""
                return rest
            self._rest = rest
            return b""
        whole, self._rest = rest[: end + 2], rest[end + 2 :]
        if self._mark not in whole:
            return whole
        return b"".join(map(self._event, whole.split(b"\n\n")[:-1]))

    def close(self) -> bytes:
        """What the stream broke off in the middle of."""
        rest, self._rest = self._rest, b""
        return rest

    def _event(self, event: bytes) -> bytes:
        name, data, text = event.partition(b"data:")
        if self._mark not in text or not (_is_name(name) if self._messages else not name):
            return event + b"\n\n"
        try:
            payload = text.decode("utf-8")
        except UnicodeDecodeError:
            return event + b"\n\n"
        if self._messages:
            return name + data + without_response_messages(payload).encode("utf-8") + b"\n\n"
        found = without_token_ids(payload, keeps_logprobs=self._keeps_logprobs)
        return b"" if found is None else data + found.encode("utf-8") + b"\n\n"


def _is_name(line: bytes) -> bool:
    """Whether what stands before the data is nothing, or the line that names the event."""
    return not line or (line.startswith(b"event:") and line.find(b"\n") == len(line) - 1)
