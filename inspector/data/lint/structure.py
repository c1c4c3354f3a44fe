"""What must hold between messages, however they are stored: channels, recipients, final answers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from inspector.capture.formats import clip, count
from inspector.data.lint.finding import Flaw
from inspector.data.lint.rules import Rule
from inspector.protocol.harmony.vocab import Marker

SHOWN: Final = 60
"""Characters of an excerpt."""

_CHANNELS: Final = frozenset({"analysis", "commentary", "final"})
_WITHOUT_NAMESPACE: Final = frozenset({"python", "all", "assistant", "user"})
"""Recipients that are whole names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One Harmony message."""

    message: int
    at: int | None
    """Its first token; None without tokens."""
    role: str | None
    channel: str | None
    recipient: str | None
    text: str
    has_header: bool = True
    """False where its header was rejected or is not complete."""

    @property
    def is_assistant(self) -> bool:
        """True for a message of the model whose header is known."""
        return self.has_header and self.role == "assistant"

    @property
    def is_call(self) -> bool:
        """True for a tool call."""
        return self.is_assistant and self.recipient not in {None, "all"}

    @property
    def is_final(self) -> bool:
        """True for a final answer."""
        return self.is_assistant and self.channel == "final"

    @property
    def is_analysis(self) -> bool:
        """True for reasoning."""
        return self.is_assistant and self.channel == "analysis" and not self.is_call


def conversations(parts: Sequence[Part]) -> Iterator[Sequence[Part]]:
    """The conversations of a row: packing puts several behind each other, each with a system message."""
    first = 0
    for place, part in enumerate(parts):
        if place > first and part.has_header and part.role == "system" and parts[place - 1].role != "system":
            yield parts[first:place]
            first = place
    if parts:
        yield parts[first:]


def check_structure(parts: Sequence[Part], *, ended: bool = True, rendered: bool = True) -> Iterator[Flaw]:
    """Flaws of one conversation; without `ended` another message follows, which is not among the parts.

    Without `rendered` the messages are still to be rendered, which drops the reasoning of finished turns.
    """
    for part in parts:
        if part.is_assistant:
            yield from _header(part)
        if part.is_final and not part.text.strip():
            yield _flaw(Rule.EMPTY_FINAL, part)
    last = parts[-1]
    if ended and last.is_assistant and last.channel in {"analysis", "commentary"} and not last.is_call:
        yield _flaw(Rule.MISSING_FINAL, last)
    if rendered:
        yield from _kept(parts)


def _header(part: Part) -> Iterator[Flaw]:
    recipient = part.recipient
    if part.channel is None:
        yield _flaw(Rule.MISSING_CHANNEL, part)
    elif part.channel not in _CHANNELS:
        yield _flaw(Rule.UNKNOWN_CHANNEL, part, f"It is “{clip(part.channel, SHOWN)}”.")
    if recipient is None:
        return
    if recipient.startswith(Marker.CONSTRAIN.text):
        # `final <|constrain|>json` is how the model writes structured answers; the library reads a recipient.
        if part.channel != "final":
            yield _flaw(Rule.CONSTRAIN_SPELLING, part)
    elif part.channel == "final" and part.is_call:
        yield _flaw(Rule.CALL_ON_FINAL, part, f"It is “{clip(recipient, SHOWN)}”.")
    elif "." not in recipient and recipient not in _WITHOUT_NAMESPACE:
        yield _flaw(Rule.RECIPIENT_SPELLING, part, f"It is “{clip(recipient, SHOWN)}”.")


def _kept(parts: Sequence[Part]) -> Iterator[Flaw]:
    """Reasoning before the first final answer of a conversation that went on and ended in another.

    This is where openai_harmony and the chat template both drop it; the library keeps that of later turns.
    """
    finals = [place for place, part in enumerate(parts) if part.is_final]
    own = [part for part in parts if part.role == "assistant"]
    if not finals or not own[-1].is_final:
        return
    first = finals[0]
    if not any(part.role == "user" for part in parts[first:]):
        return
    kept = [part for part in parts[:first] if part.is_analysis]
    if kept:
        note = "" if len(kept) == 1 else f"There are {count(len(kept), 'such message')}."
        yield _flaw(Rule.ANALYSIS_KEPT, kept[0], note)


def _flaw(rule: Rule, part: Part, note: str = "") -> Flaw:
    return Flaw(rule=rule, message=part.message, at=part.at, note=note, excerpt=clip(part.text, SHOWN))
