"""What a Responses request asks the server to put into the prompt, item by item."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from inspector.analysis.prompt.asked import Asked, Item, ItemKind, begin, dumped, entries, text_in
from inspector.capture.capture import Endpoint
from inspector.capture.formats import clip
from inspector.protocol.wire.endpoints import spec_of

_ANSWER: Final = ("final", "commentary", "analysis")
"""An answer of the history says no channel: what stood beside a call looks like any other."""


def asked_input(request: Mapping[str, Any]) -> Asked:
    """Read the body of a Responses request; what cannot be rendered is left out, and `unknown` says so."""
    found = begin(request)
    for key in spec_of(Endpoint.RESPONSES).elsewhere:
        if request.get(key):
            found.refuse(f"The request sets {key}, so only the server knows what the prompt should be.")
    told = request.get("input")
    if isinstance(told, str):
        told = [{"role": "user", "content": told}]
    items = entries(told, found)
    if isinstance(instructions := request.get("instructions"), str) and instructions:
        found.instructions.append((None, instructions))
    last = _last(items)
    names: dict[str, str] = {}
    for index, item in enumerate(items):
        if isinstance(item, Mapping):
            found.items.extend(_items(index, item, found, names, current=index > last))
    return found


def _last(items: Sequence[object]) -> int:
    """The last message of the user or the assistant: reasoning behind it belongs to the unfinished turn."""
    places = (
        index
        for index, item in enumerate(items)
        if isinstance(item, Mapping) and item.get("role") in ("user", "assistant")
    )
    return max(places, default=-1)


def _items(
    index: int, item: Mapping[str, Any], found: Asked, names: dict[str, str], *, current: bool
) -> Iterator[Item]:
    match item.get("type", "message"):
        case "message":
            yield from _message(index, item, found)
        case "reasoning":
            text = text_in(item.get("content"), index, found)
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
            text = text_in(item.get("output"), index, found)
            named = names.get(call) if isinstance(call, str) else None
            yield Item(kind=ItemKind.RESULT, text=text, message=index, name=named)
        case other:
            shown = repr(clip(other, 40)) if isinstance(other, str) else "no text"
            found.refuse(f"Item {index} of the request has {shown} as its type, which is not rendered here.")


def _message(index: int, item: Mapping[str, Any], found: Asked) -> Iterator[Item]:
    role, text = item.get("role"), text_in(item.get("content"), index, found)
    match role:
        case "system" | "developer":
            if text:
                found.instructions.append((index, text))
        case "user":
            yield Item(kind=ItemKind.USER, text=text, message=index, needed=bool(text.strip()))
        case "assistant":
            if text.strip():
                yield Item(kind=ItemKind.ANSWER, text=text, message=index, channels=_ANSWER)
        case _:
            shown = repr(clip(role, 40)) if isinstance(role, str) else "no role"
            found.refuse(
                f"Message {index} of the request has {shown} as its role, which is not rendered here."
            )
