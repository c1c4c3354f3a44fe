"""Random captures with their truth: a script, delivered rightly by a deliverer of its own, then one fault.

The truth comes from `openai_harmony.StreamableParser` and from what is written into the events here; nothing
is asked of `inspector.analysis`. `delivery(seed)` gives the same capture for the same seed.
"""

import codecs
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from random import Random
from typing import Any, Final

from openai_harmony import HarmonyError, Role, StreamableParser, StreamState

from inspector.capture.capture import Capture, End, Endpoint, Event, EventKind, Header
from inspector.protocol.harmony.vocab import MARKERS, Marker, encode, encode_plain, encoding, token_bytes

__all__ = ["FAULTS", "HARMLESS", "Choice", "Delivery", "Evidence", "delivery", "same_texts"]

REASONING: Final = "reasoning"
CONTENT: Final = "content"
TEXT: Final = "text"

HARMLESS: Final = frozenset({"none", "hold", "stop", "hide_reasoning"})
"""What a server may do; all other faults change what the client gets."""
FAULTS: Final = (
    *("drop", "range", "truncate", "garble", "newline", "invent", "duplicate", "misfile"),
    *("reorder", "reorder_across", "rename", "lose_call"),
)
"""Faults of delivery: each makes the delivered text differ from the generated text."""
CUTS: Final = ("lose_end", "lose_event", "unfinished")
"""Events that are gone with their tokens, so that the evidence does not cover the response."""

_WORDS: Final = (
    *("The", " weather", " in", " Paris", " is", " fine", ".", " the the", " very very", "ok", " no", "?"),
    *(
        "\n",
        "\n\n",
        "  ",
        " 12",
        "3.5",
        "HTTP/1.1",
        '"',
        "{",
        "}",
        "-",
        " Delete",
        " a.txt",
        " b.txt",
        " Keep",
    ),
    *("é", "日本", "😀", "🧑‍🚀", "👋🏽", " שלום", "ẞ", "\u200d", " <b>", " assistant", "analysis", "final"),
)
_SPELLED: Final = ("<|start|>", "<|end|>", "<|call|>", "<|return|>", "<|channel|>final<|message|>", "<|")
_ARGUMENTS: Final = (
    *('{"city":"Paris"}', "{}", '{"x":[1,{"a":null}]}', '{"from": "ann", "to": "bob"}', '{"a":"😀"}'),
    *('{"n": 1, "m": 1}', '{"text": "the the the"}', "[1,2]", "", '{"city":"Pa'),
)
_NAMES: Final = ("run", "get_time", "pay", "a.b")


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a script, as the reference parser reads it."""

    field: str | None
    """Where a client should get its text; None where the endpoint has no field."""
    name: str | None
    """The function of a tool call."""
    at: int
    """The token that ends the header."""
    pieces: Sequence[tuple[int, str]]
    """Tokens of the body with the text that each completes."""

    @property
    def text(self) -> str:
        """The whole body."""
        return "".join(text for _, text in self.pieces)


@dataclass(frozen=True, slots=True)
class Script:
    """The tokens of one choice and what they say."""

    ids: Sequence[int]
    messages: Sequence[Message]
    rejected: int | None
    """The token that the reference parser rejects."""
    error: str
    """Its words."""


@dataclass(slots=True)
class Bit:
    """Text that an event delivers in a field."""

    field: str
    text: str
    token: int
    message: int


@dataclass(slots=True)
class Step:
    """What an event brings of one choice."""

    first: int
    """Its first token."""
    ids: Sequence[int]
    bits: list[Bit] = field(default_factory=list)
    shows_ids: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a capture has beside the delivered text."""

    ids: str
    """`all`, `some`, `logprobs` or `none`."""
    usage: bool
    finish: bool
    done: bool
    final: bool = False
    """Responses: whether the final object arrived."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The truth of one choice."""

    ids: Sequence[int]
    shown: Sequence[bool]
    """For each token whether the capture has its ID."""
    generated: Mapping[str, Sequence[str]]
    """By field, the texts of its messages."""
    delivered: Mapping[str, str]
    faulty: frozenset[int]
    """Tokens at fault: their text is not where it belongs, or other text is beside it."""
    rejected: int | None
    unheard: bool
    """Whether text behind a rejected token was not delivered."""
    open: bool
    """Whether the tokens end inside a header or body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A capture and its truth."""

    seed: int
    capture: Capture
    fault: str
    in_final: bool
    """Whether the final object of Responses has the fault too."""
    same_count: bool
    """Whether the texts with the fault may have as many tokens as those without, so that no count tells."""
    streamed: bool
    told: bool
    """Whether the server reported the parser's error."""
    evidence: Evidence
    choices: Sequence[Choice]

    @property
    def harmless(self) -> bool:
        """Whether the server did nothing wrong, so far as the capture goes."""
        return self.fault in HARMLESS

    @property
    def whole(self) -> bool:
        """Whether no event is missing."""
        return self.fault not in CUTS

    @property
    def rejected(self) -> bool:
        """Whether the parser rejects a token of it."""
        return any(choice.rejected is not None for choice in self.choices)

    @property
    def same(self) -> bool:
        """Whether each field got what was generated for it."""
        return all(same_texts(choice, hidden=self.fault == "hide_reasoning") for choice in self.choices)

    @property
    def covered(self) -> bool:
        """Whether the evidence in the capture accounts for the whole response."""
        if not self.whole:
            return False
        if self.capture.header.endpoint is Endpoint.RESPONSES:
            return self.evidence.final and self.evidence.usage
        if self.fault == "hide_reasoning":
            return False
        # The stop token alone has no text.
        return all(
            all(shown or token_id in _STOPS for shown, token_id in zip(choice.shown, choice.ids, strict=True))
            if choice.ids
            else True
            for choice in self.choices
        )

    def __str__(self) -> str:
        """One line for a failed assertion."""
        kind = f"{self.capture.header.endpoint.value}{'' if self.streamed else ' body'}"
        return (
            f"seed {self.seed}: {kind}, {self.fault}{', final too' if self.in_final else ''}, {self.evidence}"
        )


