"""What the tracker says about a Harmony stream: a closed union of frozen values.

Places are indexes of tokens in the completion. A message whose header began in the prompt has a
negative start.
"""

from dataclasses import dataclass, replace

from inspector.protocol.harmony.states import State


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageHeader:
    """A message header as the reference parser reads it."""

    role: str | None
    channel: str | None
    recipient: str | None
    content_type: str | None
    """Without `<|constrain|>`; see `constrained`."""
    constrained: bool
    """True when `<|constrain|>` stood before the content type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderOpened:
    """A header begins at `<|start|>`; at a negative place when the prompt gave the role."""

    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderClosed:
    """`<|message|>` at `at` ended a header that the reference parser accepts."""

    at: int
    header: MessageHeader


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyAdded:
    """Tokens `start` to `end` (exclusive) belong to the open body."""

    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageClosed:
    """A stop token at `at` closed the open message."""

    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRejected:
    """The reference parser rejected the token at `at`; all is rejected from there to the next `<|start|>`."""

    at: int
    state: State
    """State before the rejected token: a header state for a bad header."""
    words: str
    """The reference parser's own message, verbatim."""


HarmonyEvent = HeaderOpened | HeaderClosed | BodyAdded | MessageClosed | TokenRejected


def shifted(event: HarmonyEvent, by: int) -> HarmonyEvent:
    """The event of a completion whose first token is the token `by` of a longer one."""
    if isinstance(event, BodyAdded):
        return replace(event, start=event.start + by, end=event.end + by)
    return replace(event, at=max(event.at, 0) + by)
