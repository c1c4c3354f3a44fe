"""Random chat responses, delivered as the contract says, and with one fault that no release has.

What should be delivered is computed with the reference parser; nothing here asks the code under test.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from random import Random
from typing import Any

from openai_harmony import HarmonyError, Role, StreamableParser, StreamState

from inspector.capture.capture import Capture, End, Endpoint, Event, EventKind, Header
from inspector.protocol.harmony.vocab import Marker, encoding
from tests.support.random_scripts import random_script

__all__ = ["FaultPiece", "FaultResponse", "PieceFault", "capture_of", "faulty", "response", "responses"]


_CALL = "call"
_SPECIAL = frozenset(map(encoding().decode, [[marker] for marker in Marker]))


class PieceFault(StrEnum):
    """What happens to one piece of delivered text."""

    DROP = "drop"
    GARBLE = "garble"
    MISFILE = "misfile"
    TRUNCATE = "truncate"
    """The rest of its field is lost."""
    DUPLICATE = "duplicate"


@dataclass(frozen=True, slots=True)
class FaultPiece:
    """Text of one token, and where it is delivered."""

    token: int
    field: str
    """`reasoning`, `content`, or the number of a call."""
    text: str
    message: int
    """The message that it belongs to, counted from 0."""
    header: tuple[str | None, str | None]
    """The channel and the recipient of that message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultResponse:
    """A completion and its delivery."""

    ids: Sequence[int]
    pieces: Sequence[FaultPiece]
    calls: Mapping[int, tuple[int, str]]
    """By number of the call: the token before its body, and its name."""


def response(ids: Sequence[int]) -> FaultResponse | None:
    """What the contract delivers; None where the model is at fault, or some text has no field."""
    parser = StreamableParser(encoding(), role=Role.ASSISTANT)
    pieces: list[FaultPiece] = []
    calls: dict[int, tuple[int, str]] = {}
    fields: dict[int, str] = {}
    for token, token_id in enumerate(ids):
        message = len(parser.messages)
        try:
            parser.process(token_id)
        except HarmonyError:
            return None
        if len(parser.messages) > message or parser.state is not StreamState.CONTENT:
            continue
        header = parser.current_channel, parser.current_recipient
        if message not in fields:
            field = _field(parser.current_role, *header)
            if field == _CALL:
                field = str(len(calls))
                calls[len(calls)] = token, (header[1] or "").removeprefix("functions.")
            fields[message] = field
        text = parser.last_content_delta or ""
        if not fields[message] or text in _SPECIAL:
            return None
        if text:
            pieces.append(FaultPiece(token, fields[message], text, message, header))
    texts = (_text(pieces, str(number)) for number in calls)
    cut = parser.state is not StreamState.EXPECT_START or "\ufffd" in encoding().decode(ids)
    if cut or not all(map(_is_json, texts)):
        return None
    return FaultResponse(ids=ids, pieces=pieces, calls=calls)


def _field(role: Role | None, channel: str | None, recipient: str | None) -> str:
    """Where a message is delivered; empty for nowhere."""
    if role is not Role.ASSISTANT:
        return ""
    if recipient is not None and recipient.startswith("functions."):
        return _CALL
    if recipient is not None and not (channel == "final" and recipient.startswith("<|constrain|>")):
        return ""
    return {"analysis": "reasoning", "commentary": "content", "final": "content"}.get(channel or "", "")


def _text(pieces: Iterable[FaultPiece], field: str) -> str:
    return "".join(piece.text for piece in pieces if piece.field == field)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def faulty(delivered: FaultResponse, fault: PieceFault, random: Random) -> FaultResponse:
    """The response with a fault at a random piece."""
    pieces = list(delivered.pieces)
    at = random.randrange(len(pieces))
    piece = pieces[at]
    match fault:
        case PieceFault.DROP:
            pieces[at : at + 1] = []
        case PieceFault.GARBLE:
            pieces[at : at + 1] = [replace(piece, text="#" * len(piece.text))]
        case PieceFault.MISFILE:
            other_fields = sorted({"reasoning", "content", *map(str, delivered.calls)} - {piece.field})
            pieces[at : at + 1] = [replace(piece, field=random.choice(other_fields))]
        case PieceFault.TRUNCATE:
            pieces[at:] = [later for later in pieces[at:] if later.field != piece.field]
        case PieceFault.DUPLICATE:
            pieces[at : at + 1] = [piece, piece]
    return replace(delivered, pieces=pieces)