_STOPS: Final = frozenset({Marker.RETURN, Marker.CALL})


def same_texts(choice: Choice, *, hidden: bool = False) -> bool:
    """Whether each field of a choice has its texts, with a line feed between two of them or none."""
    names = {*choice.generated, *choice.delivered} - ({REASONING} if hidden else set())
    return all(
        _joins(choice.generated.get(name, ()), choice.delivered.get(name, ""), json_too="arguments" in name)
        for name in names
    )


def _joins(texts: Sequence[str], delivered: str, *, json_too: bool) -> bool:
    texts = [text for text in texts if text]
    places = {0}
    for number, text in enumerate(texts):
        spellings = {text, text.rstrip("\ufffd")}
        gaps = ("", "\n") if number else ("",)
        places = {
            place + len(gap) + len(spelling)
            for place in places
            for gap in gaps
            for spelling in spellings
            if delivered.startswith(gap + spelling, place)
        }
    if len(delivered) in places or len(delivered.rstrip("\ufffd")) in places:
        return True
    if not json_too:
        return False
    try:
        return bool(json.loads("".join(texts)) == json.loads(delivered))
    except ValueError:
        return False


# scripts


def _encoded(text: str, random: Random, *, odd: bool) -> list[int]:
    """Tokens of plain text; `odd` tokens are not those that the encoding gives."""
    if not odd or len(text) < 2:
        return encode_plain(text)
    places = sorted({random.randrange(1, len(text)) for _ in range(random.randint(1, 4))})
    return [
        token_id
        for start, end in pairwise([0, *places, len(text)])
        for token_id in encode_plain(text[start:end])
    ]


def _body(random: Random, *, odd: bool) -> list[int]:
    count = random.choice([1, 2, 3, 4, 6, 9, 14])
    words = [random.choice(_SPELLED if random.random() < 0.04 else _WORDS) for _ in range(count)]
    return _encoded("".join(words), random, odd=odd and random.random() < 0.6)


def _header(channel: str, random: Random, name: str | None = None) -> str:
    if name is None:
        return f"<|channel|>{channel}"
    shape = random.choice(
        [" to=functions.{} <|constrain|>json", " to=functions.{}", " to=functions.{} <|constrain|>json"]
    )
    return f"<|channel|>{channel}{shape.format(name)}"


def _ids(random: Random, *, harmony_only: bool) -> list[int]:
    """A well-formed completion: messages, each behind a header, and a stop token."""
    odd = random.random() < 0.25
    kinds = random.choice(
        [
            ["final"],
            ["analysis", "final"],
            ["analysis", "final"],
            ["analysis", "analysis", "final"],
            ["analysis", "call"],
            ["analysis", "call", "call"],
            ["call", "call", "call"],
            ["analysis", "commentary", "call"],
            ["analysis", "commentary", "final", "final"],
            ["analysis", "call", "final"],
            ["analysis", "analysis", "analysis", "final"],
            ["analysis", "python", "final"],
        ]
    )
    if harmony_only:
        kinds = [kind for kind in kinds if kind != "python"]
    ids: list[int] = []
    for number, kind in enumerate(kinds):
        start = "<|start|>assistant" if number else ""
        last = number == len(kinds) - 1
        match kind:
            case "call":
                channel = random.choice(["commentary"] * 5 + ["analysis"])
                ids += encode(f"{start}{_header(channel, random, random.choice(_NAMES))}<|message|>")
                ids += _encoded(random.choice(_ARGUMENTS), random, odd=odd)
                ids.append(Marker.CALL)
            case "python":
                ids += encode(f"{start}<|channel|>analysis to=python code<|message|>print(1)<|end|>")
            case _:
                json_too = kind == "final" and random.random() < 0.05
                shape = " <|constrain|>json" if json_too else ""
                ids += encode(f"{start}<|channel|>{kind}{shape}<|message|>") + _body(random, odd=odd)
                if random.random() < 0.05:
                    ids += encode("🧑‍🚀")[: random.choice([1, 2])]  # a part of a character
                ids.append(Marker.RETURN if last else Marker.END)
    return ids


def _malformed(ids: list[int], random: Random) -> list[int]:
    """Tokens changed at one or two places; many of the results are still well formed."""
    ids = list(ids)
    for _ in range(random.choice([1, 1, 2])):
        place = random.randrange(len(ids))
        ids[place : place + random.randrange(2)] = random.choice(
            [
                [],
                [random.choice(list(Marker))],
                encode(random.choice(["comment", "ary", "assistant", " to=functions.x", "user", " the"])),
                ids[place : place + 2],
            ]
        )
    return ids


