"""SGLang: its Python server, and the Rust server that its wheels have from 0.5.19 on.

Both are `sglang` in the model list, so a capture does not say which of them responded.

- Python (from published sources, not run): `return_output_ids_in_sglext` brings `sglext.output_ids`, a list
  for each choice, once at the end of a stream (pull request 34488; in 0.5.21), with the header
  `x-sglext-ids-framed: 1` as an event of its own; unstreamed, `return_token_ids` brings
  `choices[].response_token_ids` (pull request 30917; in 0.5.17).
- Rust (0.5.19 to 0.5.23, run): it ignores these keys. With `logprobs` it sends `token_id` for the tokens of
  chunks that deliver text, and `usage.completion_tokens` counts them all.
- Every choice of the Python server has `matched_stop`, null or not (entrypoints/openai/protocol.py).
- The Rust server parses with dynamo-parsers, which puts a line feed between two messages of one field, and
  takes a last <|endoftext|> for a stop token, not for text.
"""

from typing import Final

from inspector.capture.capture import Endpoint
from inspector.protocol.engines.engine import Engine
from inspector.protocol.harmony.contract import Contract
from inspector.protocol.harmony.violations import ENDOFTEXT

SGLANG: Final = Engine(
    name="sglang",
    label="SGLang",
    program="sglang",
    version_path="/server_info",
    owners=("sglang",),
    contract=Contract(separator="\n", ends_in_no_text=frozenset({ENDOFTEXT})),
    reasoning_keys=("reasoning_content",),
    evidence={
        Endpoint.CHAT: {"return_output_ids_in_sglext": True},
        Endpoint.COMPLETIONS: {"return_token_ids": True},
    },
    evidence_unstreamed={Endpoint.CHAT: {"return_token_ids": True}},
    members=frozenset({"matched_stop", "sglext", "response_token_ids"}),
    ids_at=("sglext.output_ids", "choices[].response_token_ids"),
    logprobs_of_text=True,
    ids_ignored="the Rust server ignores it; ask for logprobs, which name the tokens of delivered text, or "
    "use the Python server.",
    start_hint="Start SGLang with a model: python -m sglang.launch_server --model-path openai/gpt-oss-20b.",
    tools_hint="Start SGLang's Python server with --tool-call-parser gpt-oss.",
    tools_question="Is it SGLang's Rust server? Its command line offers no parser for calls of gpt-oss.",
    tools_words=("tool-call parser", "tool-call-parser"),
    reasoning_hint="Start SGLang with --reasoning-parser gpt-oss.",
)
