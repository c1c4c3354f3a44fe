"""Servers of several habits, in miniature: each serves a stream of tokens as a vLLM release does or did.

They rest on `openai_harmony` alone, the library that vLLM parses with, and say of each token where its
text went, so a test can hold the audit's spans against what really happened. The habits were read from
vLLM's serving code of 0.10.2, 0.13.0, 0.18.0, 0.23.0 and 0.32.0.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from openai_harmony import HarmonyError, Role, StreamableParser

from inspector.capture.capture import Capture, End, Endpoint, Event, Header
from inspector.capture.deltas import tool_arguments, tool_index
from inspector.protocol.harmony.vocab import encoding

__all__ = ["HABITS", "ServedStream", "promised_fields", "serve"]

Delta = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ParsedToken:
    """What the parser says at one token."""

    index: int
    channel: str | None
    recipient: str | None
    text: str
    """Text that this token completes in a body."""
    by_assistant: bool
    call: int
    """Function calls closed before it: the place of its call, if it belongs to one."""


@dataclass(slots=True)
class ServedStream:
    """A stream as it was served."""

    capture: Capture
    delivered_in: dict[int, str | None] = field(default_factory=dict)
    """For each token that completes body text, the field that delivered it; None when none did.

    A tool call is named by its place among the generated ones, whatever index it was sent under.
    """
    sent: int = 0
    """Tokens whose ids reached the client."""


Habit = Callable[[Sequence[int], int], Iterator[tuple[Sequence[int], Delta | None, str | None]]]


def _function(recipient: str | None) -> str | None:
    return recipient.removeprefix("functions.") if recipient and recipient.startswith("functions.") else None


def promised(token: ParsedToken) -> str | None:
    """The kind of field that should deliver a token's text."""
    if not token.by_assistant:
        return None
    if _function(token.recipient) is not None:
        return "tool"
    if token.recipient is not None:
        return None
    return {"analysis": "reasoning", "final": "content", "commentary": "content"}.get(token.channel or "")


class _Model:
    """The strict parser, asked token by token."""

    def __init__(self) -> None:
        self.parser = StreamableParser(encoding(), role=Role.ASSISTANT)
        self.count = 0
        self.calls = 0
        """Function calls closed so far."""

    def parse(self, token_id: int) -> ParsedToken:
        """Feed one token; raises HarmonyError as the library does."""
        recipient = self.parser.current_recipient
        self.count += 1
        self.parser.process(token_id)
        new_recipient = self.parser.current_recipient
        if _function(recipient) is not None and new_recipient is None:
            self.calls += 1
        text = self.parser.last_content_delta or ""
        by_assistant = self.parser.current_role is Role.ASSISTANT
        return ParsedToken(
            self.count - 1, self.parser.current_channel, new_recipient, text, by_assistant, self.calls
        )


class ServerHabit:
    """One request being served; subclasses are habits."""

    swallows = False
    """True for releases that go on after a parser error and tell nobody."""

    def __init__(self) -> None:
        self.model = _Model()
        self.delivered_in: dict[int, str | None] = {}
        self.named: dict[int, int] = {}
        """Index under which a call was opened, to its place among the generated calls."""

    def step(self, tokens: Sequence[ParsedToken], before: str | None) -> Delta:
        """The delta for one step; `before` is the recipient when the step began."""
        raise NotImplementedError

    def last(self) -> Delta:
        """What is added to the last delta when generation ends."""
        return {}

    def note(self, tokens: Sequence[ParsedToken], delivered_in: str | None) -> None:
        """Remember where the text of some tokens went."""
        for token in tokens:
            if token.text:
                self.delivered_in[token.index] = delivered_in


class StepChannel(ServerHabit):
    """0.11.1 to 0.13: a step's text goes where the step ends; a call's first step brings its name only."""

    leaks = False

    def step(self, tokens: Sequence[ParsedToken], before: str | None) -> Delta:
        end = tokens[-1]
        text = "".join(token.text for token in tokens)
        name = _function(end.recipient)
        if name is not None and end.channel == "commentary":
            if before != end.recipient:
                self.note(tokens, None)
                call = {"index": self.model.calls, "function": {"name": name, "arguments": ""}}
                return {"tool_calls": [call]}
            self.note(tokens, f"tool_calls[{self.model.calls}].arguments")
            return (
                {"tool_calls": [{"index": self.model.calls, "function": {"arguments": text}}]} if text else {}
            )
        delivered_in = {"final": "content", "analysis": "reasoning"}.get(end.channel or "")
        if delivered_in is None and self.leaks and text:
            delivered_in = "content"
        self.note(tokens, delivered_in)
        if delivered_in is None:
            return {}
        return (
            {delivered_in: text, "reasoning_content": text}
            if delivered_in == "reasoning"
            else {delivered_in: text}
        )


class StepChannelLeaking(StepChannel):
    """0.14: the same, and the text of a step that ends outside any message goes to content."""

    leaks = True


class LastToken(ServerHabit):
    """0.10: of each step only the last token's text is sent."""

    def step(self, tokens: Sequence[ParsedToken], before: str | None) -> Delta:
        self.note(tokens[:-1], None)
        *_, end = tokens
        name = _function(end.recipient)
        if name is not None and end.channel == "commentary":
            if before != end.recipient:
                self.note([end], None)
                call = {"index": self.model.calls, "function": {"name": name, "arguments": ""}}
                return {"tool_calls": [call]}
            self.note([end], f"tool_calls[{self.model.calls}].arguments")
            arguments = {"index": self.model.calls, "function": {"arguments": end.text}}
            return {"tool_calls": [arguments]} if end.text else {}
        delivered_in = {"final": "content", "analysis": "reasoning"}.get(end.channel or "")
        self.note([end], delivered_in)
        if delivered_in is None:
            return {}
        return {"reasoning_content" if delivered_in == "reasoning" else delivered_in: end.text}


