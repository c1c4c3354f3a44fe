"""The reference parser's result for the tokens of a completion, in strict and in lenient mode.

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
class ParserResult:
    """How the reference parser read a completion in one mode."""

    parser: str
    """`strict` or `lenient`."""
    rejected_at: int | None
    """Index of the rejected token; the number of tokens if it rejected the end; None if it accepted all."""
    words: str
    """Its error message, empty if it accepted all."""
    messages: tuple[str, ...]
    """Messages up to there, one line each: channel, recipient and the beginning of the text."""

    @property
    def sentence(self) -> str:
        """The result in a sentence."""
        messages = count(len(self.messages), "message")
        listed = f": {'; '.join(self.messages)}" if self.messages else ""
        if self.rejected_at is None:
            return f"The {self.parser} parser accepts all tokens and reads {messages}{listed}."
        stop = f"stops at token {self.rejected_at} ({self.words})"
        return f"The {self.parser} parser {stop} after {messages}{listed}."


def parser_results(ids: Sequence[int]) -> tuple[ParserResult, ...]:
    """The strict and the lenient result; only the strict one if the library has no lenient mode."""
    role = None if ids and ids[0] == Marker.START else Role.ASSISTANT
    results = [_parser_result("strict", StreamableParser(encoding(), role=role), ids)]
    try:
        lenient = StreamableParser(encoding(), role=role, strict=False)
    except TypeError:  # openai-harmony before 0.0.5
        return tuple(results)
    return (*results, _parser_result("lenient", lenient, ids))


def _parser_result(name: str, parser: StreamableParser, ids: Sequence[int]) -> ParserResult:
    count = 0
    rejected_at: int | None = None
    words = ""
    try:
        for token_id in ids:
            parser.process(token_id)
            count += 1
        parser.process_eos()
    except (HarmonyError, OverflowError, TypeError) as error:  # an id that is no 32-bit number is no token
        rejected_at, words = count, str(error)
    messages = tuple(_line(message) for message in parser.messages)
    return ParserResult(parser=name, rejected_at=rejected_at, words=words, messages=messages)


def _line(message: Message) -> str:
    text = "".join(getattr(part, "text", "") for part in message.content)
    recipient = f" to {message.recipient}" if message.recipient else ""
    return f"{message.channel or 'no channel'}{recipient} “{clip(text, _SHOWN)}”"
