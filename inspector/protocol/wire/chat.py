"""Chat completions: request options in; event payloads to tokens and deltas out.

Reads what vLLM 0.10 to 0.32 sends. vLLM 0.12 to 0.13 sends reasoning twice, as `reasoning` and as
`reasoning_content`; that is one delivery.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any, Final

from msgspec import Meta, MsgspecError, Struct
from msgspec.json import Decoder

from inspector.capture.capture import Event, EventKind
from inspector.capture.deltas import CONTENT, REASONING, Delta, tool_arguments, tool_name
from inspector.capture.tokens import Tokens
from inspector.protocol.harmony.vocab import encode, partial_token
from inspector.protocol.wire.stream import Stream, StreamChoice, brief, error_in, loads, token_ids, value_at

TOOLS: Final = 2**17
"""Bound of the index of a tool call: each index from outside makes a field."""


class _Function(Struct, gc=False, forbid_unknown_fields=True):
    name: str | None = None
    arguments: str | None = None


class UsualCall(Struct, gc=False, forbid_unknown_fields=True):
    """A part of a tool call."""

    index: Annotated[int, Meta(ge=0, lt=TOOLS)]
    function: _Function
    id: str | None = None
    type: str | None = None


class UsualDelta(Struct, gc=False, forbid_unknown_fields=True):
    """What a chunk delivers."""

    role: str | None = None
    content: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[UsualCall] | None = None


class _Choice(Struct, gc=False, forbid_unknown_fields=True):
    delta: UsualDelta
    index: int = 0
    token_ids: list[int] | None = None
    logprobs: None = None
    finish_reason: None = None
    stop_reason: None = None


class UsualChunk(Struct, gc=False, forbid_unknown_fields=True):
    """A chunk with one choice that goes on, without usage, log probabilities or prompt IDs."""

    choices: tuple[_Choice]
    model: str | None = None
    system_fingerprint: str | None = None
    id: str | None = None
    object: str | None = None
    created: int | None = None
    service_tier: str | None = None
    usage: None = None
    prompt_token_ids: None = None


usual_chunk: Final[Callable[[str], UsualChunk]] = Decoder(UsualChunk).decode

UNUSUAL: Final = (MsgspecError, ValueError, RecursionError)
"""What `usual_chunk` raises for any other text; ValueError is for half surrogates."""


_delta: Final = tuple.__new__
"""A Delta without its Python-level constructor, which is half its cost."""

_ID_PREFIX: Final = "token_id:"
_NAME_AT_MOST: Final = 256  # no token of the vocabulary is longer
_TWO_REASONINGS: Final = "`reasoning` and `reasoning_content` of one delta differ"
_AFTER_DONE: Final = "a chunk follows [DONE]"


class ChatReader:
    """Reads the events of one chat completion into `stream`."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream

    def receive(self, events: Sequence[Event]) -> None:
        """Read some more events."""
        stream, sse, decode = self.stream, EventKind.SSE, usual_chunk
        current: int | None = None  # not a number: a chunk may name -1
        into = StreamChoice(0)
        tokens = Tokens()
        add_delta, add_id, add_event = list[Delta]().append, tokens.ids.append, tokens.events.append
        for index, (data, _, _, kind) in enumerate(events, stream.events):
            if kind is not sse:
                if kind is EventKind.BODY:
                    stream.bodies.append(index)
                    self._body(loads(data), index)
                elif (comment := data.strip()) in stream.extensions.members:
                    stream.members.add(comment)
                continue
            try:
                chunk = decode(data)
            except UNUSUAL:
                if data == "[DONE]":
                    stream.terminal_event = index
                elif isinstance(payload := loads(data), dict):
                    self._chunk(payload, index)
                else:
                    stream.notice("not_json", index, "an event is not a JSON object")
                continue
            # The same as `_chunk`, for the common chunk; inlined for speed.
            (choice,) = chunk.choices
            if (number := choice.index) != current:
                into = stream.choice_of(number, index)
                current = number if into.index == number else None  # else each chunk is noted
                tokens, add_delta = into.tokens, into.deltas.append
                add_id, add_event = tokens.ids.append, tokens.events.append
            delta = choice.delta
            if text := delta.reasoning or delta.reasoning_content:
                add_delta(_delta(Delta, (index, REASONING, text)))
                if delta.reasoning_content and delta.reasoning_content != text:
                    stream.notice("two_reasonings", index, _TWO_REASONINGS, REASONING)
            if text := delta.content:
                add_delta(_delta(Delta, (index, CONTENT, text)))
            if delta.tool_calls:
                for call in delta.tool_calls:
                    if text := call.function.name:
                        add_delta(Delta(index, tool_name(call.index), text))
                    if text := call.function.arguments:
                        add_delta(Delta(index, tool_arguments(call.index), text))
            if ids := choice.token_ids:
                if len(ids) == 1:
                    add_id(ids[0])
                    add_event(index)
                else:
                    tokens.extend(ids, index)
            elif not (into.deltas and into.deltas[-1][0] == index):
                into.empty_chunk(index)
            if stream.model is None:
                stream.model = chunk.model
            if chunk.system_fingerprint is not None:
                stream.fingerprint = chunk.system_fingerprint
            if stream.terminal_event is not None:
                stream.notice("after_done", index, _AFTER_DONE)
        stream.events += len(events)

    def _chunk(self, chunk: Mapping[str, Any], index: int) -> None:
        stream = self.stream
        choices = chunk.get("choices")
        own_ids = self._own_ids(chunk, index)
        if isinstance(choices, list):
            for choice in choices:
                if isinstance(choice, dict):
                    self._choice(choice, choice.get("delta"), index, own_ids=own_ids)
        if stream.terminal_event is not None and choices:
            stream.notice("after_done", index, _AFTER_DONE)
        self._envelope(chunk, index)

    def _body(self, body: object, index: int) -> None:
        if not isinstance(body, dict):
            self.stream.notice("not_json", index, "the body is not a JSON object")
            return
        own_ids = self._own_ids(body, index)
        if isinstance(body.get("choices"), list):
            self.stream.terminal_event = index
            for choice in body["choices"]:
                if isinstance(choice, dict):
                    self._choice(choice, choice.get("message"), index, own_ids=own_ids)
        self._envelope(body, index)

    def _own_ids(self, payload: Mapping[str, Any], index: int) -> bool:
        """Take the token IDs that a payload has in a place particular to its server; False without."""
        stream, sent = self.stream, False
        stream.note_members(payload, payload.get("error"))
        if isinstance(provider := payload.get("provider"), str):
            stream.provider = provider
        for path in stream.extensions.ids_at if stream.members else ():
            ids = value_at(payload, path)
            if isinstance(ids, list) and ids and isinstance(ids[0], list):
                ids = ids[0]  # a list for each choice
            if ids := token_ids(ids):
                stream.choice(0).tokens.extend(ids, index)
                sent = True
        return sent

    def _envelope(self, chunk: Mapping[str, Any], index: int) -> None:
        stream = self.stream
        if (prompt := chunk.get("prompt_token_ids")) and stream.prompt_ids is None:
            stream.prompt_ids = token_ids(prompt)
        for path in (("usage",), *stream.extensions.usage_at):
            if isinstance(usage := value_at(chunk, path), dict):
                stream.usage = usage
        if stream.model is None and isinstance(model := chunk.get("model"), str):
            stream.model = model
        if isinstance(fingerprint := chunk.get("system_fingerprint"), str):
            stream.fingerprint = fingerprint
        if not chunk.get("choices") and (error := error_in(chunk, index)):
            stream.errors.append(error)

    def _choice(self, choice: Mapping[str, Any], delta: object, index: int, *, own_ids: bool) -> None:
        get = choice.get
        into = self.stream.choice_of(get("index", 0), index)
        self.stream.note_members(choice, delta, get("provider_specific_fields"))
        if ids := get("token_ids"):
            into.tokens.extend(token_ids(ids), index)
        elif self.stream.members and not into.tokens:
            for path in self.stream.extensions.choice_ids_at:
                into.tokens.extend(token_ids(value_at(choice, path)), index)
        if isinstance(logprobs := get("logprobs"), dict):
            take_logprobs(into, logprobs, index)
        elif isinstance(delta, dict) and type(number := delta.get("token_id")) is int:
            into.logprob_tokens.extend([number], index)
        if delta and isinstance(delta, dict):
            self._delta(into, delta, index)
        if (finish := get("finish_reason")) is not None:
            if into.finish_reason is not None:
                self.stream.notice("two_finishes", index, "a choice finishes twice")
            into.finish_reason, into.finish_event = brief(finish), index
        if not (own_ids or ids or finish or (into.deltas and into.deltas[-1].event == index)):
            into.empty_chunk(index)

    def _delta(self, into: StreamChoice, delta: Mapping[str, Any], index: int) -> None:
        get = delta.get
        again = get("reasoning_content")
        reasoning = get("reasoning") or again
        if reasoning and isinstance(reasoning, str):
            into.deltas.append(Delta(index, REASONING, reasoning))
            if again and again != reasoning:
                self.stream.notice("two_reasonings", index, _TWO_REASONINGS, REASONING)
        content = get("content")
        if content and isinstance(content, str):
            into.deltas.append(Delta(index, CONTENT, content))
        refusal = get("refusal")
        if refusal and isinstance(refusal, str):
            into.deltas.append(Delta(index, "refusal", refusal))
        if calls := get("tool_calls"):
            self._calls(into, calls, index)

    def _calls(self, into: StreamChoice, calls: object, index: int) -> None:
        if not isinstance(calls, list):
            return
        for place, call in enumerate(calls):
            if not isinstance(call, dict):
                continue
            number = call.get("index", place)
            if type(number) is not int or not 0 <= number < TOOLS:
                self.stream.notice("tool_index", index, f"a tool call has the index {brief(number)}")
                number = place
            function = call.get("function")
            if not isinstance(function, dict):
                continue
            if (name := function.get("name")) and isinstance(name, str):
                into.deltas.append(Delta(index, tool_name(number), name))
            if (arguments := function.get("arguments")) and isinstance(arguments, str):
                into.deltas.append(Delta(index, tool_arguments(number), arguments))


