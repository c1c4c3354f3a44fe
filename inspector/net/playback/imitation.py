"""Turns tokens into what a server delivers for them: deltas of chat, text of completions.

The parser is `openai_harmony`'s, as in the server. The rules are those of vLLM releases: text is routed by
the channel and recipient of each token (0.18 and later), or of each event's last token (0.10). A parser error
ends the stream with an error event, or is ignored (0.32). Nothing else of a server is imitated.
"""

import codecs
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from openai_harmony import HarmonyError, Role, StreamableParser

from inspector.protocol.harmony.vocab import Marker, encoding, is_marker, token_bytes

_FUNCTIONS: Final = "functions."
_STOPS: Final = frozenset({Marker.RETURN, Marker.CALL})


@dataclass(frozen=True, slots=True)
class _TokenText:
    channel: str | None
    recipient: str | None
    text: str


class ChatServing:
    """One choice of a chat completion, served from its tokens."""

    def __init__(
        self,
        *,
        reasoning_keys: tuple[str, ...] = ("reasoning",),
        last_token_only: bool = False,
        decode_alone: bool = False,
        swallow: bool = False,
    ) -> None:
        self._parser = StreamableParser(encoding(), role=Role.ASSISTANT)
        self._reasoning_keys = reasoning_keys
        self._last_token_only = last_token_only
        self._decode_alone = decode_alone
        self._swallow = swallow
        self._in_body = False
        self._call: str | None = None
        self._calls = 0

    def deliver(self, ids: Iterable[int]) -> dict[str, Any]:
        """The delta of one event with these tokens, possibly empty.

        Raises HarmonyError where the server's parser does, unless errors are swallowed.
        """
        token_texts: list[_TokenText] = []
        for token_id in ids:
            try:
                self._process(token_id)
            except HarmonyError:
                if not self._swallow:
                    raise
                continue
            text = self._text(token_id)
            token_texts.append(_TokenText(self._parser.current_channel, self._parser.current_recipient, text))
        delta: dict[str, Any] = {}
        for token_text in token_texts[-1:] if self._last_token_only else token_texts:
            self._route(token_text, delta)
        return delta

    def _process(self, token_id: int) -> None:
        try:
            self._parser.process(token_id)
        except OverflowError as error:  # a number that no vocabulary can have
            raise HarmonyError(f"Unknown token ID: {token_id}") from error

    def _text(self, token_id: int) -> str:
        if is_marker(token_id):
            self._in_body = token_id == Marker.MESSAGE
            return ""
        if self._decode_alone:
            return token_bytes(token_id).decode("utf-8", "replace") if self._in_body else ""
        return self._parser.last_content_delta or ""

    def _route(self, token_text: _TokenText, delta: dict[str, Any]) -> None:
        recipient = token_text.recipient
        if recipient is None:
            self._call = None
        if recipient is not None and recipient.startswith(_FUNCTIONS):
            self._function(recipient, token_text.text, delta)
        elif token_text.text and token_text.channel == "analysis":
            for key in self._reasoning_keys:
                delta[key] = delta.get(key, "") + token_text.text
        elif token_text.text and recipient is None and token_text.channel in {"final", "commentary"}:
            delta["content"] = delta.get("content", "") + token_text.text

    def _function(self, recipient: str, text: str, delta: dict[str, Any]) -> None:
        calls: list[dict[str, Any]] = delta.get("tool_calls", [])
        if recipient != self._call:
            self._call = recipient
            self._calls += 1
            name = recipient.removeprefix(_FUNCTIONS)
            index = self._calls - 1
            function = {"name": name, "arguments": "" if self._last_token_only else text}
            call_id = f"chatcmpl-tool-playback-{index}"
            calls.append({"id": call_id, "type": "function", "index": index, "function": function})
        elif text:
            if calls:
                calls[-1]["function"]["arguments"] += text
            else:
                calls.append({"index": self._calls - 1, "function": {"arguments": text}})
        if calls:
            delta["tool_calls"] = calls


class TextServing:
    """The raw text of a completion, served from its tokens; no Harmony is parsed here."""

    def __init__(self, *, special_tokens: bool, decode_alone: bool = False) -> None:
        self._special_tokens = special_tokens
        self._decode_alone = decode_alone
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def deliver(self, ids: Sequence[int], *, stopped: bool = False) -> str:
        """The text that these tokens complete; `stopped` when generation ended with the last of them.

        The token that stops generation has no text, whatever `skip_special_tokens` says (vLLM 0.13 to 0.32).
        """
        parts: list[str] = []
        for token_id in ids[:-1] if stopped and ids and ids[-1] in _STOPS else ids:
            if is_marker(token_id):
                parts.append(Marker(token_id).text if self._special_tokens else "")
            elif self._decode_alone:
                parts.append(token_bytes(token_id).decode("utf-8", "replace"))
            else:
                parts.append(self._decoder.decode(token_bytes(token_id)))
        return "".join(parts)
