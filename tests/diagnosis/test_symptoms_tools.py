"""Tool calls that fail, in many words."""

import pytest

from tests.support.symptoms import found, texts

# The entries that are right for a group, then its texts.
SAID = [
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
        {"parallel-calls-cut"},
        [
            "only one tool call is returned although the model planned three, gpt-oss vllm",
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
        {"tool-parser-flags-missing", "unknown"},
        [
            "gpt-oss describes the call instead of making it, vllm",
        ],
    ),
    (
        {"tool-choice-required-ignored"},
        [
            "tool_choice=required is ignored by gpt-oss",
        ],
    ),
    (
        {"empty-tool-calls", "tool-parser-flags-missing"},
        [
            "LangChain bind_tools with vLLM gpt-oss: tool_calls is always empty",
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
        {"responses-stream-no-function-calls"},
        [
            "/v1/responses stream=true from vLLM has reasoning events but no function_call item, gpt-oss",
        ],
    ),
    (
        {"commentary-channel-without-tools", "builtin-tool-without-session", "recipient-nobody-serves"},
        [
            "gpt-oss-20b invokes the python tool though I sent no tools, vLLM chat completions",
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
        {"chat-stream-multi-channel-chunk"},
        [
            "Streaming tool calls fail at random with gpt-oss-120b, and nothing happens after the result",
        ],
    ),
    (
        {"stream-interval-tool-arguments"},
        [
            "With --stream-interval above 1 the arguments of a tool call are empty in the stream of vLLM",
        ],
    ),
    (
        {"commentary-channel-without-tools"},
        [
            "gpt-oss emits calls on the commentary channel although it does not have access to any tools",
        ],
    ),
]


@pytest.mark.parametrize(("right", "text"), texts(SAID))
def test_a_symptom_leads_to_its_entry_however_it_is_said(right: set[str], text: str) -> None:
    assert found(text) in right
