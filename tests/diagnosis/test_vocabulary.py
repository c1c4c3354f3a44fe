"""The same symptom in many words leads to its entry, and statements that sound alike lead to none."""

import pytest

from inspector.diagnosis.text import diagnose_text
from inspector.diagnosis.vocabulary import expanded
from tools.score_diagnose import answer_code

# The entries that are right for a group, then its texts.
SAID = [
    (
        {"ended-without-final"},
        [
            "gpt-oss-120b on vLLM: message.content comes back as None about one time in ten",
            "we sometimes get a blank answer from gpt-oss served by vLLM, usage says 412 completion tokens",
            "vllm gpt-oss returns an empty string as content, finish_reason stop",
            "With vLLM 0.20 and gpt-oss-20b the choices[0].message.content is an empty string",
            "gpt-oss thinks and then just stops. No final message.",
            "Model stops generating after the reasoning part, nothing in the final channel (vLLM, gpt-oss)",
            "gpt-oss with vLLM gives me reasoning only, without an actual answer",
            "the response has reasoning but lacks the answer (gpt-oss-120b / vLLM)",
            "vLLM gpt-oss: the assistant message has no content at all",
            "ChatCompletion message content None with gpt-oss",
            "The LLM response was empty. Model: openai/gpt-oss-120b (vllm)",
            "Sometimes there's no text in the reply of gpt-oss, just thoughts",
            "the model produced thinking but no output (gpt-oss, vllm)",
            "gpt-oss gets stuck after reasoning and does not produce a final response",
            "the reasoning block is displayed but the reply below it is blank. gpt-oss-20b on vLLM",
            "issue: assistant reply never appears after the thought process finishes\nvLLM, gpt-oss-120b",
            "model hangs after thinking\nvllm/vllm-openai:v0.13.0 gpt-oss-20b",
            "The chat ends after the Thinking... section. No output. gpt-oss vLLM",
            "Langgraph agent with gpt-oss on vLLM ends, AIMessage.content is '' and there are no tool_calls",
            "pydantic-ai: Model returned empty response, gpt-oss vLLM",
            "gpt-oss-20b final answer is sometimes missing in vLLM batch runs",
            "usage.completion_tokens is 350 but there is no text in the answer. vLLM gpt-oss",
        ],
    ),
    (
        {"ended-without-final", "final-only-shown-as-reasoning"},
        [
            "The answer is empty but reasoning is filled. gpt-oss-120b, vLLM",
        ],
    ),
    (
        {"ended-without-final", "turn-ended-without-answer"},
        [
            "gpt-oss ends its turn right after thinking without answering",
        ],
    ),
    (
        {"chat-stream-multi-channel-chunk", "ended-without-final"},
        [
            "only the reasoning is streamed, then it finishes, we never receive any content. vllm, gpt-oss",
        ],
    ),
    (
        {"ended-without-final", "tool-parser-flags-missing"},
        [
            "Agent halts after the model's thinking; gpt-oss-120b on vLLM emits neither text nor tool call",
        ],
    ),
    (
        {
            "chat-stream-multi-channel-chunk",
            "responses-stream-no-function-calls",
            "stream-interval-tool-arguments",
            "tool-parser-flags-missing",
        },
        [
            "With stream=true gpt-oss's tool calls vanish, without streaming they are there. vLLM",
            "vllm + gpt-oss: tool_calls are there in non-streaming mode but absent when streaming",
            "Function calls don't come through in streaming with gpt-oss on vLLM",
            "streaming drops the tool call deltas for gpt-oss-120b",
            "tools work with curl but with stream enabled there are no tool_calls (gpt-oss, vllm)",
            "in streaming mode the function call is never emitted (gpt-oss-120b, vLLM)",
            "No tool calls in stream. gpt-oss with vLLM",
            "the tool call is not streamed to the client, only its reasoning, vllm gpt-oss",
            "tool_calls delta missing in SSE stream, vllm 0.12 gpt-oss-20b",
            "function calling works fine with stream=False but not with stream=True, gpt-oss-120b on vLLM",
            "Tool calls are lost in streaming mode when reasoning is enabled (gpt-oss)",
            "Tool call chunks never reach the client when stream is on — gpt-oss, vllm 0.11.2",
        ],
    ),
    (
        {"markers-shown-by-client"},
        [
            "Harmony markup such as <|channel|>analysis ends up in the reply of our chatbot, vLLM + gpt-oss",
            "gpt-oss via vLLM: raw harmony tags in the answer",
            "I see '<|channel|>commentary' in chat replies, gpt-oss vllm",
            "Chat UI displays <|start|>assistant<|channel|>analysis<|message|> before every reply",
            "gpt-oss response is full of channel tags",
        ],
    ),
    (
        {"control-tokens-in-content", "markers-shown-by-client"},
        [
            "The final text contains <|start|>assistant<|channel|>final<|message|> (vllm, gpt-oss)",
            "gpt-oss leaks <|channel|> tokens into responses (vLLM)",
            "special tokens not stripped: <|end|><|start|>assistant in the content, gpt-oss vLLM 0.13",
            "[Bug]: harmony special tokens leak into message.content with gpt-oss-20b on vLLM 0.12",
        ],
    ),
    (
        {"completions-without-template", "markers-shown-by-client", "reasoning-parser-missing"},
        [
            "output begins with analysis and then assistantfinal, vllm gpt-oss-20b",
        ],
    ),
    (
        {"completions-without-template", "markers-shown-by-client"},
        [
            "gpt-oss prints assistantfinal in the middle of the text",
            "Response: analysisUser wants a joke.assistantfinalWhy did the chicken...  (gpt-oss-20b vllm)",
        ],
    ),
    (
        {"tool-name-channel-leak"},
        [
            "the model calls a tool named commentary which does not exist. gpt-oss, vLLM",
            "gpt-oss tries to call 'commentary' as a function",
            "Error: Tool commentary not found (gpt-oss-120b on vLLM)",
            "unknown tool 'assistant<|channel|>commentary'",
            "function name comes out as get_weather<|channel|>json with gpt-oss",
            "Tool 'commentary' is not available, gpt-oss",
            "gpt-oss hallucinates a commentary tool",
            'agent tries to execute tool "commentary" (gpt-oss-120b, vLLM 0.12)',
            "tool name has <|channel|> suffix, gpt-oss vLLM",
            "ValueError: Tool commentary does not exist. Model gpt-oss-120b served by vLLM",
            "gpt-oss keeps calling a non-existent function called 'commentary'",
            "tool_call.function.name == 'commentary'\ngpt-oss vLLM",
            "The function name is returned as search<|channel|>commentary",
        ],
    ),
    (
        {"recipient-nobody-serves", "tool-name-channel-leak", "unknown"},
        [
            "gpt-oss calls functions.get_weather instead of get_weather",
        ],
    ),
    (
        {"analysis-channel-tool-call", "tool-parser-flags-missing"},
        [
            "tool calls show up in the reasoning text instead of tool_calls, vLLM, gpt-oss",
            "vLLM 0.30 with gpt-oss: function calls end up in reasoning",
        ],
    ),
    (
        {"tool-parser-flags-missing"},
        [
            "gpt-oss never uses the tools I give it (vllm serve openai/gpt-oss-20b)",
            "gpt-oss answers with JSON of the call in content rather than a tool call",
            "tool calling does not function with gpt-oss in vLLM",
            "The model outputs the function call as text (gpt-oss / vLLM)",
            "tool use is broken for gpt-oss under vLLM",
            "Gpt-oss writes the tool invocation into the answer text, vLLM",
            "gpt-oss ignores all tools on vLLM",
        ],
    ),
    (
        {"truncated-by-max-tokens"},
        [
            "answers of gpt-oss are cut off in the middle, max_tokens is 512",
            "All 500 tokens go to reasoning and the content is empty, gpt-oss-120b, max_tokens=500",
            "the answer is truncated, finish reason is length. gpt-oss",
        ],
    ),
    (
        {"structured-output-not-enforced"},
        [
            "vLLM: JSON schema is ignored by gpt-oss",
            "guided_json has no effect for gpt-oss in vLLM",
            "gpt-oss ignores response_format",
        ],
    ),
    (
        {"wrong-kernel-garbage"},
        [
            "gpt-oss produces garbled text on RTX 5090 with vLLM",
            "gpt-oss outputs only exclamation marks !!!!!!!! on vLLM",
            "gpt-oss writes gibberish after upgrading the driver, vLLM",
        ],
    ),
    (
        {"chat-stream-last-token-only", "chat-stream-multi-channel-chunk", "responses-stream-missing-tokens"},
        [
            "words are missing in the streamed text of gpt-oss compared to non-streaming, vLLM 0.11",
        ],
    ),
    (
        {"reasoning-field-renamed", "reasoning-parser-missing"},
        [
            "Client shows no thinking for gpt-oss although vLLM sends it",
        ],
    ),
    (
        {"parallel-calls-cut"},
        [
            "only one tool call is returned although the model planned three, gpt-oss vllm",
        ],
    ),
    (
        {
            "chat-stream-multi-channel-chunk",
            "ended-without-final",
            "final-only-shown-as-reasoning",
            "reasoning-field-renamed",
        },
        [
            "content field stays null while reasoning_content has text; gpt-oss-20b / vllm 0.11.2",
        ],
    ),
    (
        {"ended-without-final", "unknown"},
        [
            "Our eval harness gets None as prediction for 3% of the gpt-oss-120b samples (vLLM backend)",
            "gpt-oss produced 0 characters of answer but 900 tokens of reasoning",
        ],
    ),
    (
        {"chat-stream-multi-channel-chunk", "ended-without-final", "unknown"},
        [
            "after thinking the stream closes and the UI shows an empty bubble; vllm, gpt-oss-120b",
        ],
    ),
    (
        {"empty-tool-calls", "ended-without-final"},
        [
            "vLLM returns tool_calls: [] and content: null for gpt-oss",
        ],
    ),
    (
        {
            "chat-stream-multi-channel-chunk",
            "invalid-json-tool-arguments",
            "responses-stream-no-function-calls",
            "stream-interval-tool-arguments",
            "tool-parser-flags-missing",
        },
        [
            "streamed tool calls have empty arguments with gpt-oss on vllm",
        ],
    ),
    (
        {"markers-shown-by-client", "reasoning-parser-missing"},
        [
            "harmony format not parsed, we get the raw text, gpt-oss on vLLM",
        ],
    ),
    (
        {"chat-stream-multi-channel-chunk", "markers-shown-by-client"},
        [
            "The model's chain of thought leaks into the answer. vLLM, gpt-oss-120b",
        ],
    ),
    (
        {"tool-parser-flags-missing", "unknown"},
        [
            "gpt-oss describes the call instead of making it, vllm",
        ],
    ),
    (
        {"ended-without-final", "truncated-by-max-tokens"},
        [
            "gpt-oss runs out of tokens while reasoning so the answer never comes",
            "Output cut right after analysis; gpt-oss-120b",
            "max_tokens=1024: gpt-oss spends everything on thinking and gives no answer",
        ],
    ),
    (
        {"tool-choice-required-ignored"},
        [
            "tool_choice=required is ignored by gpt-oss",
        ],
    ),
    (
        {"ended-without-final", "silent-loss-0-32"},
        [
            "[Bug]: GPT-OSS 120B intermittently returns empty assistant message under load\nvLLM 0.19",
        ],
    ),
    (
        {"client-content-none", "content-null-crashes-client", "ended-without-final"},
        [
            "using gpt-oss behind vLLM my agent crashes because choices[0].message.content is None",
        ],
    ),
    (
        {
            "chat-stream-multi-channel-chunk",
            "ended-without-final",
            "responses-stream-no-function-calls",
            "stream-interval-tool-arguments",
            "tool-parser-flags-missing",
        },
        [
            "[Bug] Streaming responses of gpt-oss omit tool_calls, finish_reason is stop\nvLLM 0.14",
        ],
    ),
    (
        {"ended-without-final", "tool-parser-flags-missing", "unknown"},
        [
            "Model says it will call the tool, but nothing happens. gpt-oss on vLLM",
        ],
    ),
    (
        {"empty-tool-calls", "tool-parser-flags-missing"},
        [
            "LangChain bind_tools with vLLM gpt-oss: tool_calls is always empty",
        ],
    ),
    (
        {"chat-stream-multi-channel-chunk"},
        [
            "The reasoning text is mixed into the content for gpt-oss, vllm 0.12, stream-interval 10",
        ],
    ),
    (
        {"tool-parser-flags-missing"},
        [
            "Using gpt-oss-20b through vLLM with Continue: the assistant says it will read the file "
            "but no tool is ever executed",
            'gpt-oss-120b + vLLM + MCP: the model prints {"path": "README.md"} in the chat rather '
            "than invoking the tool",
        ],
    ),
    (
        {"tool-parser-flags-missing", "empty-tool-calls"},
        [
            "vLLM 0.10.1 gpt-oss: response.choices[0].message.tool_calls is empty but the reasoning "
            "says it wants to call search",
        ],
    ),
    (
        {"stream-interval-tool-arguments", "chat-stream-multi-channel-chunk"},
        [
            "With stream=True the arguments of tool calls from gpt-oss lack their first characters, "
            "non-streaming is correct. vLLM 0.13",
        ],
    ),
    (
        {"stream-interval-tool-arguments"},
        [
            "tool call arguments are truncated at the beginning when --stream-interval 10 is set "
            "(gpt-oss-120b)",
        ],
    ),
    (
        {"ended-without-final", "turn-ended-without-answer"},
        [
            "Every tenth answer of gpt-oss-120b via vLLM is blank; finish_reason stop, only "
            "reasoning present",
        ],
    ),
    (
        {"ended-without-final"},
        [
            "LibreChat shows an empty bubble with gpt-oss-20b on vLLM, the thoughts are there",
        ],
    ),
    (
        {"ended-without-final", "content-null-crashes-client"},
        [
            "gpt-oss: message.content is None sometimes and our summarizer dies",
        ],
    ),
    (
        {"truncated-by-max-tokens"},
        [
            "gpt-oss on vLLM: with reasoning high the answer never comes, completion_tokens equals "
            "max_tokens",
            "finish_reason=length, nothing in content, gpt-oss-20b thinks too long",
        ],
    ),
    (
        {"reasoning-field-renamed"},
        [
            "Open WebUI no longer shows the thinking block for gpt-oss since we upgraded vLLM to 0.16",
            "litellm drops message.reasoning from vLLM gpt-oss because it looks for reasoning_content",
        ],
    ),
    (
        {"reasoning-parser-missing"},
        [
            "gpt-oss reasoning and answer come in one string, we did not set a reasoning parser on vLLM",
        ],
    ),
    (
        {"structured-output-not-enforced"},
        [
            "gpt-oss-20b with guided_json in vLLM returns keys that are not in my schema",
            'response_format={"type":"json_schema"} has no effect with gpt-oss on vLLM, I get markdown',
            "Pydantic validation of the answer fails: gpt-oss via vLLM does not follow the JSON schema",
        ],
    ),
    (
        {"tool-choice-required-ignored"},
        [
            'tool_choice="required" and still plain text from gpt-oss-120b on vLLM',
            "Forcing a named function with tool_choice does nothing on vLLM + gpt-oss",
        ],
    ),
    (
        {"parallel-calls-cut"},
        [
            "gpt-oss with vLLM returns just the first tool call when it plans two",
        ],
    ),
    (
        {"markers-shown-by-client", "control-tokens-in-content"},
        [
            "Users see <|channel|>final<|message|> in the answers of gpt-oss from our vLLM",
        ],
    ),
    (
        {"harmony-replayed-in-history"},
        [
            "When the previous answer with <|channel|>analysis is in the history, gpt-oss returns "
            "errors on the next turn",
        ],
    ),
    (
        {"prompted-tools-harmony"},
        [
            'Cline with gpt-oss: it writes "commentary to=functions.read_file code<|message|>" and '
            "Cline says it got no tool use",
        ],
    ),
    (
        {"wrong-kernel-garbage"},
        [
            "gpt-oss-120b on our B200 outputs only exclamation marks with vLLM",
            "After a while gpt-oss-20b (vLLM on RTX 5090) produces repeating garbage tokens",
        ],
    ),
    (
        {"responses-store-off"},
        [
            "previous_response_id with vLLM and gpt-oss: 404 Response with id 'resp_5a' not found",
        ],
    ),
    (
        {"responses-stream-no-function-calls"},
        [
            "/v1/responses stream=true from vLLM has reasoning events but no function_call item, gpt-oss",
        ],
    ),
    (
        {"responses-stream-missing-tokens"},
        [
            "Responses streaming of gpt-oss on vLLM loses words that the final output_text has",
        ],
    ),
    (
        {"chat-stream-last-token-only"},
        [
            "Streaming chat with gpt-oss on vLLM and async scheduling: letters and words are "
            "missing, without stream it is complete",
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
        {"chat-template-missing"},
        [
            'vLLM gpt-oss fine-tune: "default chat template is no longer allowed, so you must '
            'provide a chat template"',
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
        {"history-reasoning-not-restored"},
        [
            "gpt-oss agent on vLLM repeats the same tool call forever, it forgets what it did",
        ],
    ),
    (
        {"commentary-channel-without-tools", "builtin-tool-without-session", "recipient-nobody-serves"},
        [
            "gpt-oss-20b invokes the python tool though I sent no tools, vLLM chat completions",
        ],
    ),
    (
        {"completions-without-template"},
        [
            "MMLU with lm_eval local-completions against vLLM gives 28 % for gpt-oss-120b",
            "/v1/completions with gpt-oss gives nonsense, chat works",
        ],
    ),
    (
        {"vocab-download"},
        [
            "vLLM gpt-oss without internet: failed to download or load vocab file",
        ],
    ),
    (
        {"tool-parser-unknown-to-release"},
        [
            "api_server.py: error: argument --reasoning-parser: invalid choice: 'openai_gptoss' "
            "(choose from 'deepseek_r1', 'granite')",
        ],
    ),
    (
        {"content-null-crashes-client"},
        [
            "AttributeError: 'NoneType' object has no attribute 'strip' in answer = "
            "resp.choices[0].message.content.strip() with gpt-oss on vLLM",
        ],
    ),
    (
        {"invalid-json-tool-arguments"},
        [
            "the JSON that gpt-oss writes for tool arguments misses a closing brace, parser error in "
            "our agent (vLLM)",
        ],
    ),
    (
        {"tool-name-channel-leak"},
        [
            "Tool 'search<|channel|>commentary' not found (gpt-oss-120b, vLLM)",
        ],
    ),
    (
        {"finish-reason-null"},
        [
            '"missing finish_reason for choice 0" with gpt-oss vLLM streaming',
        ],
    ),
    (
        {"include-reasoning-false"},
        [
            "include_reasoning=false: vLLM gpt-oss sends nothing for 30 seconds",
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
NO_SYMPTOM = [
    "gpt-oss-120b on vLLM works well, thank you for the release",
    "How do I enable tool calling for gpt-oss in vLLM?",
    "vLLM 0.20 adds a Harmony parser for gpt-oss tool calls and reasoning",
    "We compare the final answers of gpt-oss with its reasoning in the paper",
    "Feature request: show reasoning of gpt-oss in a collapsed block",
    "The stream ends after the reasoning and the final message, as expected",
    "gpt-oss stops at the <|return|> token, which ends the final message",
    "docs: explain how the analysis, commentary and final channels of gpt-oss differ",
    "Add a test for tool calls of gpt-oss in streaming mode",
    "gpt-oss finishes its reasoning in 20 tokens with effort low, the answer is right",
    "vllm serve openai/gpt-oss-20b --tool-call-parser openai --enable-auto-tool-choice",
    "The function adds commentary to a pull request",
    "In analysis mode only final results are kept",
    "Which tool-call-parser should I use for gpt-oss?",
    "chore: bump vllm to 0.30 for gpt-oss",
    "fix: strip harmony tokens from the output of gpt-oss",
    "Support parsing of gpt-oss harmony tags in our UI",
    "The answer without reasoning is faster for gpt-oss",
    "The release notes of vLLM mention that gpt-oss no longer returns null content",
    "gpt-oss-120b throughput on H100 with vLLM is 5000 tokens per second",
    "How to stream tool calls with gpt-oss in vLLM?",
    "What does the commentary channel of gpt-oss mean?",
    "The benchmark has no final score for gpt-oss yet",
    "Our tool calls a commentary service",
    "vLLM returns the final answer after the reasoning, both are complete",
    "We use gpt-oss without tools",
    "docs: how vLLM parses harmony",
    "I closed the issue after the analysis was done",
    "The model card of gpt-oss lists no content filter",
    "Thinking stops when effort is low; the answer is right",
    "Add support for gpt-oss reasoning effort",
    "Nginx returns an empty response from upstream",
    "React component renders empty content",
    "The SQL function call returns null",
    "the pipeline ends after the analysis step",
    "kubectl: no response from server",
    "git: nothing to commit, working tree clean",
    "The chat is without an answer from support for two days",
    "INFO: tool call finished without output",
    "Unity animation stops after the thinking state",
    "Excel: the answer is blank in column B",
]


@pytest.mark.parametrize(
    ("right", "text"), [pytest.param(right, text, id=text[:40]) for right, texts in SAID for text in texts]
)
def test_a_symptom_leads_to_its_entry_however_it_is_said(right: set[str], text: str) -> None:
    assert answer_code(diagnose_text(text)) in right


@pytest.mark.parametrize("text", NO_SYMPTOM, ids=lambda text: text[:40])
def test_what_only_sounds_like_a_symptom_leads_to_none(text: str) -> None:
    found = diagnose_text(text)
    assert (found.answers, found.sides, found.route) == ((), (), None)


def test_an_unknown_word_of_the_vocabulary_is_a_mistake() -> None:
    assert "reasoning" in expanded("{think}")
    assert expanded("x{1,2}") == "x{1,2}"
    with pytest.raises(KeyError):
        expanded("{no-such-word}")
