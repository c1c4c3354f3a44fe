"""The grammar table for the docs, made from `states`: `python -m tools.make_grammar` prints it."""

import sys
from typing import Final

from inspector.harmony.states import TRANSITIONS, State
from inspector.harmony.vocab import Marker

__all__ = ["grammar_table"]

_ELSE: Final = {
    State.BETWEEN: "refused",
    State.BODY: "text of the body",
    State.REFUSED: "stays refused",
}


def grammar_table() -> str:
    """The transitions as a Markdown table: a row a state, a column a marker."""
    lines = [
        "| state | "
        + " | ".join(f"`{marker.text}`".replace("|", "\\|") for marker in Marker)
        + " | any other token |",
        "|---" * (len(Marker) + 2) + "|",
    ]
    for state in State:
        rest = _ELSE.get(state, "text of the header")
        cells = [str(TRANSITIONS.get((state, marker), rest)) for marker in Marker]
        lines.append(f"| {state} | {' | '.join(cells)} | {rest} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(grammar_table() + "\n")
