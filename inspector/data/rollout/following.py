"""Turns without a name: which conversation of those before a turn goes on."""

from array import array
from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from inspector.analysis.prompt.messages import PromptMessage, parse
from inspector.capture.formats import number
from inspector.data.rollout.turns import Turn

_OPEN_AT_MOST: Final = 512
"""Conversations that a turn may continue."""
_ASKS: Final = frozenset({"system", "developer", "user"})


@dataclass(frozen=True, slots=True)
class _Open:
    """A conversation that may go on."""

    size: int
    """Tokens of its last turn, prompt and response together."""
    context: bytes
    """Hash of these tokens."""
    prompt: bytes
    """Hash of the last prompt."""
    first: str
    """Its first question."""
    question: str
    """Its last question."""
    written: frozenset[str]
    """Texts that the model wrote in its last turn."""


class Unnamed:
    """Conversations whose rows have no name, and may alternate."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._open: OrderedDict[str, _Open] = OrderedDict()
        self._begun = 0
        self.names: list[str] = []
        """Conversations of a row, to be forgotten at its end; empty for a whole file."""

    def before(self, turn: Turn, *, repeats: bool) -> list[str]:
        """The conversations that a turn may continue: none if it begins one, several if it is ambiguous."""
        if extended := self._extended(turn):
            return extended
        messages = parse(turn.prompt)
        texts = {message.text for message in messages}
        latest = next(reversed(self._open), None)
        if repeats and latest is not None and self._open[latest].prompt == _digest(turn.prompt):
            return [latest]
        if not _is_later(messages):
            return []
        first = _question(messages)
        alike = [name for name, held in self._open.items() if held.first == first]
        answered = [name for name in alike if not self._open[name].written.isdisjoint(texts)]
        if answered or alike:
            return answered or alike
        if latest is not None and not ({self._open[latest].question} | self._open[latest].written).isdisjoint(
            texts
        ):
            return [latest]
        return []

    def goes_on_none(self, turn: Turn) -> bool:
        """True for a turn with a history that is not the first, where `before` named nothing."""
        return self._begun > 0 and _is_later(parse(turn.prompt))

    def begin(self, turn: Turn) -> str:
        """The name of a new conversation."""
        self._begun += 1
        if self._label:
            name = self._label if self._begun == 1 else f"{self._label} ({number(self._begun)})"
            self.names.append(name)
            return name
        return f"from row {number(turn.row)}"

    def keep(self, name: str, turn: Turn) -> None:
        """The last turn of a conversation is now this one."""
        context = [*turn.prompt, *turn.generated]
        messages = parse(context)
        written = (message.text for message in messages if message.end > len(turn.prompt))
        questions = [message.text for message in messages if message.role == "user"]
        self._open.pop(name, None)
        self._open[name] = _Open(
            size=len(context),
            context=_digest(context),
            prompt=_digest(turn.prompt),
            first=_question(messages),
            question=questions[-1] if questions else "",
            written=frozenset(text for text in written if text.strip()),
        )
        if len(self._open) > _OPEN_AT_MOST:
            self._open.popitem(last=False)

    def forget(self, names: Collection[str]) -> None:
        """One of these conversations went on, but it is not known which."""
        for name in names:
            self._open.pop(name, None)

    def _extended(self, turn: Turn) -> list[str]:
        """The conversation whose tokens a prompt begins with: the longest, and the latest of these."""
        hashes: dict[int, bytes] = {}
        running, done, ids = blake2b(digest_size=16), 0, array("q", turn.prompt)
        for size in sorted({held.size for held in self._open.values() if held.size <= len(ids)}):
            running.update(ids[done:size].tobytes())
            hashes[size], done = running.copy().digest(), size
        fitting = [name for name, held in self._open.items() if hashes.get(held.size) == held.context]
        return sorted(fitting, key=lambda name: self._open[name].size)[-1:]


def _digest(ids: Sequence[int]) -> bytes:
    return blake2b(array("q", ids).tobytes(), digest_size=16).digest()


def _question(messages: Sequence[PromptMessage]) -> str:
    return next((message.text for message in messages if message.role == "user"), "")


def _is_later(messages: Sequence[PromptMessage]) -> bool:
    """True for a prompt with messages of a model or a tool, or with several questions."""
    roles = [message.role for message in messages if message.text.strip()]
    return not _ASKS.issuperset(roles) or roles.count("user") > 1