def script_of(ids: Sequence[int]) -> Script:
    """What the reference parser makes of a completion."""
    parser = StreamableParser(encoding(), role=Role.ASSISTANT)
    messages: list[Message] = []
    body: list[int] | None = None
    at, calls = 0, 0
    field_name: str | None = None
    name: str | None = None
    rejected: int | None = None
    error = ""

    def close() -> None:
        nonlocal body
        if body is not None:
            messages.append(Message(field_name, name, at, list(_pieces(ids, body))))
        body = None

    for index, token_id in enumerate(ids):
        try:
            parser.process(token_id)
        except HarmonyError as failure:
            rejected, error = index, str(failure)
            break
        if parser.state is not StreamState.CONTENT:
            close()
        elif body is None:
            body, at = [], index
            field_name, name = _field(parser)
            if name is not None:
                field_name = f"tool_calls[{calls}].arguments"
                calls += 1
        else:
            body.append(index)
    close()
    for read, message in zip(parser.messages, messages, strict=False):
        text = "".join(part.text for part in read.content)
        assert text.rstrip("\ufffd") == message.text.rstrip("\ufffd"), (text, message.text)
    return Script(ids, messages, rejected, error)


def _field(parser: StreamableParser) -> tuple[str | None, str | None]:
    """Field of the open message, and its function, by the table in docs/architecture.md."""
    channel, recipient = parser.current_channel, parser.current_recipient
    if parser.current_role is not Role.ASSISTANT:
        return None, None
    if recipient is not None and recipient.startswith("functions.") and channel in _FIELDS:
        return None, recipient.removeprefix("functions.")
    if recipient is not None and not (channel == "final" and recipient.startswith("<|constrain|>")):
        return None, None
    return _FIELDS.get(channel or ""), None


_FIELDS: Final = {"analysis": REASONING, "final": CONTENT, "commentary": CONTENT}


