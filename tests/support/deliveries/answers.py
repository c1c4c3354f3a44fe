"""One choice as steps of tokens with the text that a server delivers for them, right or with a fault."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from random import Random

from inspector.capture.capture import Endpoint
from inspector.protocol.harmony.vocab import MARKERS
from tests.support.deliveries.scripts import (
    CONTENT,
    REASONING,
    STOPS,
    TEXT,
    ChoiceScript,
    changed,
    pieces_of,
    script_of,
    well_formed,
)
from tests.support.deliveries.truth import joins

__all__ = [
    "Bit",
    "EventPart",
    "ServedChoice",
    "all_bits",
    "answer_of",
    "damage",
    "hide_reasoning",
    "hold_back",
    "texts_of",
]


@dataclass(slots=True)
class Bit:
    """Text that an event delivers in a field."""

    field: str
    text: str
    token: int
    message: int


@dataclass(slots=True)
class EventPart:
    """What an event brings of one choice."""

    first: int
    """Its first token."""
    ids: Sequence[int]
    bits: list[Bit] = field(default_factory=list)
    shows_ids: bool = True


@dataclass(slots=True)
class ServedChoice:
    """One choice on its way into events."""

    script: ChoiceScript
    steps: list[EventPart]
    generated: dict[str, list[str]]
    final_texts: dict[str, list[str]]
    faulty: frozenset[int]
    finish: str
    stopped_by: str = ""
    error: str = ""
    rejected: int | None = None
    unheard: bool = False


def answer_of(
    random: Random, fault: str, endpoint: Endpoint, *, reports_errors: bool, skip_special: bool
) -> ServedChoice:
    ids = well_formed(random, harmony_only=endpoint is Endpoint.RESPONSES and random.random() < 0.8)
    finish = "stop"
    if fault not in {"stop", "hide_reasoning"}:
        if random.random() < 0.2:
            ids = changed(ids, random)
        if random.random() < 0.1:
            ids = ids[: random.randint(1, len(ids))]
    stop_string, cut = "", 0
    script = script_of(ids)
    if fault == "stop" and (stop_match := _stop_string(script, random)) is not None:
        stop_string, end, cut = stop_match
        script = script_of(ids[: end + 1])
    ids = list(script.ids)
    parsed = endpoint is not Endpoint.COMPLETIONS
    rejected = script.rejected if parsed else None
    reports_error = reports_errors and rejected is not None
    count = len(ids)
    steps = _steps(count, random, ids)
    bits = list(_bits(script)) if parsed else list(_raw_bits(ids, skip_special=skip_special))
    if stop_string:
        bits = _without_tail(bits, cut)
    _place(bits, steps)
    if reports_error and rejected is not None:
        # A step in which the parser fails is not sent.
        steps = [step for step in steps if step.first + len(step.ids) <= rejected]
    generated = _by_message(bits if not reports_error else all_bits(steps))
    if finish == "stop" and not stop_string and ids[-1] not in STOPS:
        finish = "length"
    if finish == "stop" and script.messages and script.messages[-1].name is not None and parsed:
        finish = "tool_calls"
    return ServedChoice(
        script=script,
        steps=steps,
        generated=generated,
        final_texts={},
        faulty=frozenset(),
        finish=finish,
        stopped_by=stop_string,
        error=script.error if reports_error else "",
        rejected=script.rejected,
        unheard=rejected is not None and any(token_id not in MARKERS for token_id in ids[rejected:]),
    )


def _steps(count: int, random: Random, ids: Sequence[int]) -> list[EventPart]:
    size = random.choice([1, 1, 2, 3, 5, 0])
    steps: list[EventPart] = []
    place = 0
    while place < count:
        width = size or random.choice([1, 1, 2, 4, 7])
        steps.append(EventPart(place, ids[place : place + width]))
        place += width
    return steps


def _place(bits: Iterable[Bit], steps: Sequence[EventPart]) -> None:
    """Each bit into the event of its token."""
    number = 0
    for bit in bits:
        while bit.token >= steps[number].first + len(steps[number].ids):
            number += 1
        steps[number].bits.append(bit)


def _bits(script: ChoiceScript) -> Iterator[Bit]:
    for number, message in enumerate(script.messages):
        if message.field is None:
            continue
        if message.name is not None:
            yield Bit(message.field.replace("arguments", "name"), message.name, message.at, number)
        for token, text in message.pieces:
            if text:
                yield Bit(message.field, text, token, number)


def _raw_bits(ids: Sequence[int], *, skip_special: bool) -> Iterator[Bit]:
    end = len(ids) - (ids[-1] in STOPS)
    shown = [place for place in range(end) if not (skip_special and ids[place] >= 199998)]
    for token, text in pieces_of(ids, shown):
        if text:
            yield Bit(TEXT, text, token, 0)


def texts_of(bits: Iterable[Bit]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for bit in bits:
        texts[bit.field] = texts.get(bit.field, "") + bit.text
    return {name: text for name, text in texts.items() if text}


def _by_message(bits: Iterable[Bit]) -> dict[str, list[str]]:
    texts: dict[str, dict[int, str]] = {}
    for bit in bits:
        messages = texts.setdefault(bit.field, {})
        messages[bit.message] = messages.get(bit.message, "") + bit.text
    return {name: list(messages.values()) for name, messages in texts.items()}


def all_bits(steps: Sequence[EventPart]) -> list[Bit]:
    return [bit for step in steps for bit in step.bits]


def _stop_string(script: ChoiceScript, random: Random) -> tuple[str, int, int] | None:
    """A stop string within the answer, the token that completes it, and how many characters it cuts off."""
    answers = [message for message in script.messages if message.field == CONTENT]
    if not answers or script.rejected is not None or "\ufffd" in answers[-1].text:
        return None
    message = answers[-1]
    text = message.text
    if len(text) < 4:
        return None
    start = random.randrange(1, len(text) - 1)
    string = text[start : start + random.randint(1, 4)]
    if not string.strip() or string in "".join(m.text for m in script.messages if m is not message):
        return None
    start = text.index(string)
    read = 0
    for token, piece in message.pieces:
        read += len(piece)
        if read >= start + len(string):
            return string, token, read - start
    return None


def _without_tail(bits: Sequence[Bit], count: int) -> list[Bit]:
    remaining = [replace(bit) for bit in bits]
    while count and remaining:
        last = remaining[-1]
        removed = min(count, len(last.text))
        last.text = last.text[: len(last.text) - removed]
        count -= removed
        if not last.text:
            remaining.pop()
    return remaining


def hold_back(steps: Sequence[EventPart], random: Random) -> None:
    """Text that arrives an event later than its tokens."""
    for step, following in pairwise(steps):
        if random.random() < 0.3:
            following.bits[:0], step.bits = step.bits, []


def hide_reasoning(answer: ServedChoice, random: Random) -> bool:
    """Reasoning that the request does not want: neither its text nor the IDs of its tokens are sent."""
    hidden: set[int] = set()
    as_rust = random.random() < 0.5
    for message, after in zip(answer.script.messages, [*answer.script.messages[1:], None], strict=True):
        if message.field != REASONING:
            continue
        hidden |= {token for token, _ in message.pieces}
        if as_rust and after is not None and message.pieces:
            hidden |= set(range(message.at + 1, after.at + 2))  # to the first of the next message
    if not hidden:
        return False
    for step in answer.steps:
        step.bits = [bit for bit in step.bits if bit.field != REASONING]
        step.ids = [token_id for place, token_id in enumerate(step.ids, step.first) if place not in hidden]
    return True


def damage(answer: ServedChoice, fault: str, random: Random, endpoint: Endpoint) -> bool:
    """Put a fault into an answer; False where none fits that changes what a client reads."""
    for _ in range(8):
        steps = [replace(step, bits=[replace(bit) for bit in step.bits]) for step in answer.steps]
        faulty = _apply(fault, steps, random, endpoint)
        if not faulty:
            continue
        delivered = texts_of(all_bits(steps))
        names = {*answer.generated, *delivered}
        if all(
            joins(answer.generated.get(name, ()), delivered.get(name, ""), json_too="arguments" in name)
            for name in names
        ):
            continue  # equal words exchanged, or white space of JSON
        answer.steps, answer.faulty = steps, faulty
        return True
    return False


def _apply(fault: str, steps: list[EventPart], random: Random, endpoint: Endpoint) -> frozenset[int]:
    """Put one fault into a delivery; the tokens at fault, none where it does not fit."""
    bits = all_bits(steps)
    bodies = [bit for bit in bits if not bit.field.endswith(".name")]
    names = [bit for bit in bits if bit.field.endswith(".name")]

    def remove(lost_bits: Iterable[Bit]) -> frozenset[int]:
        lost = list(lost_bits)
        for step in steps:
            step.bits = [bit for bit in step.bits if not any(bit is lost_bit for lost_bit in lost)]
        return frozenset(bit.token for bit in lost)

    def step_of(searched: Bit) -> tuple[EventPart, int]:
        return next((step, place) for step in steps for place, bit in enumerate(step.bits) if bit is searched)

    if fault in {"rename", "lose_call"}:
        if not names:
            return frozenset()
        call = random.choice(names)
        if fault == "rename":
            call.text = call.text[:-1] + "z" if random.random() < 0.5 else "other"
            return frozenset({call.token})
        return remove([bit for bit in bits if bit.message == call.message])
    if not bodies:
        return frozenset()
    bit = random.choice(bodies)
    match fault:
        case "drop":
            return remove([bit])
        case "range":
            at = bodies.index(bit)
            return remove(bodies[at : at + random.randint(2, 6)])
        case "truncate":
            same_field = [body for body in bodies if body.field == bit.field]
            return remove(same_field[next(place for place, each in enumerate(same_field) if each is bit) :])
        case "garble":
            place = random.randrange(len(bit.text))
            bit.text = bit.text[:place] + random.choice("#�?x") + bit.text[place + 1 :]
            return frozenset({bit.token})
        case "newline" | "invent" | "duplicate":
            step, place = step_of(bit)
            extra = {"newline": "\n", "invent": " really", "duplicate": bit.text}[fault]
            step.bits.insert(place + 1, Bit(bit.field, extra, bit.token, bit.message))
            return frozenset({bit.token})
        case "misfile":
            other_fields = [body for body in bodies if body.field != bit.field]
            if other_fields:
                replacement = random.choice(other_fields)
                bit.field, bit.message = replacement.field, replacement.message
            elif endpoint is Endpoint.CHAT:
                bit.field = REASONING if bit.field == CONTENT else CONTENT
            else:
                return frozenset()
            return frozenset({bit.token})
        case "reorder":
            runs = [
                (step, start, middle, end)
                for step in steps
                for start in range(len(step.bits))
                for middle in range(start + 1, min(start + 4, len(step.bits)))
                for end in range(middle + 1, min(middle + 4, len(step.bits) + 1))
                if len({run_bit.field for run_bit in step.bits[start:end]}) == 1
                and not step.bits[start].field.endswith(".name")
            ]
            if not runs:
                return frozenset()
            step, start, middle, end = random.choice(runs)
            moved = step.bits[start:end]
            step.bits[start:end] = step.bits[middle:end] + step.bits[start:middle]
            return frozenset(moved_bit.token for moved_bit in moved)
        case "reorder_across":
            pairs = [
                (first, second)
                for first, second in pairwise(bodies)
                if first.field == second.field and step_of(first)[0] is not step_of(second)[0]
            ]
            if not pairs:
                return frozenset()
            first, second = random.choice(pairs)
            first.text, second.text = second.text, first.text
            return frozenset({first.token, second.token})
        case _:
            raise AssertionError(fault)
