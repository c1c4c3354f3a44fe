"""Random Harmony scripts, well-formed and not, and what the reference parser makes of them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from openai_harmony import HarmonyError, Role, StreamableParser

from inspector.protocol.harmony.vocab import Marker, encode, encoding

__all__ = ["Parsed", "arguments", "parsed", "plain", "random_script"]

_WORDS = [
    *("The", " weather", " in", " Paris", "\n", "\n\n", ".", " the the", "😀", "é", '{"a": 1}', "  ", "日本"),
    *(" <b>", "comment", "ary", "assistant", "analysis", " to=functions.x"),
]
_ARGUMENTS = ('{"city":"Paris"}', "{}", '{"x":[1,{"a":null}]}', "", "[1,2]", '{"city":"Pa', '{"a":"😀"}')
_HEADERS = (
    "<|channel|>analysis",
    "<|channel|>final",
    "<|channel|>commentary",
    "<|channel|>commentary to=functions.run <|constrain|>json",
    "<|channel|>commentary to=functions.get_time",
    "<|channel|>analysis to=functions.get_time <|constrain|>json",
    "<|channel|>final to=functions.run",
    "<|channel|>analysis to=python code",
    "<|channel|>commentary to=python <|constrain|>code",
    "<|channel|>analysis to=browser.search code",
    "<|channel|>final <|constrain|>json",
    "",
)


def random_script(random: Random) -> list[int]:
    """Token IDs of one to six messages; of every second script some tokens are changed."""
    ids: list[int] = []
    for number in range(random.choice([1, 2, 2, 3, 4, 6])):
        role = "<|start|>assistant" if number else ""
        if random.random() < 0.05:
            role = random.choice(["<|start|>user", "<|start|>functions.run to=assistant"])
        header = random.choice(_HEADERS)
        call = "functions" in header
        body = (
            random.choice(_ARGUMENTS)
            if call
            else "".join(random.choices(_WORDS, k=random.choice([0, 1, 3, 9])))
        )
        ids += encode(f"{role}{header}<|message|>{body}")
        if random.random() < 0.1:
            ids += encode("🧑‍🚀")[: random.choice([1, 2])]  # a part of a character
        ids += encode(random.choice(["<|call|>", "<|end|>"]) if call else "<|end|>")
    ids += encode(f"<|start|>assistant<|channel|>final<|message|>{random.choice(_WORDS)}<|return|>")
    if random.random() < 0.5:
        for _ in range(random.choice([1, 1, 2])):
            place = random.randrange(len(ids))
            ids[place : place + random.randrange(2)] = random.choice(
                [[], [random.choice(list(Marker))], encode(random.choice(_WORDS)), ids[place : place + 2]]
            )
    return ids


@dataclass(frozen=True, slots=True)
class Parsed:
    """What the reference parser makes of a completion."""

    rejected: bool
    reasoning: str
    content: str
    calls: Sequence[tuple[str, str]]


def parsed(ids: Sequence[int]) -> Parsed:
    """The texts by field, without white space and characters that are cut off."""
    parser = StreamableParser(encoding(), role=Role.ASSISTANT)
    rejected = False
    try:
        for token_id in ids:
            parser.process(token_id)
    except HarmonyError:
        rejected = True
    reasoning: list[str] = []
    content: list[str] = []
    calls: list[tuple[str, str]] = []
    for message in parser.messages:
        text = "".join(part.text for part in message.content)
        recipient = message.recipient or ""
        if message.author.role is not Role.ASSISTANT:
            continue
        if recipient.startswith("functions."):
            calls.append((recipient.removeprefix("functions."), arguments(text)))
        elif message.channel == "analysis" and not recipient:
            reasoning.append(plain(text))
        elif message.channel in {"final", "commentary"} and not recipient:
            content.append(plain(text))
    return Parsed(rejected, "".join(reasoning), "".join(content), calls)


def arguments(text: str) -> str:
    """Arguments of a call, whose JSON servers reformat."""
    try:
        return json.dumps(json.loads(text.replace("\ufffd", "")))
    except ValueError:
        return plain(text)


def plain(text: str) -> str:
    """A text without what servers may add, change or leave out."""
    return "".join(text.replace("\ufffd", "").split())
