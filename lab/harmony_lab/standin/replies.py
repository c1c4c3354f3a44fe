"""The tokens that a prompt requests, by markers in its text: those of `scripted_sampling`, and one for steps.

    [[script tool_call]]                 a script by its name
    [[tokens 200005 17196 ... 200002]]   token IDs
    [[steps ragged:7]]                   with either: the schedule, see `steps`

`scripted_sampling` runs inside vLLM without this package, so it repeats these rules; a test with the real
engine compares the two.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from harmony_lab.standin.steps import Schedule, schedule_of
from inspector.capture.errors import LabError
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.vocab import encode

_MARKER: Final = re.compile(r"\[\[(?:script ([A-Za-z0-9_.-]+)|tokens ([\d\s]+))\]\]")
_STEPS: Final = re.compile(r"\[\[steps ([^\]\s]+)\]\]")
_NOT_TOOLS: Final = ("assistant", "user", "system", "developer")


class ScriptedReply(NamedTuple):
    """What the engine samples for a prompt."""

    tokens: Sequence[int]
    script: str
    """The script's name; `tokens` for IDs in the prompt, empty for neither."""
    schedule: Schedule | None
    """None if the prompt names none."""


def reply_to(prompt_ids: Sequence[int], scripts: Mapping[str, Sequence[Sequence[int]]]) -> ScriptedReply:
    """The reply for a prompt; without a known script, a short message that says so."""
    text = text_of(list(prompt_ids))
    schedule: Schedule | None = None
    if named := _STEPS.findall(text):
        try:
            schedule = schedule_of(named[-1])
        except LabError as error:
            return ScriptedReply(_message("Unknown schedule.", str(error)), "", None)
    markers = list(_MARKER.finditer(text))
    if not markers:
        return ScriptedReply(_message("No script was named.", "Hello from the lab."), "", schedule)
    name, ids = markers[-1].groups()
    if ids:
        return ScriptedReply([int(token) for token in ids.split()], "tokens", schedule)
    if name not in scripts:
        words = f"The lab has no script called {name}."
        return ScriptedReply(_message("Unknown script.", words), "", schedule)
    turns = scripts[name]
    return ScriptedReply(turns[min(_turn(text[markers[-1].end() :]), len(turns) - 1)], name, schedule)


def _turn(after: str) -> int:
    """Number of tool calls after the marker, or of tool outputs if the server dropped the calls."""
    outputs = [part for part in after.split("<|start|>")[1:] if not part.startswith(_NOT_TOOLS)]
    return max(after.count("<|call|>"), len(outputs))


def _message(reasoning: str, content: str) -> list[int]:
    return encode(
        f"<|channel|>analysis<|message|>{reasoning}<|end|>"
        f"<|start|>assistant<|channel|>final<|message|>{content}<|return|>"
    )
