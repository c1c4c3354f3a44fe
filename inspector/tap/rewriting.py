"""Token ids asked for on behalf of a client, and taken out again of what it sees.

Bytes that need no change are not touched: the request gets one key, an event loses one array.
"""

import json
from typing import Any, Final

from inspector.wire.strip_ids import without_token_ids

__all__ = ["EventRewriter", "ask_for_ids", "body_without_ids"]

_WAITING_AT_MOST: Final = 64 * 2**20


def ask_for_ids(raw: bytes, body: Any, key: str) -> bytes | None:
    """The request with `key` set to true; None when it says something about it already."""
    if not isinstance(body, dict) or key in body:
        return None
    start = raw.find(b"{")
    rest = raw[start + 1 :]
    comma = b"" if not body else b","
    return raw[: start + 1] + f'"{key}":true'.encode() + comma + rest


def body_without_ids(raw: bytes) -> bytes:
    """An unstreamed answer as the client would have got it."""
    if b"token_ids" not in raw:
        return raw
    try:
        json.loads(raw)
        found = without_token_ids(raw.decode("utf-8"))
    except (ValueError, RecursionError):
        return raw
    return raw if found is None else found.encode("utf-8")


class EventRewriter:
    """Takes token ids out of an event stream, event by event; bytes in, bytes out."""

    def __init__(self, *, keeps_logprobs: bool) -> None:
        self._keeps_logprobs = keeps_logprobs
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
        if b"token_ids" not in whole:
            return whole
        return b"".join(map(self._event, whole.split(b"\n\n")[:-1]))

    def close(self) -> bytes:
        """What the stream broke off in the middle of."""
        rest, self._rest = self._rest, b""
        return rest

    def _event(self, event: bytes) -> bytes:
        if b"token_ids" not in event or not event.startswith(b"data:"):
            return event + b"\n\n"
        try:
            text = event[5:].decode("utf-8")
        except UnicodeDecodeError:
            return event + b"\n\n"
        found = without_token_ids(text, keeps_logprobs=self._keeps_logprobs)
        return b"" if found is None else b"data:" + found.encode("utf-8") + b"\n\n"
