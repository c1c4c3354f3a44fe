"""Keys of a request that a server may repeat, and a sink that removes them from the response."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import unquote_plus

from inspector.capture.capture import End, Event, Header
from inspector.capture.redaction import is_secret_parameter
from inspector.net.client.recorder import Sink

_SECRET: Final = ("auth", "cookie", "credential", "key", "passw", "secret", "session", "signature", "token")
_SHORTEST: Final = 8
"""Shorter values (`EMPTY`) are not keys, and replacing them would change what the model wrote."""
_VALUE: Final = re.compile(r'(?:^|[\s;,])[\w.-]{1,80}="?([^\s;,"]+)')
"""The value after a name: `Token token="K"`, `session=K; other=L`."""
_PARTS_AT_MOST: Final = 64
_REDACTED: Final = "[redacted]"


def secrets_of(
    headers: Sequence[tuple[bytes, bytes]], body: object, redacted: object, query: bytes = b""
) -> list[str]:
    """Values that must not appear in a capture even if the server repeats them, the longest first.

    These are keys in headers and in the query, and what redaction removed from the body. Of a header: the
    whole value, and its parts (`Token token="K"`, `session=K; other=L`).
    """
    secrets: set[str] = set()
    for name, content in headers:
        if any(sign in name.decode("latin-1").lower() for sign in _SECRET):
            secrets.update(_written(content.decode("latin-1")))
    for part in query.decode("latin-1").split("&"):
        parameter, _, raw = part.partition("=")
        if is_secret_parameter(unquote_plus(parameter)):
            secrets.update((raw, unquote_plus(raw)))
    for text in _removed(body, redacted):
        secrets.update(_written(text))
    return sorted((secret for secret in secrets if len(secret) >= _SHORTEST), key=len, reverse=True)


def _written(text: str) -> set[str]:
    """The value of a header, and the parts of it that may be the key."""
    return {text, text.partition(" ")[2], *_VALUE.findall(text)[:_PARTS_AT_MOST]}


def _removed(body: object, redacted: object) -> set[str]:
    removed: set[str] = set()
    pending: list[tuple[Any, Any]] = [(body, redacted)]
    while pending:
        before, after = pending.pop()
        if isinstance(before, Mapping):
            cleaned = after if isinstance(after, Mapping) else {}
            pending.extend((child, cleaned.get(key)) for key, child in before.items())
        elif isinstance(before, list):
            counterparts = (
                after if isinstance(after, list) and len(after) == len(before) else [None] * len(before)
            )
            pending.extend(zip(before, counterparts, strict=True))
        elif isinstance(before, str) and before != after:
            removed.add(before)
    return removed


def without_secrets(sink: Sink, hidden: Sequence[str]) -> Sink:
    """A sink that removes these values from events before it passes them to `sink`."""
    return _SecretFilter(sink, hidden) if hidden else sink


class _SecretFilter:
    def __init__(self, sink: Sink, hidden: Sequence[str]) -> None:
        self._sink = sink
        self._hidden = hidden

    def opened(self, header: Header) -> str:
        return self._sink.opened(header)

    def event(self, run: str, event: Event, /) -> None:
        data, name = self._clean(event.data), self._clean(event.name)
        if data is not event.data or name is not event.name:
            event = event._replace(data=data, name=name)
        self._sink.event(run, event)

    def ended(self, run: str, end: End, /) -> None:
        self._sink.ended(run, end)

    def _clean(self, text: str) -> str:
        for secret in self._hidden:
            if secret in text:
                text = text.replace(secret, _REDACTED)
        return text