def _pieces(ids: Sequence[int], places: Iterable[int]) -> Iterator[tuple[int, str]]:
    """Each token with the characters that it completes; what is left at the end is U+FFFD."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    last: tuple[int, str] | None = None
    for place in places:
        if last is not None:
            yield last
        last = place, decoder.decode(token_bytes(ids[place]))
    if last is not None:
        yield last[0], last[1] + decoder.decode(b"", True)


# delivery


def _steps(count: int, random: Random, ids: Sequence[int]) -> list[Step]:
    size = random.choice([1, 1, 2, 3, 5, 0])
    steps: list[Step] = []
    place = 0
    while place < count:
        width = size or random.choice([1, 1, 2, 4, 7])
        steps.append(Step(place, ids[place : place + width]))
        place += width
    return steps


def _place(bits: Iterable[Bit], steps: Sequence[Step]) -> None:
    """Each bit into the event of its token."""
    number = 0
    for bit in bits:
        while bit.token >= steps[number].first + len(steps[number].ids):
            number += 1
        steps[number].bits.append(bit)


def _bits(script: Script) -> Iterator[Bit]:
    for number, message in enumerate(script.messages):
        if message.field is None:
            continue
        if message.name is not None:
            yield Bit(message.field.replace("arguments", "name"), message.name, message.at, number)
        for token, text in message.pieces:
            if text:
                yield Bit(message.field, text, token, number)


def _raw_bits(ids: Sequence[int], *, skip_special: bool) -> Iterator[Bit]:
    end = len(ids) - (ids[-1] in _STOPS)
    shown = [place for place in range(end) if not (skip_special and ids[place] >= 199998)]
    for token, text in _pieces(ids, shown):
        if text:
            yield Bit(TEXT, text, token, 0)


def _texts(bits: Iterable[Bit]) -> dict[str, str]:
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


def _all_bits(steps: Sequence[Step]) -> list[Bit]:
    return [bit for step in steps for bit in step.bits]


def _apply(fault: str, steps: list[Step], random: Random, endpoint: Endpoint) -> frozenset[int]:
    """Put one fault into a delivery; the tokens at fault, none where it does not fit."""
    bits = _all_bits(steps)
    bodies = [bit for bit in bits if not bit.field.endswith(".name")]
    names = [bit for bit in bits if bit.field.endswith(".name")]

    def remove(gone: Iterable[Bit]) -> frozenset[int]:
        taken = list(gone)
        for step in steps:
            step.bits = [bit for bit in step.bits if not any(bit is each for each in taken)]
        return frozenset(bit.token for bit in taken)

    def step_of(wanted: Bit) -> tuple[Step, int]:
        return next((step, place) for step in steps for place, bit in enumerate(step.bits) if bit is wanted)

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
            own = [each for each in bodies if each.field == bit.field]
            return remove(own[next(place for place, each in enumerate(own) if each is bit) :])
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
            others = [each for each in bodies if each.field != bit.field]
            if others:
                other = random.choice(others)
                bit.field, bit.message = other.field, other.message
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
                if len({each.field for each in step.bits[start:end]}) == 1
                and not step.bits[start].field.endswith(".name")
            ]
            if not runs:
                return frozenset()
            step, start, middle, end = random.choice(runs)
            moved = step.bits[start:end]
            step.bits[start:end] = step.bits[middle:end] + step.bits[start:middle]
            return frozenset(each.token for each in moved)
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


def _hold(steps: Sequence[Step], random: Random) -> None:
    """Text that arrives an event later than its tokens."""
    for now, later in pairwise(steps):
        if random.random() < 0.3:
            later.bits[:0], now.bits = now.bits, []


@dataclass(slots=True)
class _Answer:
    """One choice on its way into events."""

    script: Script
    steps: list[Step]
    generated: dict[str, list[str]]
    final_texts: dict[str, list[str]]
    faulty: frozenset[int]
    finish: str
    stopped_by: str = ""
    error: str = ""
    rejected: int | None = None
    unheard: bool = False


def _answer(random: Random, fault: str, endpoint: Endpoint, *, tells: bool, skip_special: bool) -> _Answer:
    ids = _ids(random, harmony_only=endpoint is Endpoint.RESPONSES and random.random() < 0.8)
    finish = "stop"
    if fault not in {"stop", "hide_reasoning"}:
        if random.random() < 0.2:
            ids = _malformed(ids, random)
        if random.random() < 0.1:
            ids = ids[: random.randint(1, len(ids))]
    stop_string, cut = "", 0
    script = script_of(ids)
    if fault == "stop" and (found := _stop_string(script, random)) is not None:
        stop_string, end, cut = found
        script = script_of(ids[: end + 1])
    ids = list(script.ids)
    parsed = endpoint is not Endpoint.COMPLETIONS
    rejected = script.rejected if parsed else None
    told = tells and rejected is not None
    count = len(ids)
    steps = _steps(count, random, ids)
    bits = list(_bits(script)) if parsed else list(_raw_bits(ids, skip_special=skip_special))
    if stop_string:
        bits = _without_tail(bits, cut)
    _place(bits, steps)
    if told and rejected is not None:
        # A step in which the parser fails is not sent.
        steps = [step for step in steps if step.first + len(step.ids) <= rejected]
    generated = _by_message(bits if not told else _all_bits(steps))
    if finish == "stop" and not stop_string and ids[-1] not in _STOPS:
        finish = "length"
    if finish == "stop" and script.messages and script.messages[-1].name is not None and parsed:
        finish = "tool_calls"
    return _Answer(
        script=script,
        steps=steps,
        generated=generated,
        final_texts={},
        faulty=frozenset(),
        finish=finish,
        stopped_by=stop_string,
        error=script.error if told else "",
        rejected=script.rejected,
        unheard=rejected is not None and any(token_id not in MARKERS for token_id in ids[rejected:]),
    )


def _stop_string(script: Script, random: Random) -> tuple[str, int, int] | None:
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
    kept = [replace(bit) for bit in bits]
    while count and kept:
        last = kept[-1]
        gone = min(count, len(last.text))
        last.text = last.text[: len(last.text) - gone]
        count -= gone
        if not last.text:
            kept.pop()
    return kept


def _damage(answer: _Answer, fault: str, random: Random, endpoint: Endpoint) -> bool:
    """Put a fault into an answer; False where none fits that changes what a client reads."""
    for _ in range(8):
        steps = [replace(step, bits=[replace(bit) for bit in step.bits]) for step in answer.steps]
        faulty = _apply(fault, steps, random, endpoint)
        if not faulty:
            continue
        delivered = _texts(_all_bits(steps))
        names = {*answer.generated, *delivered}
        if all(
            _joins(answer.generated.get(name, ()), delivered.get(name, ""), json_too="arguments" in name)
            for name in names
        ):
            continue  # equal words exchanged, or white space of JSON
        answer.steps, answer.faulty = steps, faulty
        return True
    return False


def _hide_reasoning(answer: _Answer, random: Random) -> bool:
    """Reasoning that the request does not want: neither its text nor the IDs of its tokens are sent."""
    hidden: set[int] = set()
    as_rust = random.random() < 0.5
    for message, after in zip(answer.script.messages, [*answer.script.messages[1:], None], strict=True):
        if message.field != REASONING:
            continue
        hidden |= {token for token, _ in message.pieces}
        if as_rust and after is not None and message.pieces:
            hidden |= set(range(message.at + 1, after.at + 1))
    if not hidden:
        return False
    for step in answer.steps:
        step.bits = [bit for bit in step.bits if bit.field != REASONING]
        kept = [token_id for place, token_id in enumerate(step.ids, step.first) if place not in hidden]
        step.shows_ids = len(kept) == len(step.ids)
        if not step.shows_ids:
            step.ids = kept
    return True


# events

_ID: Final = {"chat": "chatcmpl-1", "completions": "cmpl-1"}


def _chat_delta(bits: Sequence[Bit], opened: set[int]) -> dict[str, Any]:
    delta: dict[str, Any] = {}
    calls: list[dict[str, Any]] = []
    for bit in bits:
        if not bit.field.startswith("tool_calls"):
            delta[bit.field] = delta.get(bit.field, "") + bit.text
            continue
        number = int(bit.field.partition("[")[2].partition("]")[0])
        key = "name" if bit.field.endswith(".name") else "arguments"
        if not calls or calls[-1]["index"] != number or key == "name":
            call: dict[str, Any] = {"index": number, "function": {"arguments": ""}}
            if number not in opened:
                call = {"id": f"call_{number}", "type": "function", **call}
                opened.add(number)
            calls.append(call)
        function = calls[-1]["function"]
        function[key] = function.get(key, "") + bit.text
    if calls:
        delta["tool_calls"] = calls
    return delta


def _entry(token_id: int) -> dict[str, Any]:
    raw = token_bytes(token_id)
    text = raw.decode("utf-8", "replace")
    return {"token": text, "logprob": -0.5, "bytes": list(raw), "top_logprobs": []}


def _logprobs(endpoint: Endpoint, ids: Sequence[int], *, numbered: bool) -> dict[str, Any] | None:
    if not ids:
        return None
    if endpoint is Endpoint.CHAT:
        entries = [_entry(token_id) for token_id in ids]
        if numbered:
            entries = [
                {**entry, "token": f"token_id:{token_id}"}
                for entry, token_id in zip(entries, ids, strict=True)
            ]
        return {"content": entries}
    names = [
        f"token_id:{token_id}" if numbered else token_bytes(token_id).decode("utf-8", "replace")
        for token_id in ids
    ]
    return {"tokens": names, "token_logprobs": [-0.5] * len(ids), "top_logprobs": None, "text_offset": []}


def _choice_payload(
    endpoint: Endpoint, index: int, step: Step, opened: set[int], *, ids: str, numbered: bool
) -> dict[str, Any]:
    choice: dict[str, Any] = {"index": index}
    if endpoint is Endpoint.COMPLETIONS:
        choice["text"] = "".join(bit.text for bit in step.bits)
    else:
        choice["delta"] = _chat_delta(step.bits, opened)
    choice["logprobs"] = _logprobs(endpoint, step.ids, numbered=numbered) if ids == "logprobs" else None
    choice["finish_reason"] = None
    if ids in {"all", "some"} and step.shows_ids and step.ids:
        choice["token_ids"] = list(step.ids)
    return choice


def _usage(count: int, endpoint: Endpoint) -> dict[str, Any]:
    if endpoint is Endpoint.RESPONSES:
        return {
            "input_tokens": 50,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": count,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 50 + count,
        }
    return {"prompt_tokens": 50, "completion_tokens": count, "total_tokens": 50 + count}


def _error_payload(words: str) -> dict[str, Any]:
    return {"error": {"message": words, "type": "BadRequestError", "param": None, "code": 400}}


def _chunks(
    endpoint: Endpoint, answers: Sequence[_Answer], evidence: Evidence, random: Random, *, usage: int
) -> list[dict[str, Any] | str]:
    """Payloads of a stream of chat or completions."""
    numbered = random.random() < 0.3
    own_finish = random.random() < 0.3
    rows: list[list[dict[str, Any]]] = []
    for index, answer in enumerate(answers):
        opened: set[int] = set()
        row = [
            _choice_payload(endpoint, index, step, opened, ids=evidence.ids, numbered=numbered)
            for step in answer.steps
        ]
        if not answer.error:
            if own_finish or not row:
                empty = Step(0, ())
                row.append(_choice_payload(endpoint, index, empty, opened, ids="none", numbered=False))
            if evidence.finish:
                row[-1]["finish_reason"] = answer.finish
                if answer.stopped_by:
                    row[-1]["stop_reason"] = answer.stopped_by
        rows.append(row)
    payloads: list[dict[str, Any] | str] = []
    name = "chat.completion.chunk" if endpoint is Endpoint.CHAT else "text_completion"
    base = {"id": _ID[endpoint.value], "object": name, "created": 1795335471, "model": "openai/gpt-oss-20b"}
    if endpoint is Endpoint.CHAT and random.random() < 0.7:
        for index in range(len(answers)):
            delta = {"role": "assistant", "content": ""}
            payloads.append({**base, "choices": [{"index": index, "delta": delta, "finish_reason": None}]})
    while any(rows):
        row = random.choice([row for row in rows if row])
        payloads.append({**base, "choices": [row.pop(0)]})
    error = next((answer.error for answer in answers if answer.error), "")
    if error:
        payloads.append(_error_payload(error))
    elif evidence.usage:
        payloads.append({**base, "choices": [], "usage": _usage(usage, endpoint)})
    if evidence.done:
        payloads.append("[DONE]")
    return payloads


def _chat_message(answer: _Answer, random: Random) -> dict[str, Any]:
    """The message of an unstreamed chat completion; texts of one field are joined by line feeds or not."""
    gap = random.choice(["", "\n"])
    bits = _all_bits(answer.steps)
    message: dict[str, Any] = {"role": "assistant", "content": None, "reasoning": None, "tool_calls": []}
    before: dict[str, int] = {}
    calls: dict[int, dict[str, str]] = {}
    for bit in bits:
        if bit.field.startswith("tool_calls"):
            number = int(bit.field.partition("[")[2].partition("]")[0])
            key = "name" if bit.field.endswith(".name") else "arguments"
            call = calls.setdefault(number, {"name": "", "arguments": ""})
            call[key] += bit.text
            continue
        joint = gap if bit.field in before and before[bit.field] < bit.message else ""
        before[bit.field] = max(bit.message, before.get(bit.field, 0))
        message[bit.field] = (message[bit.field] or "") + joint + bit.text
    message["tool_calls"] = [
        {"id": f"call_{number}", "type": "function", "function": call}
        for number, call in sorted(calls.items())
    ]
    return message


def _body_payload(
    endpoint: Endpoint, answers: Sequence[_Answer], evidence: Evidence, random: Random, *, usage: int
) -> dict[str, Any]:
    choices: list[dict[str, Any]] = []
    numbered = random.random() < 0.3
    for index, answer in enumerate(answers):
        choice: dict[str, Any] = {"index": index, "logprobs": None}
        ids = [token_id for step in answer.steps for token_id in step.ids]
        if endpoint is Endpoint.CHAT:
            choice["message"] = _chat_message(answer, random)
        else:
            choice["text"] = "".join(bit.text for bit in _all_bits(answer.steps))
        choice["finish_reason"] = answer.finish if evidence.finish else None
        if answer.stopped_by:
            choice["stop_reason"] = answer.stopped_by
        if evidence.ids in {"all", "some"}:
            choice["token_ids"] = ids
        elif evidence.ids == "logprobs":
            choice["logprobs"] = _logprobs(endpoint, ids, numbered=numbered)
        choices.append(choice)
    name = "chat.completion" if endpoint is Endpoint.CHAT else "text_completion"
    body = {"id": _ID[endpoint.value], "object": name, "created": 1795335471, "model": "openai/gpt-oss-20b"}
    body |= {"choices": choices}
    return body | ({"usage": _usage(usage, endpoint)} if evidence.usage else {})


# Responses


def _kind(name: str) -> str:
    return "reasoning" if name == REASONING else "message" if name == CONTENT else "function_call"


def _item(number: int, kind: str, name: str, text: str, *, status: str) -> dict[str, Any]:
    content: list[Any] | None
    match kind:
        case "reasoning":
            content = [{"type": "reasoning_text", "text": text}] if status == "completed" else None
            return {"id": f"rs_{number}", "type": kind, "summary": [], "content": content, "status": status}
        case "message":
            whole: list[Any] = [{"type": "output_text", "text": text, "annotations": [], "logprobs": None}]
            content = whole if status == "completed" else []
            own = {"role": "assistant", "content": content, "status": status}
            return {"id": f"msg_{number}", "type": kind, **own}
        case _:
            call = {"call_id": f"call_{number}", "name": name, "arguments": text, "status": status}
            return {"id": f"fc_{number}", "type": kind, **call}


def _item_texts(bits: Iterable[Bit]) -> dict[int, tuple[str, str, str]]:
    """By message: the kind of its item, the name of its call, its text."""
    items: dict[int, tuple[str, str, str]] = {}
    for bit in bits:
        kind, name, text = items.get(bit.message, (_kind(bit.field), "", ""))
        if bit.field.endswith(".name"):
            name += bit.text
        else:
            text += bit.text
        items[bit.message] = kind, name, text
    return items


_DELTA: Final = {
    "reasoning": ("response.reasoning_text", "text"),
    "message": ("response.output_text", "text"),
    "function_call": ("response.function_call_arguments", "arguments"),
}


def _response(
    output: Sequence[Mapping[str, Any]], status: str, usage: Mapping[str, Any] | None
) -> dict[str, Any]:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1795215075,
        "model": "openai/gpt-oss-20b",
        "status": status,
        "output": list(output),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": usage,
        "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
    }


def _responses(
    answer: _Answer, evidence: Evidence, right: Sequence[Bit], *, in_final: bool, usage: int
) -> list[dict[str, Any]]:
    """Payloads of a Responses stream; `right` is what was to be delivered."""
    steps = answer.steps
    whole = _item_texts(_all_bits(steps) if in_final else right)
    streamed = _item_texts(_all_bits(steps))
    numbers: dict[int, int] = {}
    closed: set[int] = set()
    events: list[dict[str, Any]] = []
    begun = _response([], "in_progress", None)
    events.append({"type": "response.created", "response": begun})
    events.append({"type": "response.in_progress", "response": begun})
    bits = _all_bits(steps)

    def close(message: int) -> None:
        if message in closed or message not in numbers:
            return
        closed.add(message)
        kind, name, text = whole.get(message, (streamed[message][0], streamed[message][1], ""))
        number = numbers[message]
        item = _item(number, kind, name, text, status="completed")
        prefix, key = _DELTA[kind]
        done = {"type": f"{prefix}.done", "item_id": item["id"], "output_index": number, key: text}
        events.append(done if kind == "function_call" else {**done, "content_index": 0})
        events.append({"type": "response.output_item.done", "output_index": number, "item": item})

    merged: list[Bit] = []
    for step in steps:
        for bit in step.bits:
            last = merged[-1] if merged else None
            if (
                last is not None
                and last.field == bit.field
                and last.message == bit.message
                and bit is not step.bits[0]
            ):
                last.text += bit.text
            else:
                merged.append(replace(bit))
    del bits
    for place, bit in enumerate(merged):
        if bit.message not in numbers:
            later = {each.message for each in merged[place:]}
            for message in list(numbers):
                if message not in later:
                    close(message)
            numbers[bit.message] = len(numbers)
            kind, name, _ = streamed[bit.message]
            item = _item(numbers[bit.message], kind, name, "", status="in_progress")
            number = numbers[bit.message]
            events.append({"type": "response.output_item.added", "output_index": number, "item": item})
            if kind != "function_call":
                part = {"type": f"{'reasoning' if kind == 'reasoning' else 'output'}_text", "text": ""}
                events.append(
                    {
                        "type": "response.content_part.added",
                        "item_id": item["id"],
                        "output_index": number,
                        "content_index": 0,
                        "part": part,
                    }
                )
        if bit.field.endswith(".name"):
            continue
        kind = streamed[bit.message][0]
        number = numbers[bit.message]
        prefix = _DELTA[kind][0]
        item_id = _item(number, kind, "", "", status="in_progress")["id"]
        delta = {"type": f"{prefix}.delta", "item_id": item_id, "output_index": number, "delta": bit.text}
        events.append(delta if kind == "function_call" else {**delta, "content_index": 0})
    for message in list(numbers):
        close(message)
    if answer.error:
        events.append({"type": "error", "code": "400", "message": answer.error, "param": None})
    elif evidence.final:
        output = [
            _item(numbers.get(message, 900 + message), kind, name, text, status="completed")
            for message, (kind, name, text) in sorted(whole.items())
        ]
        status = "incomplete" if answer.finish == "length" else "completed"
        count = _usage(usage, Endpoint.RESPONSES) if evidence.usage else None
        events.append({"type": f"response.{status}", "response": _response(output, status, count)})
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


# the whole


def _request(
    endpoint: Endpoint, answers: Sequence[_Answer], random: Random, evidence: Evidence, *, streamed: bool
) -> dict[str, Any]:
    request: dict[str, Any] = {"model": "openai/gpt-oss-20b", "stream": streamed}
    names = sorted({m.name for answer in answers for m in answer.script.messages if m.name})
    if endpoint is Endpoint.COMPLETIONS:
        request["prompt"] = [200006, 1428, 200008, 13225, 200007, 200006, 173781]
        request["skip_special_tokens"] = False
    elif endpoint is Endpoint.CHAT:
        request["messages"] = [{"role": "user", "content": "Hello"}]
        if names or random.random() < 0.3:
            request["tools"] = [
                {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
                for name in {*names, "run"}
            ]
    else:
        request["input"] = "Hello"
        if names:
            request["tools"] = [
                {"type": "function", "name": name, "parameters": {"type": "object"}} for name in names
            ]
    if evidence.ids in {"all", "some"} and endpoint is not Endpoint.RESPONSES:
        request["return_token_ids"] = True
    if evidence.ids == "logprobs":
        request["logprobs"] = True if endpoint is Endpoint.CHAT else 0
    if evidence.usage and streamed and endpoint is not Endpoint.RESPONSES:
        request["stream_options"] = {"include_usage": True}
    if len(answers) > 1:
        request["n"] = len(answers)
    if answers[0].stopped_by:
        request["stop"] = [answers[0].stopped_by]
    return request


def delivery(seed: int, *, fault: str | None = None, endpoint: Endpoint | None = None) -> Delivery:
    """The capture of a seed, with its truth."""
    random = Random(seed)  # noqa: S311
    if endpoint is None:
        endpoint = random.choice([Endpoint.CHAT] * 5 + [Endpoint.COMPLETIONS] * 2 + [Endpoint.RESPONSES] * 2)
    if fault is None:
        fault = random.choice(
            ["none"] * 6 + ["hold"] * 2 + ["stop", "hide_reasoning", *CUTS] + [*FAULTS, "reorder"]
        )
    responses = endpoint is Endpoint.RESPONSES
    if (fault == "hide_reasoning" and endpoint is not Endpoint.CHAT) or (fault == "stop" and responses):
        fault = "none"
    streamed = random.random() < 0.75 or fault in {"hold", "lose_event", "reorder_across", "unfinished"}
    if fault == "lose_end" and not streamed:
        streamed = True
    evidence = Evidence(
        ids="none" if responses else random.choice(["all"] * 6 + ["some", "logprobs", "none"]),
        usage=random.random() < 0.6,
        finish=random.random() < 0.9 or fault == "stop",
        done=streamed and not responses and random.random() < 0.92,
        final=responses,
    )
    if fault == "hide_reasoning":
        evidence = replace(evidence, ids=random.choice(["all", "all", "none"]))
    if not streamed and evidence.ids == "some":
        evidence = replace(evidence, ids="all")
    tells = random.random() < 0.5 and fault == "none" and streamed
    many = (
        endpoint is not Endpoint.RESPONSES
        and random.random() < 0.1
        and fault not in {"stop", "hide_reasoning"}
    )
    skip_special = endpoint is Endpoint.COMPLETIONS and random.random() < 0.3
    answers = [
        _answer(random, fault, endpoint, tells=tells and not many, skip_special=skip_special)
        for _ in range(2 if many else 1)
    ]
    right = [replace(bit) for bit in _all_bits(answers[0].steps)]
    in_final = False
    usage = sum(len(answer.script.ids) for answer in answers)
    extra: dict[str, Any] = {}
    match fault:
        case "hold":
            for answer in answers:
                _hold(answer.steps, random)
        case "stop":
            if not answers[0].stopped_by:
                fault = "none"
        case "hide_reasoning":
            if _hide_reasoning(answers[0], random):
                extra["include_reasoning"] = False
                if evidence.ids == "all":
                    evidence = replace(evidence, usage=True)
            else:
                fault = "none"
        case "none" | "lose_end" | "lose_event" | "unfinished":
            pass
        case _:
            if _damage(answers[-1], fault, random, endpoint):
                in_final = responses and (not streamed or random.random() < 0.3)
            else:
                fault = "none"
    if evidence.ids == "some":
        for answer in answers:
            for step in answer.steps:
                step.shows_ids = random.random() < 0.7
    request = _request(endpoint, answers, random, evidence, streamed=streamed) | extra
    if endpoint is Endpoint.COMPLETIONS:
        request["skip_special_tokens"] = skip_special
    limits = [answer for answer in answers if answer.finish == "length"]
    if limits:
        request["max_output_tokens" if responses else "max_tokens"] = len(limits[0].script.ids)
    rejected = any(answer.rejected is not None for answer in answers)
    version = "0.31.0" if tells and rejected else "0.33.0"
    owned_by: str | None = "vllm"
    if random.random() < 0.3 and not tells:
        owned_by = None
    header = Header(
        endpoint=endpoint,
        request=request,
        model="openai/gpt-oss-20b",
        server_version=version if owned_by and random.random() < 0.8 else None,
        owned_by="vllm-frontend-rs" if fault == "hide_reasoning" and owned_by else owned_by,
        status=200,
        started_at="2026-11-25T00:00:00+00:00",
    )
    events, end, evidence, fault = _events(
        endpoint,
        answers,
        evidence,
        random,
        fault=fault,
        right=right,
        streamed=streamed,
        in_final=in_final,
        usage=usage,
    )
    shown_ids = evidence.ids != "none"
    return Delivery(
        seed=seed,
        capture=Capture(header=header, events=events, end=end),
        fault=fault,
        in_final=in_final,
        same_count=_same_count(answers[0]),
        streamed=streamed,
        told=any(answer.error for answer in answers),
        evidence=evidence,
        choices=[_truth(answer, endpoint, shown_ids=shown_ids, streamed=streamed) for answer in answers],
    )


def _same_count(answer: _Answer) -> bool:
    """Whether what was delivered may encode to as many tokens as were sampled.

    Items do not show their headers: `commentary` has a token more than `final`, a content type three.
    """
    items = _item_texts(_all_bits(answer.steps))
    messages = {
        number: message
        for number, message in enumerate(answer.script.messages)
        if message.field is not None and (message.text or message.name)
    }
    if items.keys() != messages.keys():
        return False
    sampled = sum(
        len(message.pieces) + len(encode_plain(message.name or "")) for message in messages.values()
    )
    encoded = sum(len(encode_plain(text)) + len(encode_plain(name)) for _, name, text in items.values())
    return abs(sampled - encoded) <= sum(3 if name else 1 for _, name, _ in items.values())


def _truth(answer: _Answer, endpoint: Endpoint, *, shown_ids: bool, streamed: bool) -> Choice:
    count = len(answer.script.ids)
    shown = [False] * count
    for step in answer.steps:
        kept = list(step.ids)
        for place in range(step.first, min(step.first + max(len(kept), 1), count)):
            shown[place] = shown_ids and (step.shows_ids or not streamed)
    last = answer.script.ids[-1] if count else None
    return Choice(
        ids=answer.script.ids,
        shown=shown,
        generated=answer.generated,
        delivered=_texts(_all_bits(answer.steps)),
        faulty=answer.faulty,
        rejected=answer.rejected,
        unheard=answer.unheard,
        open=endpoint is not Endpoint.COMPLETIONS and last not in MARKERS,
    )


def _has_tokens(payload: dict[str, Any] | str) -> bool:
    """Whether a chunk brings tokens; one that only ends a choice does not."""
    if isinstance(payload, str):
        return False
    return any(choice.get("token_ids") or choice.get("logprobs") for choice in payload["choices"])


def _events(
    endpoint: Endpoint,
    answers: Sequence[_Answer],
    evidence: Evidence,
    random: Random,
    *,
    fault: str,
    right: Sequence[Bit],
    streamed: bool,
    in_final: bool,
    usage: int,
) -> tuple[list[Event], End | None, Evidence, str]:
    responses = endpoint is Endpoint.RESPONSES
    end: End | None = End(at_s=None, cut=False)
    if not streamed:
        if responses:
            items = _item_texts(_all_bits(answers[0].steps) if in_final else right)
            output = [
                _item(number, kind, name, text, status="completed")
                for number, (kind, name, text) in sorted(items.items())
            ]
            status = "incomplete" if answers[0].finish == "length" else "completed"
            count = _usage(usage, endpoint) if evidence.usage else None
            body = _response(output, status, count)
        else:
            body = _body_payload(endpoint, answers, evidence, random, usage=usage)
        return [Event(json.dumps(body), 0.02, kind=EventKind.BODY)], end, evidence, fault
    payloads: list[dict[str, Any] | str]
    if responses:
        payloads = [*_responses(answers[0], evidence, right, in_final=in_final, usage=usage)]
    else:
        payloads = _chunks(endpoint, answers, evidence, random, usage=usage)
    told = any(answer.error for answer in answers)
    match fault:
        case "unfinished" if len(payloads) > 2:
            payloads = payloads[: random.randrange(1, len(payloads) - 1)]
            end, evidence = None, replace(evidence, done=False, usage=False, finish=False, final=False)
        case "lose_event" if not told and not responses:
            places = [
                place
                for place, payload in enumerate(payloads)
                if isinstance(payload, dict) and any(choice.get("token_ids") for choice in payload["choices"])
            ]
            if not places:
                fault = "none"
            else:
                del payloads[random.choice(places)]
        case "lose_end" if not told:
            # The last event that has text, tokens or the end of a choice, and sometimes what follows it.
            places = [
                place
                for place, payload in enumerate(payloads)
                if isinstance(payload, dict) and (payload.get("choices") or responses)
            ]
            if random.random() < 0.5:
                payloads = payloads[: places[-1]]
                evidence = replace(evidence, done=False, usage=False, finish=False, final=False)
                end = End(at_s=None, cut=random.random() < 0.5)
            else:
                fault = fault if responses or _has_tokens(payloads[places[-1]]) else "none"
                del payloads[places[-1]]
                evidence = replace(evidence, finish=False, final=False)
        case "lose_end" | "lose_event" | "unfinished":
            fault = "none"
        case _:
            pass
    events = [
        Event(
            payload if isinstance(payload, str) else json.dumps(payload),
            (number + 1) * 0.01,
            payload["type"] if responses and isinstance(payload, dict) else "",
        )
        for number, payload in enumerate(payloads)
    ]
    if random.random() < 0.2:
        for _ in range(random.randint(1, 4)):
            place = random.randint(0, len(events))
            before = events[place - 1].at_s if place else 0.0
            events.insert(place, Event(" keep-alive", before, kind=EventKind.COMMENT))
    return events, end, evidence, fault
