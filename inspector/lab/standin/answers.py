"""Which tokens a prompt asks for: the markers that `scripted_sampling` reads too, and one for the steps.

    [[script tool_call]]                 a script by its name
    [[tokens 200005 17196 ... 200002]]   token ids as they stand
    [[steps ragged:7]]                   beside either: how the engine groups them, see `steps`

`scripted_sampling` stays one file that runs inside vLLM without this package, so the rules are written there
once more; a test with the real engine compares the two.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from inspector.capture.errors import LabError
from inspector.lab.standin.steps import Schedule, schedule_of
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.vocab import encode

_MARKER: Final = re.compile(r"\[\[(?:script ([A-Za-z0-9_.-]+)|tokens ([\d\s]+))\]\]")
_STEPS: Final = re.compile(r"\[\[steps ([^\]\s]+)\]\]")
_NOT_TOOLS: Final = ("assistant", "user", "system", "developer")


class Answer(NamedTuple):
    """What a prompt gets."""

    tokens: Sequence[int]
    script: str
    """The script's name; `tokens` for ids of its own, empty for neither."""
    schedule: Schedule | None
    """None where the prompt names none."""


def answer_to(prompt_ids: Sequence[int], scripts: Mapping[str, Sequence[Sequence[int]]]) -> Answer:
    """The answer that a prompt asks for; a sentence that says so where it asks for nothing known."""
    text = text_of(list(prompt_ids))
    schedule: Schedule | None = None
    if named := _STEPS.findall(text):
        try:
            schedule = schedule_of(named[-1])
        except LabError as error:
            return Answer(_sentence("Unknown schedule.", str(error)), "", None)
    found = list(_MARKER.finditer(text))
    if not found:
        return Answer(_sentence("No script was named.", "Hello from the lab."), "", schedule)
    name, ids = found[-1].groups()
    if ids:
        return Answer([int(token) for token in ids.split()], "tokens", schedule)
    if name not in scripts:
        words = f"The lab has no script called {name}."
        return Answer(_sentence("Unknown script.", words), "", schedule)
    turns = scripts[name]
    return Answer(turns[min(_turn(text[found[-1].end() :]), len(turns) - 1)], name, schedule)


def _turn(after: str) -> int:
    """Calls, or the tools' outputs where a server forgot the calls, since the marker."""
    outputs = [part for part in after.split("<|start|>")[1:] if not part.startswith(_NOT_TOOLS)]
    return max(after.count("<|call|>"), len(outputs))


def _sentence(reasoning: str, answer: str) -> list[int]:
    return encode(
        f"<|channel|>analysis<|message|>{reasoning}<|end|>"
        f"<|start|>assistant<|channel|>final<|message|>{answer}<|return|>"
    )
