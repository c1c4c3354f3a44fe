"""NVIDIA Dynamo's front end, whose parser (dynamo-parsers) SGLang's Rust server uses too.

Run: 1.4.2 and 1.6.1.

- `nvext.extra_fields: ["completion_token_ids"]` brings the IDs of each step in its chunk, in
  `nvext.completion_token_ids` (pull request 9649). 1.4.2 sends none where the request has tools. It rejects
  `return_token_ids` with status 400.
- It never reports an error of its parser: the log has "Harmony parse error", the response ends as usual.
- A line feed separates a second or later message of one field from the one before. A last <|endoftext|> is a
  stop token, not text.
- Responses has no reasoning.
"""

from typing import Final

from inspector.capture.capture import Endpoint
from inspector.protocol.engines.engine import Engine
from inspector.protocol.harmony.contract import Contract
from inspector.protocol.harmony.violations import ENDOFTEXT

_EVIDENCE: Final = {"nvext": {"extra_fields": ["completion_token_ids"]}}


DYNAMO: Final = Engine(
    name="dynamo",
    label="Dynamo",
    program="dynamo",
    owners=("nvidia",),
    contract=Contract(separator="\n", ends_in_no_text=frozenset({ENDOFTEXT})),
    reasoning_keys=("reasoning_content",),
    evidence={Endpoint.CHAT: _EVIDENCE, Endpoint.COMPLETIONS: _EVIDENCE},
    members=frozenset({"nvext"}),
    ids_at=("nvext.completion_token_ids",),
    start_hint="Start a Dynamo front end and a worker that serves openai/gpt-oss-20b.",
    tools_hint="Start the worker with --dyn-tool-call-parser harmony.",
    tools_question="Is the worker started with --dyn-tool-call-parser harmony?",
    reasoning_hint="Start the worker with --dyn-reasoning-parser gpt_oss.",
)
