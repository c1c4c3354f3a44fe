"""Servers that are only recognized; none has been run.

- TensorRT-LLM: `avg_decoded_tokens_per_iter` in a choice, `tensorrt_llm` in the model list; it has vLLM's
  `stop_reason` too (tensorrt_llm/serve/openai_protocol.py).
- LMDeploy 0.18.0: `output_ids` in a choice, all at the end of a stream, with `return_token_ids`
  (lmdeploy/serve/openai/protocol.py).
"""

from typing import Final

from inspector.capture.capture import Endpoint
from inspector.protocol.engines.engine import Engine

TENSORRT_LLM: Final = Engine(
    name="tensorrt-llm",
    label="TensorRT-LLM",
    program="tensorrt-llm",
    owners=("tensorrt_llm",),
    members=frozenset({"avg_decoded_tokens_per_iter", "mm_embedding_handle"}),
    evidence={},
    no_ids="No way to TensorRT-LLM's token IDs is known here: send the prompt to a server that sends them.",
)

LMDEPLOY: Final = Engine(
    name="lmdeploy",
    label="LMDeploy",
    program="lmdeploy",
    owners=("lmdeploy",),
    members=frozenset({"output_ids"}),
    evidence={Endpoint.CHAT: {"return_token_ids": True}},
    ids_at=("choices[].output_ids",),
)