class Grouped(ServerHabit):
    """0.15 to 0.23: a step's text goes by runs of one channel and recipient.

    Where a step closes a call, the end of its arguments is filed under the next call.
    """

    def step(self, tokens: Sequence[ParsedToken], before: str | None) -> Delta:
        delta: Delta = {}
        calls: list[Delta] = []
        open_call = _function(before) is not None
        base = self.model.calls
        following = base + 1 if open_call else base
        at, recipient = 0, before
        while at < len(tokens):
            end = at
            key = (tokens[at].channel, tokens[at].recipient)
            while end < len(tokens) and (tokens[end].channel, tokens[end].recipient) == key:
                end += 1
            run, at = tokens[at:end], end
            text = "".join(token.text for token in run)
            name = _function(run[0].recipient)
            if name is not None:
                opened = recipient != run[0].recipient
                if opened:
                    self.named[following] = run[0].call
                    calls.append({"index": following, "function": {"name": name, "arguments": ""}})
                    recipient = run[0].recipient
                    following += 1
                number = following - 1 if opened else base
                self.note(run, f"tool_calls[{number}].arguments")
                if text:
                    calls.append({"index": number, "function": {"arguments": text}})
                continue
            delivered_in = promised(run[0]) or ("reasoning" if run[0].channel == "analysis" else None)
            self.note(run, delivered_in)
            if delivered_in is not None and (text or delivered_in == "content"):
                delta[delivered_in] = delta.get(delivered_in, "") + text
        if calls:
            delta["tool_calls"] = calls
        return delta


class PerToken(ServerHabit):
    """From 0.32: each token by itself, and parser errors are passed over."""

    swallows = True

    def __init__(self) -> None:
        super().__init__()
        self.next_call = 0

    def step(self, tokens: Sequence[ParsedToken], before: str | None) -> Delta:
        delta: Delta = {}
        calls: list[Delta] = []
        recipient = before
        for token in tokens:
            if token.channel is None and token.recipient is None:
                recipient = None  # a closed message: the next call is a new one, whatever its name
                continue
            name = _function(token.recipient)
            if name is not None:
                if recipient != token.recipient:
                    calls.append(
                        {"index": self.next_call, "function": {"name": name, "arguments": token.text}}
                    )
                    self.next_call += 1
                    recipient = token.recipient
                elif token.text:
                    calls.append({"index": self.next_call - 1, "function": {"arguments": token.text}})
                self.note([token], f"tool_calls[{self.next_call - 1}].arguments")
                continue
            delivered_in = promised(token) or ("reasoning" if token.channel == "analysis" else None)
            self.note([token], delivered_in)
            if delivered_in is not None and token.text:
                delta[delivered_in] = delta.get(delivered_in, "") + token.text
        if calls:
            delta["tool_calls"] = calls
        return delta


HABITS: Mapping[str, type[ServerHabit]] = {
    "0.10": LastToken,
    "0.13": StepChannel,
    "0.14": StepChannelLeaking,
    "0.18": Grouped,
    "0.32": PerToken,
}


def _chunk(delta: Delta, ids: Sequence[int] | None, finish: str | None = None) -> str:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish, "token_ids": ids}
    return json.dumps({"object": "chat.completion.chunk", "model": "gpt-oss", "choices": [choice]})


def serve(habit: str, ids: Sequence[int], at_once: int, *, finish: str = "stop") -> ServedStream:
    """Serve a chat completion, `at_once` tokens a step."""
    server = HABITS[habit]()
    data = [_chunk({"role": "assistant", "content": ""}, None)]
    failed = False
    sent = 0
    for start in range(0, len(ids), at_once):
        step = list(ids[start : start + at_once])
        before = server.model.parser.current_recipient
        tokens: list[ParsedToken] = []
        try:
            for token_id in step:
                try:
                    tokens.append(server.model.parse(token_id))
                except HarmonyError:
                    if not server.swallows:
                        raise
        except HarmonyError as error:
            data.append(
                json.dumps({"error": {"message": str(error), "type": "BadRequestError", "code": 400}})
            )
            failed = True
            break
        delta = server.step(tokens, before) if tokens else {}
        sent += len(step)
        ended = start + at_once >= len(ids)
        data.append(_chunk(delta, step, finish if ended else None))
    if not failed:
        data.append(json.dumps({"choices": [], "usage": {"completion_tokens": len(ids)}}))
    data.append("[DONE]")
    events = [Event(payload, number * 0.01) for number, payload in enumerate(data)]
    capture = Capture(
        header=Header(endpoint=Endpoint.CHAT, status=200),
        events=events,
        end=End(at_s=None, cut=False),
    )
    delivered_in = {
        index: delivered_field for index, delivered_field in server.delivered_in.items() if index < sent
    }
    for index, delivered_field in delivered_in.items():
        number = tool_index(delivered_field or "")
        if number is not None:
            delivered_in[index] = tool_arguments(server.named.get(number, number))
    return ServedStream(capture=capture, delivered_in=delivered_in, sent=sent)


def promised_fields(ids: Sequence[int]) -> dict[int, str | None]:
    """Where each token's text belongs, by the strict parser; stops at its first refusal."""
    model = _Model()
    fields: dict[int, str | None] = {}
    for token_id in ids:
        try:
            token = model.parse(token_id)
        except HarmonyError:
            break
        if token.text:
            promise = promised(token)
            fields[token.index] = tool_arguments(token.call) if promise == "tool" else promise
    return fields