def take_logprobs(into: StreamChoice, logprobs: object, index: int) -> None:
    """Read the token IDs of a `logprobs` object of chat or completions into a choice.

    SGLang and llama-server send the ID itself (`token_id`, `id`), Together a list of them (`token_ids`). With
    vLLM's `return_tokens_as_token_ids` an entry's token is `token_id:123`; otherwise its text is looked up,
    which gives the ID if exactly one token has that text. Half a character is U+FFFD in the text: then its
    `bytes` are looked up, which vLLM has as those of U+FFFD, so they give none there.
    """
    if not isinstance(logprobs, dict):
        return
    entries = logprobs.get("content")
    names: list[object] = []
    if isinstance(entries, list):
        names = [_entry_token(entry) if isinstance(entry, dict) else None for entry in entries]
    elif isinstance(tokens := logprobs.get("token_ids") or logprobs.get("tokens"), list):
        names = tokens
    ids = [token_id for name in names if (token_id := named_token(name)) is not None]
    into.logprobs_whole &= len(ids) == len(names)
    into.logprob_tokens.extend(ids, index)


def _entry_token(entry: Mapping[str, Any]) -> object:
    """The token of a logprob entry, by its number, its text or its bytes."""
    number = entry.get("token_id", entry.get("id"))
    if type(number) is int and number >= 0:
        return number
    text, added = entry.get("token"), entry.get("bytes")
    if isinstance(text, str) and "\ufffd" in text and isinstance(added, list):
        in_range = len(added) <= _NAME_AT_MOST and all(
            type(byte) is int and 0 <= byte < 256 for byte in added
        )
        return partial_token(bytes(added)) if in_range else None
    return text


def named_token(name: object) -> int | None:
    """The token that a logprob entry names by number or by text; None where it names none."""
    if type(name) is int or (type(name) is float and name.is_integer()):
        return int(name)
    if not isinstance(name, str) or not 0 < len(name) < _NAME_AT_MOST or "\ufffd" in name:
        return None
    if name.startswith(_ID_PREFIX):
        number = name.removeprefix(_ID_PREFIX)
        return int(number) if number.isdecimal() and number.isascii() and len(number) <= 10 else None
    return _single(name)


@lru_cache(maxsize=1 << 16)
def _single(text: str) -> int | None:
    ids = encode(text)
    return ids[0] if len(ids) == 1 else None
