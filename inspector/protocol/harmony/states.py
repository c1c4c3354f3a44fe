"""The grammar of a Harmony stream, as a table. Everything that decides a transition is here.

Source: the Harmony response format (github.com/openai/harmony, docs/format.md) and the behaviour of
`openai_harmony.StreamableParser` 0.0.4 to 0.0.11: inside a header every token but `<|message|>` is
header text, stop tokens too; inside a body every special token but the three stop tokens is body text.
"""

from enum import StrEnum
from typing import Final

from inspector.protocol.harmony.vocab import Marker


class State(StrEnum):
    """Where the stream is, before the next token."""

    BETWEEN = "between messages"
    """After a closed message: only `<|start|>` may follow."""
    ROLE = "header: role"
    """After `<|start|>`: the role, perhaps with a recipient."""
    CHANNEL = "header: channel"
    """After `<|channel|>`: the channel, perhaps with a recipient."""
    CONTENT_TYPE = "header: content type"
    """After `<|constrain|>`."""
    BODY = "body"
    """After `<|message|>`."""
    REJECTED = "refused"
    """After a token that the reference parser rejected, until the next `<|start|>`."""


STOPS: Final[frozenset[int]] = frozenset({Marker.END, Marker.RETURN, Marker.CALL})
"""Special tokens that close a body."""

HEADER_STATES: Final[frozenset[State]] = frozenset({State.ROLE, State.CHANNEL, State.CONTENT_TYPE})

TRANSITIONS: Final[dict[tuple[State, Marker], State]] = {
    (State.BETWEEN, Marker.START): State.ROLE,
    (State.ROLE, Marker.CHANNEL): State.CHANNEL,
    (State.ROLE, Marker.CONSTRAIN): State.CONTENT_TYPE,
    (State.ROLE, Marker.MESSAGE): State.BODY,
    (State.CHANNEL, Marker.CONSTRAIN): State.CONTENT_TYPE,
    (State.CHANNEL, Marker.MESSAGE): State.BODY,
    (State.CONTENT_TYPE, Marker.CHANNEL): State.CHANNEL,
    (State.CONTENT_TYPE, Marker.MESSAGE): State.BODY,
    (State.BODY, Marker.END): State.BETWEEN,
    (State.BODY, Marker.RETURN): State.BETWEEN,
    (State.BODY, Marker.CALL): State.BETWEEN,
    (State.REJECTED, Marker.START): State.ROLE,
}
"""A special token that is not listed is text of the header or body, is rejected between messages, and stays
rejected after a rejection."""

LEAVES: Final[dict[State, frozenset[int]]] = {
    state: frozenset(marker for (at, marker) in TRANSITIONS if at is state) for state in State
}
"""IDs that leave a state; all others stay in it (between messages they are rejected)."""


def after(state: State, token_id: int) -> State:
    """The state after one token, if the reference parser accepts it."""
    if token_id in LEAVES[state]:
        return TRANSITIONS[state, Marker(token_id)]
    return State.REJECTED if state is State.BETWEEN else state
