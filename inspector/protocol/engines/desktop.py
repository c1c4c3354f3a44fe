"""Ollama and LM Studio: their APIs have no token IDs, so a response does not show what the model wrote.

From their documentation and published responses; neither was run. Ollama's own `/api/chat` is not an endpoint
that this program reads.
"""

import re
from typing import Final

from inspector.protocol.engines.engine import Engine

OLLAMA: Final = Engine(
    name="ollama",
    label="Ollama",
    program="ollama",
    owners=("library",),
    fingerprint=re.compile(r"fp_ollama$(?P<version>)"),
    evidence={},
    no_ids="Ollama sends no token IDs, so what the model wrote is unknown.",
    start_hint="Pull the model: ollama pull gpt-oss:20b.",
    tools_hint="Update Ollama and pull the model again; template and parser come with them.",
    tools_question="See Ollama's server log for the reason.",
    reasoning_hint="Update Ollama; it sends the reasoning in `reasoning`.",
)

LM_STUDIO: Final = Engine(
    name="lm-studio",
    label="LM Studio",
    program="lm-studio",
    owners=("organization_owner",),
    evidence={},
    no_ids="LM Studio sends no token IDs; the raw text is in its developer log, which `audit` reads.",
    start_hint="Load the model in LM Studio: lms load openai/gpt-oss-20b.",
    tools_hint="Update LM Studio and its runtime; its own engine parses the calls.",
    tools_question="See LM Studio's developer log for the reason.",
    reasoning_hint="Turn on the separate reasoning_content in LM Studio's developer settings.",
)
