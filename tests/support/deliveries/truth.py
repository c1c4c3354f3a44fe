"""What is known of a random delivery without the code under test."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from inspector.capture.capture import Capture, Endpoint
from tests.support.deliveries.scripts import REASONING, STOPS

__all__ = ["CUTS", "FAULTS", "HARMLESS", "Choice", "RandomDelivery", "SentEvidence", "joins", "same_texts"]

HARMLESS: Final = frozenset({"none", "hold", "stop", "hide_reasoning"})
"""What a server may do; all other faults change what the client gets."""

FAULTS: Final = (
    *("drop", "range", "truncate", "garble", "newline", "invent", "duplicate", "misfile"),
    *("reorder", "reorder_across", "rename", "lose_call"),
)
"""Faults of delivery: each makes the delivered text differ from the generated text."""

CUTS: Final = ("lose_end", "lose_event", "unfinished")
"""Events that are gone with their tokens, so that the evidence does not cover the response."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SentEvidence:
    """What a capture has beside the delivered text."""

    ids: str
    """`all`, `some`, `logprobs` or `none`."""
    usage: bool
    finish: bool
    done_sent: bool
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
class RandomDelivery:
    """A capture and its truth."""

    seed: int
    capture: Capture
    fault: str
    in_final: bool
    """Whether the final object of Responses has the fault too."""
    same_count: bool
    """Whether the texts with the fault may have as many tokens as those without, so that no count tells."""
    streamed: bool
    error_reported: bool
    """Whether the server reported the parser's error."""
    evidence: SentEvidence
    choices: Sequence[Choice]

    @property
    def harmless(self) -> bool:
        """Whether the server did nothing wrong, so far as the capture goes."""
        return self.fault in HARMLESS

    @property
    def all_events_sent(self) -> bool:
        """Whether no event is missing."""
        return self.fault not in CUTS

    @property
    def rejected(self) -> bool:
        """Whether the parser rejects a token of it."""
        return any(choice.rejected is not None for choice in self.choices)

    @property
    def delivers_all(self) -> bool:
        """Whether each field got what was generated for it."""
        return all(same_texts(choice, hidden=self.fault == "hide_reasoning") for choice in self.choices)

    @property
    def covered(self) -> bool:
        """Whether the evidence in the capture accounts for the whole response."""
        if not self.all_events_sent:
            return False
        if self.capture.header.endpoint is Endpoint.RESPONSES:
            return self.evidence.final and self.evidence.usage
        if self.fault == "hide_reasoning":
            return False
        # The stop token alone has no text.
        return all(
            all(shown or token_id in STOPS for shown, token_id in zip(choice.shown, choice.ids, strict=True))
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


def same_texts(choice: Choice, *, hidden: bool = False) -> bool:
    """Whether each field of a choice has its texts, with a line feed between two of them or none."""
    names = {*choice.generated, *choice.delivered} - ({REASONING} if hidden else set())
    return all(
        joins(choice.generated.get(name, ()), choice.delivered.get(name, ""), json_too="arguments" in name)
        for name in names
    )


def joins(texts: Sequence[str], delivered: str, *, json_too: bool) -> bool:
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
