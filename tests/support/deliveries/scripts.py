"""Random Harmony completions, and what the reference parser makes of them."""

import codecs
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from typing import Final

from openai_harmony import HarmonyError, Role, StreamableParser, StreamState

from inspector.protocol.harmony.vocab import Marker, encode, encode_plain, encoding, token_bytes

__all__ = [
    "CONTENT",
    "REASONING",
    "STOPS",
    "TEXT",
    "ChoiceScript",
    "ScriptMessage",
    "changed",
    "pieces_of",
    "script_of",
    "well_formed",
]

REASONING: Final = "reasoning"

CONTENT: Final = "content"

TEXT: Final = "text"

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
class ScriptMessage:
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
class ChoiceScript:
    """The tokens of one choice and what they say."""

    ids: Sequence[int]
    messages: Sequence[ScriptMessage]
    rejected: int | None
    """The token that the reference parser rejects."""
    error: str
    """Its words."""


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


def well_formed(random: Random, *, harmony_only: bool) -> list[int]:
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


def changed(ids: list[int], random: Random) -> list[int]:
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
    # A stream that begins with <|start|> has a role of its own: whose prompt it continues is a guess.
    return ids if ids[:1] != [Marker.START] else ids[1:]


def script_of(ids: Sequence[int]) -> ChoiceScript:
    """What the reference parser makes of a completion."""
    parser = StreamableParser(encoding(), role=Role.ASSISTANT)
    messages: list[ScriptMessage] = []
    body: list[int] | None = None
    at, calls = 0, 0
    field_name: str | None = None
    name: str | None = None
    rejected: int | None = None
    error = ""

    def close() -> None:
        nonlocal body
        if body is not None:
            messages.append(ScriptMessage(field_name, name, at, list(pieces_of(ids, body))))
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
    return ChoiceScript(ids, messages, rejected, error)


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


def pieces_of(ids: Sequence[int], places: Iterable[int]) -> Iterator[tuple[int, str]]:
    """Each token with the characters that it completes; what is left at the end is U+FFFD."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    last: tuple[int, str] | None = None
    for place in places:
        if last is not None:
            yield last
        last = place, decoder.decode(token_bytes(ids[place]))
    if last is not None:
        yield last[0], last[1] + decoder.decode(b"", True)


STOPS: Final = frozenset({Marker.RETURN, Marker.CALL})
