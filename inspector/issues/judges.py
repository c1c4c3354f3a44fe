"""What other judges say of the same tokens: the installed Harmony library, strict and lenient.

vLLM uses the strict parser in every release up to 0.32.0; the lenient one (`strict=False`, openai-harmony
0.0.5 and newer) closes a message at a stop token that comes before `<|message|>`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from openai_harmony import HarmonyError, Message, Role, StreamableParser

from inspector.capture.formats import clip, count
from inspector.protocol.harmony.vocab import Marker, encoding

_SHOWN: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """One judge's reading of a completion."""

    judge: str
    """`strict` or `lenient`."""
    refused_at: int | None
    """Token that it refused; the number of tokens when it refused the end; None when it took all."""
    words: str
    """Its own message, empty when it took all."""
    messages: tuple[str, ...]
    """Messages up to there, one line each: channel, recipient and the beginning of the text."""

    @property
    def sentence(self) -> str:
        """What it says, in a sentence."""
        messages = count(len(self.messages), "message")
        listed = f": {'; '.join(self.messages)}" if self.messages else ""
        if self.refused_at is None:
            return f"The {self.judge} parser accepts all tokens and reads {messages}{listed}."
        stop = f"stops at token {self.refused_at} ({self.words})"
        return f"The {self.judge} parser {stop} after {messages}{listed}."


def judgements(ids: Sequence[int]) -> tuple[Judgement, ...]:
    """The strict and the lenient reading of a completion; without a lenient parser only the strict one."""
    role = None if ids and ids[0] == Marker.START else Role.ASSISTANT
    found = [_judgement("strict", StreamableParser(encoding(), role=role), ids)]
    try:
        lenient = StreamableParser(encoding(), role=role, strict=False)
    except TypeError:  # openai-harmony before 0.0.5
        return tuple(found)
    return (*found, _judgement("lenient", lenient, ids))


def _judgement(name: str, parser: StreamableParser, ids: Sequence[int]) -> Judgement:
    taken = 0
    refused_at: int | None = None
    words = ""
    try:
        for token_id in ids:
            parser.process(token_id)
            taken += 1
        parser.process_eos()
    except (HarmonyError, OverflowError, TypeError) as error:  # an id that is no 32-bit number is no token
        refused_at, words = taken, str(error)
    messages = tuple(_line(message) for message in parser.messages)
    return Judgement(judge=name, refused_at=refused_at, words=words, messages=messages)


def _line(message: Message) -> str:
    text = "".join(getattr(part, "text", "") for part in message.content)
    recipient = f" to {message.recipient}" if message.recipient else ""
    return f"{message.channel or 'no channel'}{recipient} “{clip(text, _SHOWN)}”"