def responses(random: Random) -> Iterator[FaultResponse]:
    """Random well-formed completions with their delivery, without end."""
    while True:
        delivered = response(random_script(random))
        if delivered is not None and delivered.pieces:
            yield delivered


def capture_of(
    delivered: FaultResponse,
    random: Random,
    *,
    streamed: bool,
    version: str | None,
    owner: str | None = "vllm",
) -> Capture:
    """The capture of a delivery; where it is streamed, with up to four tokens per event."""
    request: dict[str, Any] = {"model": "openai/gpt-oss-20b", "stream": streamed, "return_token_ids": True}
    names = sorted({name for _, name in delivered.calls.values()})
    if names:
        request["tools"] = [{"type": "function", "function": {"name": name}} for name in names]
    events = _streamed(delivered, random) if streamed else [_body(delivered)]
    header = Header(
        endpoint=Endpoint.CHAT,
        request=request,
        model="openai/gpt-oss-20b",
        server_version=version,
        owned_by=owner,
        status=200,
    )
    return Capture(header=header, events=events, end=End(at_s=1.0, cut=False))


def _streamed(delivered: FaultResponse, random: Random) -> list[Event]:
    longest_step, start = random.choice([1, 1, 2, 4]), 0
    payloads: list[Any] = []
    while start < len(delivered.ids):
        tokens = range(start, start + random.randint(1, longest_step))
        start = tokens.stop
        ids = list(delivered.ids[tokens.start : tokens.stop])
        finish = ("tool_calls" if delivered.calls else "stop") if start >= len(delivered.ids) else None
        choice = {"index": 0, "delta": _delta(delivered, tokens), "finish_reason": finish, "token_ids": ids}
        payloads.append({"object": "chat.completion.chunk", "choices": [choice]})
    payloads.append({"choices": [], "usage": {"completion_tokens": len(delivered.ids)}})
    data = [*map(json.dumps, payloads), "[DONE]"]
    return [Event(text, number * 0.01) for number, text in enumerate(data)]


def _delta(delivered: FaultResponse, tokens: range) -> dict[str, Any]:
    delta: dict[str, Any] = {}
    calls: dict[int, dict[str, Any]] = {
        number: {"index": number, "id": f"call_{number}", "type": "function", "function": {"name": name}}
        for number, (first, name) in delivered.calls.items()
        if first in tokens
    }
    for piece in delivered.pieces:
        if piece.token not in tokens:
            continue
        if not piece.field.isdecimal():
            delta[piece.field] = delta.get(piece.field, "") + piece.text
            continue
        call = calls.setdefault(int(piece.field), {"index": int(piece.field), "function": {}})
        function = call["function"]
        function["arguments"] = function.get("arguments", "") + piece.text
    if calls:
        delta["tool_calls"] = [calls[number] for number in sorted(calls)]
    return delta


def _body(delivered: FaultResponse) -> Event:
    calls = [
        {
            "id": f"call_{number}",
            "type": "function",
            "function": {"name": name, "arguments": _text(delivered.pieces, str(number))},
        }
        for number, (_, name) in delivered.calls.items()
    ]
    message = {
        "role": "assistant",
        "content": _text(delivered.pieces, "content") or None,
        "reasoning": _text(delivered.pieces, "reasoning") or None,
        "tool_calls": calls,
    }
    choice = {
        "index": 0,
        "message": message,
        "finish_reason": "tool_calls" if calls else "stop",
        "token_ids": list(delivered.ids),
    }
    usage = {"completion_tokens": len(delivered.ids)}
    body = {"object": "chat.completion", "choices": [choice], "usage": usage}
    return Event(json.dumps(body), 0.02, kind=EventKind.BODY)
