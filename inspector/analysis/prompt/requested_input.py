"""What a Responses request asks the server to put into the prompt, item by item."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from inspector.analysis.prompt.requested import Item, ItemKind, Requested, begin, dumped, entries, text_in
from inspector.capture.capture import Endpoint
from inspector.capture.formats import clip
from inspector.protocol.wire.endpoints import spec_of

_ANSWER: Final = ("final", "commentary", "analysis")
"""An answer of the history has no channel: text beside a call looks like any other."""


def requested_by_responses(request: Mapping[str, Any]) -> Requested:
    """Read the body of a Responses request; what cannot be rendered is left out, and `unknown` says so."""
    requested = begin(request)
    for key in spec_of(Endpoint.RESPONSES).elsewhere:
        if request.get(key):
            requested.leave_uncompared(
                f"The request sets {key}, so only the server knows what the prompt should be."
            )
    history = request.get("input")
    if isinstance(history, str):
        history = [{"role": "user", "content": history}]
    items = entries(history, requested)
    if isinstance(instructions := request.get("instructions"), str) and instructions:
        requested.instructions.append((None, instructions))
    last = _last(items)
    names: dict[str, str] = {}
    for index, item in enumerate(items):
        if isinstance(item, Mapping):
            requested.items.extend(_items(index, item, requested, names, current=index > last))
    return requested


def _last(items: Sequence[object]) -> int:
    """The last message of the user or the assistant: reasoning behind it belongs to the unfinished turn."""
    places = (
        index
        for index, item in enumerate(items)
        if isinstance(item, Mapping) and item.get("role") in ("user", "assistant")
    )
    return max(places, default=-1)


def _items(
    index: int, item: Mapping[str, Any], requested: Requested, names: dict[str, str], *, current: bool
) -> Iterator[Item]:
    match item.get("type", "message"):
        case "message":
            yield from _message(index, item, requested)
        case "reasoning":
            text = text_in(item.get("content"), index, requested)
            if text.strip():
                yield Item(kind=ItemKind.REASONING, text=text, message=index, needed=current)
        case "function_call":
            name, call, arguments = str(item.get("name")), item.get("call_id"), item.get("arguments")
            if isinstance(call, str):
                names[call] = name
            if not isinstance(arguments, str):
                arguments = "" if arguments is None else dumped(arguments)
            yield Item(kind=ItemKind.CALL, text=arguments, message=index, name=name)
        case "function_call_output":
            call = item.get("call_id")
            text = text_in(item.get("output"), index, requested)
            named = names.get(call) if isinstance(call, str) else None
            yield Item(kind=ItemKind.RESULT, text=text, message=index, name=named)
        case other:
            type_words = repr(clip(other, 40)) if isinstance(other, str) else "no text"
            requested.leave_uncompared(
                f"Item {index} of the request has {type_words} as its type, which is not rendered here."
            )


def _message(index: int, item: Mapping[str, Any], requested: Requested) -> Iterator[Item]:
    role, text = item.get("role"), text_in(item.get("content"), index, requested)
    match role:
        case "system" | "developer":
            if text:
                requested.instructions.append((index, text))
        case "user":
            yield Item(kind=ItemKind.USER, text=text, message=index, needed=bool(text.strip()))
        case "assistant":
            if text.strip():
                yield Item(kind=ItemKind.ANSWER, text=text, message=index, channels=_ANSWER)
        case _:
            role_words = repr(clip(role, 40)) if isinstance(role, str) else "no role"
            requested.leave_uncompared(
                f"Message {index} of the request has {role_words} as its role, which is not rendered here."
            )
