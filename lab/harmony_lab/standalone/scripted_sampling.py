"""A vLLM logits processor that makes a model emit the tokens of a script. Standalone: copy it anywhere.

Start any vLLM with V1 logits processors (0.11 and later), on a CPU or a GPU:

    export PYTHONPATH=<folder of this file> HARMONY_LAB_SCRIPTS=scripts.json
    vllm serve openai/gpt-oss-20b --logits-processors scripted_sampling:ScriptedSampling

and put a marker into the user's text, on any endpoint:

    [[script tool_call]]                      a script of the file, by name
    [[tokens 200005 17196 200008 13225 200002]]   token ids as they stand

The marker is looked for in the decoded prompt, because that is the one place every version and
every endpoint brings through. After a server-side tool call the prompt holds the call, and the
script goes on with its next turn. A request without a marker gets a short valid answer where the
weights are dummies, and is left to the model where they are real. HARMONY_LAB_SCRIPTS names a JSON
file: script name to a list of turns, each a list of token ids; it may be missing.

The newer "V2" model runner of GPU builds takes another interface: start it with
VLLM_USE_V2_MODEL_RUNNER=0. Speculative decoding bypasses logits processors.

Imports nothing of harmony-inspector. Unknown script names are answered with a sentence that says so.
"""

import json
import os
import re
from collections.abc import Sequence
from typing import Any, Final

from openai_harmony import HarmonyEncodingName, load_harmony_encoding
from vllm.v1.sample.logits_processor import LogitsProcessor  # type: ignore[import-not-found]

RETURN: Final = 200002
MARKER: Final = re.compile(r"\[\[(?:script ([A-Za-z0-9_.-]+)|tokens ([\d\s]+))\]\]")
NOT_TOOLS: Final = ("assistant", "user", "system", "developer")


class ScriptedSampling(LogitsProcessor):  # type: ignore[misc]
    """Forces one token per row and step: the one at the row's place in its script."""

    def __init__(self, vllm_config: Any, device: object, is_pin_memory: bool) -> None:  # noqa: ARG002
        """Read the scripts; the signature is vLLM's."""
        self.encoding = load_harmony_encoding(HarmonyEncodingName.HARMONY_GPT_OSS)
        self.scripts: dict[str, list[list[int]]] = {}
        path = os.environ.get("HARMONY_LAB_SCRIPTS")
        if path:
            with open(path, encoding="utf-8") as file:
                self.scripts = json.load(file)
        self.answers_alone = str(vllm_config.load_config.load_format) not in ("dummy", "LoadFormat.DUMMY")
        self.rows: dict[int, tuple[list[int], Sequence[int]]] = {}

    @classmethod
    def validate_params(cls, sampling_params: object) -> None:
        """Accept every request: the marker is in the prompt, not in the parameters."""

    def is_argmax_invariant(self) -> bool:
        """Say that greedy sampling must not skip this."""
        return False

    def update_state(self, batch_update: Any) -> None:
        """Follow the rows of the batch while requests are added, removed and moved."""
        if batch_update is None:
            return
        for row in batch_update.removed:
            self.rows.pop(row, None)
        for row, _params, prompt_ids, output_ids in batch_update.added:
            tokens = self.tokens_for(prompt_ids or [])
            if tokens is None:
                self.rows.pop(row, None)
            else:
                # `output_ids` is vLLM's own list and grows with each accepted token: counting it, and
                # not the calls of apply, stays right under chunked prefill and preemption.
                self.rows[row] = (tokens, output_ids)
        for source, target, direction in batch_update.moved:
            moving, staying = self.rows.pop(source, None), self.rows.pop(target, None)
            if moving is not None:
                self.rows[target] = moving
            if direction.name == "SWAP" and staying is not None:
                self.rows[source] = staying

    def apply(self, logits: Any) -> Any:
        """Leave one possible token in each scripted row."""
        for row, (tokens, output_ids) in self.rows.items():
            if row < logits.shape[0]:
                place = len(output_ids)
                logits[row].fill_(float("-inf"))
                logits[row, tokens[place] if place < len(tokens) else RETURN] = 0.0
        return logits

    def tokens_for(self, prompt_ids: Sequence[int]) -> list[int] | None:
        """Return the tokens that the answer to this prompt must have, None to leave the model alone."""
        text = self.encoding.decode(list(prompt_ids))
        markers = list(MARKER.finditer(text))
        if not markers:
            return (
                None if self.answers_alone else self.sentence("No script was named.", "Hello from the lab.")
            )
        name, ids = markers[-1].groups()
        if ids:
            turns = [[int(token) for token in ids.split()]]
        elif name in self.scripts:
            turns = self.scripts[name]
        else:
            return self.sentence("Unknown script.", f"The lab has no script called {name}.")
        return turns[min(self.turn(text[markers[-1].end() :]), len(turns) - 1)]

    def turn(self, after: str) -> int:
        """Count the calls, or the tools' outputs where a server forgot the calls, since the marker."""
        outputs = [part for part in after.split("<|start|>")[1:] if not part.startswith(NOT_TOOLS)]
        return max(after.count("<|call|>"), len(outputs))

    def sentence(self, reasoning: str, answer: str) -> list[int]:
        """Return the tokens of a short valid answer."""
        text = (
            f"<|channel|>analysis<|message|>{reasoning}<|end|>"
            f"<|start|>assistant<|channel|>final<|message|>{answer}<|return|>"
        )
        return list(self.encoding.encode(text, allowed_special="all"))
