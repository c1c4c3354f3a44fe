"""Turns in recorded rows and captures: the prompt's token IDs, and those of the response."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from inspector.data.lint.padding import unpadded
from inspector.protocol.harmony.vocab import Marker, encode

GROUPS: Final = (
    "conversation_id",
    "session_id",
    "rollout_id",
    "trajectory_id",
    "episode_id",
    "chat_id",
)
"""Keys of a row that name its conversation."""

_PROMPT: Final = ("prompt_token_ids", "prompt_ids", "input_token_ids")
_GENERATED: Final = (
    "generation_token_ids",
    "token_ids",
    "completion_token_ids",
    "completion_ids",
    "response_token_ids",
    "response_ids",
    "output_token_ids",
    "output_ids",
)
_PROMPT_TEXT: Final = ("prompt", "input")
_GENERATED_TEXT: Final = ("completion", "output", "response")
"""Keys under which TRL and verl have the texts."""
_DEEP: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One request and its response."""

    prompt: Sequence[int]
    generated: Sequence[int]
    from_text: bool = False
    """True where the IDs are computed from text: other tokens for the same text cannot be seen."""
    row: int = 0
    """The row that it comes from; the number of the file for captures."""


def turns_in(value: object, row: int, deep: int = _DEEP) -> Iterator[Turn]:
    """The turns of a recorded value, in its order, wherever they are in it."""
    if deep == 0:
        return
    if isinstance(value, Mapping):
        turns = list(_turns(value, row))
        if turns:
            yield from turns
            return
        children: Iterator[object] = iter(value.values())
    elif isinstance(value, list) and value and not isinstance(value[0], int | float | str):
        children = iter(value)
    else:
        return
    for child in children:
        yield from turns_in(child, row, deep - 1)


def _turns(value: Mapping[str, Any], row: int) -> Iterator[Turn]:
    """The turn, or the turns as two lists of lists, whose IDs an object holds."""
    prompt = _first(value, _PROMPT)
    if prompt is None:
        yield from _texts(value, row)
        return
    generated = _first(value, _GENERATED)
    if generated is None:  # chat completions: the prompt's IDs are beside the choices
        generated = next(
            (ids for choice in _choices(value) if (ids := _first(choice, _GENERATED)) is not None), None
        )
    if generated is None:
        return
    if _is_ids(prompt) and _is_ids(generated):
        yield _turn(prompt, generated, row)
    elif len(prompt) == len(generated):
        for prompt_ids, generated_ids in zip(prompt, generated, strict=True):
            if _is_ids(prompt_ids) and _is_ids(generated_ids):
                yield _turn(prompt_ids, generated_ids, row)


def _texts(value: Mapping[str, Any], row: int) -> Iterator[Turn]:
    """The turn whose Harmony texts an object holds."""
    prompt, generated = (
        next((text for key in keys if isinstance(text := value.get(key), str)), "")
        for keys in (_PROMPT_TEXT, _GENERATED_TEXT)
    )
    if Marker.MESSAGE.text in prompt and generated:
        ids = encode(prompt)
        all_ids = encode(prompt + generated)
        prompt_kept = all_ids[: len(ids)] == ids  # else a word goes on where the prompt ends
        yield Turn(
            prompt=ids,
            generated=all_ids[len(ids) :] if prompt_kept else encode(generated),
            from_text=True,
            row=row,
        )


def _turn(prompt: Sequence[int], generated: Sequence[int], row: int) -> Turn:
    """The turn without the padding of a batch."""
    first, end = unpadded(prompt)
    return Turn(prompt=prompt[first:end], generated=generated[: unpadded(generated)[1]], row=row)


def _choices(value: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    choices = value.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    for holder in (choice, choice.get("message") if isinstance(choice, Mapping) else None):
        if isinstance(holder, Mapping):
            yield holder


def _first(value: Mapping[str, Any], keys: Sequence[str]) -> list[Any] | None:
    return next((ids for key in keys if isinstance(ids := value.get(key), list)), None)


def _is_ids(value: object) -> bool:
    return isinstance(value, list) and all(type(token_id) is int for token_id in value)
