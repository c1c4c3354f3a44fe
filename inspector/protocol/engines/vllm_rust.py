"""vLLM's Rust front end (`vllm-rs`, in the wheels from 0.23.0 on), with a Harmony parser of its own.

Measured on 0.33.0, where the Python front end of the same release does the opposite:

- Parser errors are reported: an error chunk (code 500) takes the place of the chunk of the rejected token,
  whose ID is therefore not in the stream. So end streams that go on after a stop token (`ignore_eos`) too.
- A line feed separates a second or later message of one field from the one before.
- A call without arguments has no event at all. No flag changes that.
- A recipient on the final channel makes no tool call: the text is content.
- There is no `/v1/responses` (404), and `/v1/messages` answers 501.
"""

from typing import Final

from inspector.capture.capture import Endpoint
from inspector.protocol.engines.engine import Engine
from inspector.protocol.harmony.contract import Contract

_NO_FLAG: Final = (
    "The Rust front end has no parser flags for gpt-oss; start vLLM's Python front end to compare."
)

VLLM_RUST: Final = Engine(
    name="vllm-rust",
    label="vLLM (Rust front end)",
    front_end="vLLM's Rust front end",
    program="vllm-rust",
    released_with="vllm",
    owners=("vllm-frontend-rs",),
    contract=Contract(separator="\n"),
    lacks={Endpoint.RESPONSES: "HTTP 404", Endpoint.MESSAGES: "HTTP 501"},
    start_hint="Start the server with a model: vllm-rs serve openai/gpt-oss-20b.",
    tools_hint=_NO_FLAG,
    tools_question="See the server's log for the reason.",
    reasoning_hint=_NO_FLAG,
)
