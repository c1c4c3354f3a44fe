"""The grammar table for the docs, made from `states`: `python -m tools.make_grammar` prints it."""

import sys
from typing import Final

from inspector.protocol.harmony.states import TRANSITIONS, State
from inspector.protocol.harmony.vocab import Marker

_ELSE: Final = {
    State.BETWEEN: "rejected",
    State.BODY: "text of the body",
    State.REJECTED: "stays rejected",
}


def _words(state: State) -> str:
    """The state as the docs call it; its value `refused` is what scripts see."""
    return "rejected" if state is State.REJECTED else str(state)


def grammar_table() -> str:
    """The transitions as a Markdown table: one row per state, one column per special token."""
    lines = [
        "| state | "
        + " | ".join(f"`{marker.text}`".replace("|", "\\|") for marker in Marker)
        + " | any other token |",
        "|---" * (len(Marker) + 2) + "|",
    ]
    for state in State:
        rest = _ELSE.get(state, "text of the header")
        leaving = (TRANSITIONS.get((state, marker)) for marker in Marker)
        cells = [rest if after is None else _words(after) for after in leaving]
        lines.append(f"| {_words(state)} | {' | '.join(cells)} | {rest} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(grammar_table() + "\n")
