"""JSON payloads of one stream to values; what every chunk repeats is parsed once.

Speed only: whatever takes a short way here reads the same the long way (tests hold that).
"""

import json
import re
from collections.abc import Callable
from typing import Any, Final

from inspector.wire.stream import loads

__all__ = ["PLAIN_CHUNK", "PayloadReader"]

_REPEATED: Final = frozenset({"id", "object", "created", "model"})
"""Members before `choices` that every chunk of vLLM repeats and that say nothing new the second time."""

_ATTEMPTS: Final = 8

_TEXT: Final = r'"([^"\\\x00-\x1f]*)"'
_ID: Final = r"(?:0|[1-9][0-9]{0,8})"

PLAIN_CHUNK: Final[Callable[[str, int], re.Match[str] | None]] = re.compile(
    rf'"choices":\[\{{"index":(0|[1-9][0-9]{{0,3}}),"delta":\{{'
    rf'(?:"reasoning":{_TEXT}(?:,"reasoning_content":"\2")?'
    rf'|"content":{_TEXT}(?:,"reasoning_content":null)?'
    r'|"reasoning_content":null)?'
    rf'\}},"logprobs":null,"finish_reason":null(?:,"token_ids":(?:null|\[({_ID}(?:,{_ID})*)\]))?\}}\]\}}'
).fullmatch
"""A chunk of the form that makes up most of a stream of vLLM 0.12 to 0.32, from its `choices` on.

Groups: index, reasoning, content, token IDs. Strings with an escape, and all other forms, are left to JSON.
"""

_decode: Final = json.JSONDecoder().raw_decode


class PayloadReader:
    """Reads payloads one after another.

    A chunk that begins with the same characters as one before, up to its `choices`, is returned without
    those members: they were returned once, and parsing them again is a third of the work.
    """

    def __init__(self) -> None:
        self.head = "\0"  # begins no JSON
        """What a chunk must begin with to be read without it."""
        self._attempts = _ATTEMPTS

    def read(self, text: str) -> Any:
        """The value of one payload; None for what is not JSON, or nests deeper than Python reads."""
        if text.startswith(self.head):
            rest = "{" + text[len(self.head) :]
            try:
                payload, end = _decode(rest)
            except (ValueError, RecursionError):
                return None
            if payload and end == len(rest):
                return payload
        elif self._attempts:
            self._attempts -= 1
            self._learn(text)
        return loads(text)

    def _learn(self, text: str) -> None:
        head = text[: max(text.find('"choices":'), 0)]
        members = loads(head.removesuffix(",") + "}")
        if head.endswith(",") and isinstance(members, dict) and members.keys() <= _REPEATED:
            self.head = head
