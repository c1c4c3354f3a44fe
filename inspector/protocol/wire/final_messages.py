"""The messages of a Responses answer, from its final object: what `reconstruct` encodes again.

`output_messages` (`enable_response_messages`) tells them as Harmony has them. Without it the output items say
nearly the same: a reasoning item, a message and a call of a function are a message each, though not in which
channel. Items of tools that the server runs do not hold what the model wrote.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from inspector.protocol.harmony.reconstruction import Certainty, Reconstruction, reconstruct
from inspector.protocol.harmony.spelling import Ending, Told
from inspector.protocol.wire.stream import loads, token_count

_JSON_TYPE: Final = " <|constrain|>json"
_CALL_TYPES: Final = (_JSON_TYPE, _JSON_TYPE.strip(), " json", "")
_CODE_TYPES: Final = (" <|constrain|>code", " code")


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalMessages:
    """What a final object tells of the sampled messages."""

    turns: tuple[tuple[Told, ...], ...]
    as_harmony: bool
    """True when `output_messages` told them."""
    total: int | None
    per_turn: tuple[int, ...] | None
    ending: Ending


def reconstructed(response: Mapping[str, Any], *, limit: object = None) -> Reconstruction | None:
    """The reconstructed tokens of a final object; None where it does not tell the messages.

    `limit` is what the request asked for as `max_output_tokens`, when it is known.
    """
    told = final_messages(response, limit=limit)
    if told is None:
        return None
    found = _of(told, told.turns)
    if found.certainty is Certainty.DIFFERS and (turns := _without_repeats(told.turns)) != told.turns:
        again = _of(told, turns)
        return again if again.confirmed else found
    return found


def _of(told: FinalMessages, turns: Sequence[Sequence[Told]]) -> Reconstruction:
    return reconstruct(turns, total=told.total, per_turn=told.per_turn, ending=told.ending)


def final_messages(response: Mapping[str, Any], *, limit: object = None) -> FinalMessages | None:
    """The messages that a final object tells; None where it tells them in part only."""
    total, per_turn = _counts(response.get("usage"))
    ending = _ending(response, limit, total)
    output = response.get("output")
    items = output if isinstance(output, list) else []
    messages = response.get("output_messages")
    several = len(per_turn) > 1 if per_turn is not None else _is_hollow(messages)
    turns = _harmony_turns(messages, items, several=several, ending=ending)
    as_harmony = turns is not None
    if turns is None:
        told = None if per_turn is not None and len(per_turn) > 1 else _item_messages(items)
        if told is None:
            return None
        turns = [told]
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


def _ending(response: Mapping[str, Any], limit: object, total: int | None) -> Ending:
    told = response.get("max_output_tokens") if limit is None else limit
    most = told if type(told) is int else None
    if most is not None and total is not None and total < most:
        return Ending.STOPPED  # vLLM calls an answer without any item incomplete, whatever the limit
    if response.get("status") == "incomplete":
        details = response.get("incomplete_details")
        reason = details.get("reason") if isinstance(details, dict) else None
        return Ending.CUT if reason == "max_output_tokens" else Ending.EITHER
    return Ending.STOPPED if most is None or total is None else Ending.EITHER


def _harmony_turns(
    told: object, items: Sequence[Any], *, several: bool, ending: Ending
) -> list[list[Told]] | None:
    """`output_messages` by turns; the answers of tools, which nobody sampled, part them.

    With one turn only (not `several`) the model wrote all of them, whatever their role.
    """
    if not isinstance(told, list) or not told:
        return None
    found: list[list[Told]] = [[]]
    for message in filled(told, items):
        text = _text(message.get("content")) if isinstance(message, dict) else None
        role = message.get("role") if isinstance(message, dict) else None
        if text is None or not isinstance(role, str):
            return None
        if role != "assistant" and several:
            if found[-1]:
                found.append([])
            continue
        name = message.get("name")
        found[-1].append(
            Told(
                text=text,
                channels=(_word(message.get("channel")),),
                recipient=_word(message.get("recipient")),
                content_types=_types(message, text),
                role=role if role == "assistant" or not isinstance(name, str) else name,
                raw=True,
            )
        )
    if ending is not Ending.STOPPED:
        found[-1].extend(_left_out(found, items))
    return found


def filled(told: Sequence[Any], items: Sequence[Any]) -> Sequence[Any]:
    """The messages of an unstreamed response to 0.19, which have no texts, with those of the items.

    As they are where they have texts, or where items and messages are not the same in number and kind.
    """
    if not _is_hollow(told):
        return told
    authors: list[Any] = [one.get("author") for one in told]
    if not all(isinstance(one, dict) for one in authors):
        return told
    sampled = [author.get("role") == "assistant" for author in authors]
    if sum(sampled) != len(items):
        return told
    texts = iter(items)
    found: list[Any] = []
    for message, author, own in zip(told, authors, sampled, strict=True):
        text = _text_of_item(next(texts), message) if own else ""
        if text is None:
            return told
        found.append({**message, "role": author.get("role"), "name": author.get("name"), "content": text})
    return found


def _is_hollow(told: object) -> bool:
    """Whether messages have their headers and no texts, as vLLM up to 0.19 sends them."""
    return (
        isinstance(told, list)
        and bool(told)
        and all(isinstance(one, dict) and one.get("content") == [{}] for one in told)
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


def _left_out(turns: Sequence[Sequence[Told]], items: Sequence[Any]) -> Iterator[Told]:
    """The message that the limit cut off: to 0.23 it is the last item, and not among the messages."""
    last = list(_item_messages(items[-1:]) or ())
    if last and not any(told.text == last[0].text for turn in turns for told in turn):
        yield last[0]


def _item_messages(items: Sequence[Any]) -> list[Told] | None:
    """The items as messages; None where one does not hold what the model wrote."""
    found: list[Told] = []
    for place, item in enumerate(items):
        kind = item.get("type") if isinstance(item, dict) else None
        match kind:
            case "reasoning":
                text = _text(item.get("content"))
                channels: tuple[str | None, ...] = ("analysis",)
                told = None if text is None else Told(text=text, channels=channels, as_item=True)
            case "message":
                text = _text(item.get("content"))
                last = place == len(items) - 1
                channels = ("final",) if last else ("commentary", "final")
                types = ("", _JSON_TYPE) if text is not None and _is_json(text) else ("",)
                raw = item.get("status") == "incomplete"
                told = (
                    None
                    if text is None
                    else Told(text=text, channels=channels, content_types=types, as_item=True, raw=raw)
                )
            case "function_call" | "mcp_call":
                told = _call(item)
            case _:
                told = None
        if told is None:
            return None
        found.append(told)
    return found


def _call(item: Mapping[str, Any]) -> Told | None:
    """A call that the client makes, or of a tool that nobody serves; None for what no model calls."""
    text, name, server = item.get("arguments"), item.get("name"), item.get("server_label")
    if not isinstance(text, str) or not isinstance(name, str) or "<|" in name:
        return None
    owner = "functions" if item.get("type") == "function_call" else server
    return Told(
        text=text,
        channels=("commentary", "analysis"),
        recipient=name if owner == name else f"{owner}.{name}",
        as_item=True,
        content_types=_CALL_TYPES if _is_json(text) else _CALL_TYPES + _CODE_TYPES,
    )


def _without_repeats(turns: tuple[tuple[Told, ...], ...]) -> tuple[tuple[Told, ...], ...]:
    """Turns without the call that came before the tool's answer, which vLLM to 0.23 tells again after it."""
    found = list(turns[:1])
    for before, turn in pairwise(turns):
        again = bool(before) and turn[:1] == before[-1:] and turn[0].recipient is not None
        found.append(turn[1:] if again else turn)
    return tuple(found)


def _types(message: Mapping[str, Any], text: str) -> tuple[str, ...]:
    """The content type as a header may have it."""
    told = _word(message.get("content_type"))
    if told is not None:
        return (f" {told}", told) if told.startswith("<|") else (f" {told}",)
    # vLLM from 0.27 leaves out that of an answer.
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
