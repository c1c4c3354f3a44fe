"""Delivered tool calls paired with generated ones: a lost call shifts the indexes of those after it."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from inspector.analysis.reading import ChoiceReading
from inspector.capture.deltas import Delta, by_field, tool_arguments, tool_index, tool_name
from inspector.protocol.harmony.text import text_of

_COMPARED_AT_MOST: Final = 200
"""Calls up to which every pair is weighed."""


class _Call(NamedTuple):
    name: str
    arguments: str
    first_event: int
    last_event: int


def arrived(choice: ChoiceReading) -> list[int | None]:
    """For each generated call the index under which its name was delivered; None if it was not delivered."""
    return _arrived(_generated(choice), choice)


def arrived_by_final(choice: ChoiceReading) -> list[int | None]:
    """The same for the calls of the final object: servers stream no event for a call without arguments."""
    count = 0
    while tool_name(count) in choice.finals:
        count += 1
    calls = [
        _Call(choice.finals[tool_name(number)], choice.finals.get(tool_arguments(number), ""), -1, -1)
        for number in range(count)
    ]
    return _arrived(calls, choice)


def _arrived(generated: Sequence[_Call], choice: ChoiceReading) -> list[int | None]:
    delivered = _delivered(choice)
    numbers = sorted(delivered)
    indexes: list[int | None] = [None] * len(generated)
    for place, match in _pairs(generated, [delivered[number] for number in numbers]):
        indexes[place] = numbers[match]
    return indexes


def renumbered(choice: ChoiceReading, indexes: Sequence[int | None]) -> Mapping[str, Sequence[Delta]]:
    """The deltas by field, with each paired call under the number of the generated one."""
    names = {
        name: after
        for number, index in enumerate(indexes)
        if index is not None and index != number
        for name, after in (
            (tool_name(index), tool_name(number)),
            (tool_arguments(index), tool_arguments(number)),
        )
    }
    if not names:
        return choice.deltas_by_field()
    return by_field(
        Delta(delta.event, names.get(delta.field, delta.field), delta.text) for delta in choice.deltas
    )


def _generated(choice: ChoiceReading) -> list[_Call]:
    events, messages = choice.tokens.events, choice.transcript.messages
    calls = []
    for call in choice.expected.calls:
        place = call.segment.message
        message = messages[place] if place is not None else None
        start, end = (message.start, message.end) if message is not None else (0, 0)
        arguments = text_of(choice.tokens.ids[call.segment.start : call.segment.end])
        calls.append(_Call(call.name, arguments, events[start], events[end - 1]))
    return calls


def _delivered(choice: ChoiceReading) -> dict[int, _Call]:
    names: dict[int, Sequence[Delta]] = {}
    arguments: dict[int, str] = {}
    for field, deltas in choice.deltas_by_field().items():
        number = tool_index(field)
        if number is None:
            continue
        if field.endswith(".name"):
            names[number] = deltas
        else:
            arguments[number] = "".join(delta.text for delta in deltas)
    return {
        number: _Call(
            "".join(delta.text for delta in deltas),
            arguments.get(number, ""),
            deltas[0].event,
            deltas[-1].event,
        )
        for number, deltas in names.items()
    }


def _pairs(generated: Sequence[_Call], delivered: Sequence[_Call]) -> list[tuple[int, int]]:
    """The pairs of most weight that keep the order; pairs by number if each of those has some weight."""
    same = min(len(generated), len(delivered))
    alike = all(_weight(a, b) > 0 for a, b in zip(generated, delivered, strict=False))
    if (len(generated) == len(delivered) and alike) or same > _COMPARED_AT_MOST:
        return [(number, number) for number in range(same)]
    best = [[0] * (len(delivered) + 1) for _ in range(len(generated) + 1)]
    for i in range(len(generated) - 1, -1, -1):
        for j in range(len(delivered) - 1, -1, -1):
            paired = best[i + 1][j + 1] + _weight(generated[i], delivered[j])
            best[i][j] = max(paired, best[i + 1][j], best[i][j + 1])
    pairs: list[tuple[int, int]] = []
    i = j = 0
    while i < len(generated) and j < len(delivered):
        weight = _weight(generated[i], delivered[j])
        if weight and best[i][j] == best[i + 1][j + 1] + weight:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs


def _weight(generated: _Call, delivered: _Call) -> int:
    """Similarity of two calls: by event first, then name, then arguments."""
    weight = 0
    if 0 <= generated.first_event <= delivered.first_event <= generated.last_event:
        weight += 9
    elif 0 <= generated.first_event <= delivered.first_event == generated.last_event + 1:
        weight += 8  # a server may send text one event later
    weight += 4 * (generated.name == delivered.name)
    if weight and generated.arguments == delivered.arguments:
        weight += 2
    return weight
