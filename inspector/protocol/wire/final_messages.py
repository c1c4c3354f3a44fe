"""The messages of a Responses response, from its final object: what `reconstruct` encodes again.

`output_messages` (`enable_response_messages`) has them as Harmony has them. Without it the output items have
nearly the same: a reasoning item, a message and a call of a function are a message each, but without the
channel. Items of tools that the server runs do not have what the model wrote.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

from inspector.protocol.harmony.reconstruction import Certainty, Reconstruction, reconstruct
from inspector.protocol.harmony.spelling import ReportedMessage, TurnEnd
from inspector.protocol.wire.stream import loads, token_count

_JSON_TYPE: Final = " <|constrain|>json"
_CALL_TYPES: Final = (_JSON_TYPE, _JSON_TYPE.strip(), " json", "")
_CODE_TYPES: Final = (" <|constrain|>code", " code")


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalMessages:
    """What a final object reports of the sampled messages."""

    turns: tuple[tuple[ReportedMessage, ...], ...]
    as_harmony: bool
    """True when they come from `output_messages`."""
    total: int | None
    per_turn: tuple[int, ...] | None
    ending: TurnEnd


def reconstructed(response: Mapping[str, Any], *, limit: object = None) -> Reconstruction | None:
    """The reconstructed tokens of a final object; None if the object does not contain the messages.

    `limit` is what the request asked for as `max_output_tokens`, when it is known.
    """
    messages = final_messages(response, limit=limit)
    if messages is None:
        return None
    reconstruction = _reconstruct(messages)
    turns = _without_repeats(messages.turns)
    if reconstruction.certainty is not Certainty.DIFFERS or turns == messages.turns:
        return reconstruction
    without_repeats = _reconstruct(replace(messages, turns=turns))
    return without_repeats if without_repeats.confirmed else reconstruction


def _reconstruct(messages: FinalMessages) -> Reconstruction:
    return reconstruct(
        messages.turns, total=messages.total, per_turn=messages.per_turn, ending=messages.ending
    )


def final_messages(response: Mapping[str, Any], *, limit: object = None) -> FinalMessages | None:
    """The messages of a final object; None where it has only some of them."""
    total, per_turn = _counts(response.get("usage"))
    ending = _ending(response, limit, total)
    output = response.get("output")
    items = output if isinstance(output, list) else []
    messages = response.get("output_messages")
    several = len(per_turn) > 1 if per_turn is not None else _is_hollow(messages)
    turns = _harmony_turns(messages, items, several=several, ending=ending)
    as_harmony = turns is not None
    if turns is None:
        turn = None if per_turn is not None and len(per_turn) > 1 else _item_messages(items)
        if turn is None:
            return None
        turns = [turn]
    return FinalMessages(
        turns=tuple(tuple(turn) for turn in turns),
        as_harmony=as_harmony,
        total=total,
        per_turn=per_turn,
        ending=ending,
    )


def _counts(usage: object) -> tuple[int | None, tuple[int, ...] | None]:
    if not isinstance(usage, dict):
        return None, None
    details = usage.get("output_tokens_details")
    turns = details.get("output_tokens_per_turn") if isinstance(details, dict) else None
    counts = tuple(map(token_count, turns)) if isinstance(turns, list) else ()
    per_turn = tuple(counted for counted in counts if counted is not None)
    return token_count(usage.get("output_tokens")), per_turn if per_turn and per_turn == counts else None


def _ending(response: Mapping[str, Any], limit: object, total: int | None) -> TurnEnd:
    limit = response.get("max_output_tokens") if limit is None else limit
    most = limit if type(limit) is int else None
    if most is not None and total is not None and total < most:
        return TurnEnd.STOPPED  # vLLM calls a response without any item incomplete, whatever the limit
    if response.get("status") == "incomplete":
        details = response.get("incomplete_details")
        reason = details.get("reason") if isinstance(details, dict) else None
        return TurnEnd.CUT if reason == "max_output_tokens" else TurnEnd.EITHER
    return TurnEnd.STOPPED if most is None or total is None else TurnEnd.EITHER


def _harmony_turns(
    messages: object, items: Sequence[Any], *, several: bool, ending: TurnEnd
) -> list[list[ReportedMessage]] | None:
    """`output_messages` by turns, which the results of tools separate: the model did not sample those.

    With one turn only (not `several`) the model wrote all of them, whatever their role.
    """
    if not isinstance(messages, list) or not messages:
        return None
    turns: list[list[ReportedMessage]] = [[]]
    for message in filled(messages, items):
        text = _text(message.get("content")) if isinstance(message, dict) else None
        role = message.get("role") if isinstance(message, dict) else None
        if text is None or not isinstance(role, str):
            return None
        if role != "assistant" and several:
            if turns[-1]:
                turns.append([])
            continue
        name = message.get("name")
        turns[-1].append(
            ReportedMessage(
                text=text,
                channels=(_word(message.get("channel")),),
                recipient=_word(message.get("recipient")),
                content_types=_types(message, text),
                role=role if role == "assistant" or not isinstance(name, str) else name,
                raw=True,
            )
        )
    if ending is not TurnEnd.STOPPED:
        turns[-1].extend(_cut_off(turns, items))
    return turns


def filled(messages: Sequence[Any], items: Sequence[Any]) -> Sequence[Any]:
    """The messages of an unstreamed response to 0.19, which have no texts, with the texts of the items.

    As they are where they have texts, or where items and messages are not the same in number and kind.
    """
    if not _is_hollow(messages):
        return messages
    authors: list[Any] = [message.get("author") for message in messages]
    if not all(isinstance(author, dict) for author in authors):
        return messages
    sampled = [author.get("role") == "assistant" for author in authors]
    if sum(sampled) != len(items):
        return messages
    remaining = iter(items)
    complete: list[Any] = []
    for message, author, is_sampled in zip(messages, authors, sampled, strict=True):
        text = _text_of_item(next(remaining), message) if is_sampled else ""
        if text is None:
            return messages
        complete.append({**message, "role": author.get("role"), "name": author.get("name"), "content": text})
    return complete


def _is_hollow(messages: object) -> bool:
    """Whether messages have their headers and no texts, as vLLM up to 0.19 sends them."""
    return (
        isinstance(messages, list)
        and bool(messages)
        and all(isinstance(message, dict) and message.get("content") == [{}] for message in messages)
    )


def _text_of_item(item: object, message: Mapping[str, Any]) -> str | None:
    """What the model wrote in a message, from its item; None where the item leaves it out or differs."""
    if not isinstance(item, dict):
        return None
    kind, recipient = _word(item.get("type")), _word(message.get("recipient"))
    if kind == "function_call":
        arguments = item.get("arguments")
        same = recipient == f"functions.{item.get('name')}"
        return arguments if same and isinstance(arguments, str) else None
    if kind == "mcp_call":
        name, arguments = item.get("name"), item.get("arguments")
        same = recipient is not None and recipient in (name, f"{item.get('server_label')}.{name}")
        return arguments if same and isinstance(arguments, str) else None
    if recipient is not None and recipient.startswith("functions."):
        return None
    channel = _word(message.get("channel"))
    # vLLM up to 0.16 returns a preamble as a reasoning item.
    answers = channel in {"final", "commentary"} and kind in {"message", "reasoning"}
    thinks = kind == "reasoning" and (channel == "analysis" or recipient is not None)
    return _text(item.get("content")) if answers or thinks else None


def _cut_off(turns: Sequence[Sequence[ReportedMessage]], items: Sequence[Any]) -> Iterator[ReportedMessage]:
    """The message that the limit cut off: to 0.23 it is the last item, and not among the messages."""
    last = list(_item_messages(items[-1:]) or ())
    if last and not any(message.text == last[0].text for turn in turns for message in turn):
        yield last[0]


def _item_messages(items: Sequence[Any]) -> list[ReportedMessage] | None:
    """The items as messages; None where one does not have what the model wrote."""
    messages: list[ReportedMessage] = []
    for place, item in enumerate(items):
        message = _item_message(item, last=place == len(items) - 1)
        if message is None:
            return None
        messages.append(message)
    return messages


def _item_message(item: object, *, last: bool) -> ReportedMessage | None:
    if not isinstance(item, dict):
        return None
    kind = _word(item.get("type"))
    if kind in {"function_call", "mcp_call"}:
        return _call(item)
    text = _text(item.get("content"))
    if text is None:
        return None
    if kind == "reasoning":
        return ReportedMessage(text=text, channels=("analysis",), as_item=True)
    if kind == "message":
        return ReportedMessage(
            text=text,
            channels=("final",) if last else ("commentary", "final"),
            content_types=("", _JSON_TYPE) if _is_json(text) else ("",),
            as_item=True,
            raw=item.get("status") == "incomplete",
        )
    return None


def _call(item: Mapping[str, Any]) -> ReportedMessage | None:
    """A call for the client, or of a tool that no server has; None if a model cannot have made it."""
    text, name, server = item.get("arguments"), item.get("name"), item.get("server_label")
    if not isinstance(text, str) or not isinstance(name, str) or "<|" in name:
        return None
    owner = "functions" if item.get("type") == "function_call" else server
    return ReportedMessage(
        text=text,
        channels=("commentary", "analysis"),
        recipient=name if owner == name else f"{owner}.{name}",
        as_item=True,
        content_types=_CALL_TYPES if _is_json(text) else _CALL_TYPES + _CODE_TYPES,
    )


def _without_repeats(
    turns: tuple[tuple[ReportedMessage, ...], ...],
) -> tuple[tuple[ReportedMessage, ...], ...]:
    """Turns without the call before a tool's result, which vLLM to 0.23 reports again after it."""
    changed = list(turns[:1])
    for before, turn in pairwise(turns):
        again = bool(before) and turn[:1] == before[-1:] and turn[0].recipient is not None
        changed.append(turn[1:] if again else turn)
    return tuple(changed)


def _types(message: Mapping[str, Any], text: str) -> tuple[str, ...]:
    """The content type as a header may have it."""
    name = _word(message.get("content_type"))
    if name is not None:
        return (f" {name}", name) if name.startswith("<|") else (f" {name}",)
    # vLLM from 0.27 leaves out that of a final answer.
    answer = message.get("channel") == "final" and message.get("recipient") is None
    return ("", _JSON_TYPE) if answer and _is_json(text) else ("",)


def _is_json(text: str) -> bool:
    return isinstance(loads(text), dict | list)


def _word(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _text(content: object) -> str | None:
    """The text of a message's content; None where a part of it is no text."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else None
    if parts is None:
        return None
    texts = [part.get("text") if isinstance(part, dict) else None for part in parts]
    return (
        "".join(text for text in texts if isinstance(text, str))
        if all(isinstance(text, str) for text in texts)
        else None
    )
