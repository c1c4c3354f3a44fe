"""Requests that a server rejects, and servers that are not vLLM, in many words."""

import pytest

from tests.support.symptoms import found, texts

# The entries that are right for a group, then its texts.
SAID = [
    (
        {"responses-store-off"},
        [
            "previous_response_id with vLLM and gpt-oss: 404 Response with id 'resp_5a' not found",
        ],
    ),
    (
        {"http-200-error-chunk", "500-without-reason", "unknown"},
        [
            'the SSE stream of vLLM gpt-oss contains data: {"error": {"message": "list index out of range"}}',
        ],
    ),
    (
        {"messages-role-system"},
        [
            "Claude Code 2.x against vLLM /v1/messages: role system is rejected with 400",
        ],
    ),
    (
        {"responses-namespace-tools"},
        [
            "codex 0.99 with MCP servers against vLLM: tools of type namespace are rejected",
        ],
    ),
    (
        {"responses-tool-type-refused"},
        [
            "codex sends web_search tool to vLLM /v1/responses: Input should be 'function' ('body', "
            "'tools', 3, 'type')",
        ],
    ),
    (
        {"model-name-unknown"},
        [
            "NotFoundError The model `gpt-oss-120b` does not exist.",
        ],
    ),
    (
        {"wrong-path"},
        [
            "Dify: 404 Not Found for http://vllm:8000/v1/v1/chat/completions",
            "I set base_url to http://localhost:8000 and get 404 from vLLM, do I need /v1?",
        ],
    ),
    (
        {"api-key-rejected"},
        [
            "n8n OpenAI node to vLLM: 401 - Unauthorized",
        ],
    ),
    (
        {"context-length-exceeded"},
        [
            'opencode + gpt-oss-120b vLLM stops with "maximum context length is 32768 tokens"',
        ],
    ),
    (
        {"images-refused"},
        [
            "gpt-oss-20b is not a multimodal model (vLLM) when I paste a screenshot in Cline",
        ],
    ),
    (
        {"stale-generation-config"},
        [
            "gpt-oss on vLLM keeps generating after the tool call until max_tokens",
            "the model does not stop at <|call|>; eos_token_id lists only 200002",
        ],
    ),
    (
        {"vocab-download"},
        [
            "vLLM gpt-oss without internet: failed to download or load vocab file",
        ],
    ),
    (
        {"routed:startup"},
        [
            "vllm container restarts in a loop when it loads gpt-oss-120b on 2x A6000",
            "gpt-oss-20b on V100: ValueError: The quantization method mxfp4 is not supported for the "
            "current GPU. Minimum capability: 80. Current capability: 70.",
            'vLLM hangs at "Capturing CUDA graphs" with gpt-oss-120b',
            "AssertionError: Sinks are only supported in FlashAttention 3 vllm gpt-oss",
            "NVIDIA driver too old, vllm serve openai/gpt-oss-20b exits: CUDA driver version is "
            "insufficient for CUDA runtime version",
        ],
    ),
    (
        {"routed:ollama"},
        [
            "gpt-oss:20b with ollama 0.11: tool calls come back as text",
        ],
    ),
    (
        {"routed:llama.cpp"},
        [
            "llama-server gpt-oss-20b-Q4_K_M.gguf: Unexpected content at end of stream",
        ],
    ),
    (
        {"routed:sglang"},
        [
            "sglang 0.5 gpt-oss: reasoning parser drops the answer",
        ],
    ),
    (
        {"routed:tensorrt-llm"},
        [
            "trtllm-serve gpt-oss-120b harmony error unexpected tokens in header text",
        ],
    ),
    (
        {"routed:lmstudio"},
        [
            "LM Studio 0.3.30 gpt-oss-20b: Failed to parse tool call",
        ],
    ),
    (
        {"routed:mlx"},
        [
            "mlx_lm.server with gpt-oss prints the channel markup",
        ],
    ),
    (
        {"routed:hosted"},
        [
            "gpt-oss-120b on Groq: tool call validation failed",
            "Bedrock gpt-oss Converse API: toolUse input is empty",
        ],
    ),
    (
        {"routed:dynamo"},
        [
            "dynamo frontend with gpt-oss returns reasoning in content, --dyn-reasoning-parser gpt_oss",
        ],
    ),
    (
        {"routed:openvino"},
        [
            "OVMS gpt-oss tool parser fails",
        ],
    ),
]


@pytest.mark.parametrize(("right", "text"), texts(SAID))
def test_a_symptom_leads_to_its_entry_however_it_is_said(right: set[str], text: str) -> None:
    assert found(text) in right
