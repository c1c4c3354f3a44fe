"""Descriptions in words that no expression of the catalogue was written for: facts lead to their entries."""

import pytest

from tests.support.symptoms import found, texts

# The entries that are right for a group, then its texts.
SAID = [
    (
        {
            "client-content-none",
            "content-null-crashes-client",
            "ended-without-final",
            "turn-ended-without-answer",
        },
        [
            "gpt-oss-120b on vLLM ponders for a while and afterwards I am left with an empty bubble",
            "Our pipeline gets nothing back from gpt-oss (vLLM) roughly every 20th request "
            "although completion tokens are billed",
            'message.content == "" while reasoning is filled, vllm 0.19, gpt-oss-20b',
            "vllm/gpt-oss: choices[0].message has content None and finish_reason stop",
            "The user sees a thinking block and then silence; no reply follows. gpt-oss via vLLM",
            "gpt-oss sometimes forgets to write its answer after it has thought about it (vLLM)",
            "In 3 % of cases the final text never materialises, only the chain of thought does. "
            "gpt-oss, vLLM",
            "We receive a 200 with blank output from gpt-oss-20b (vllm), usage shows 300 output tokens",
        ],
    ),
    (
        {"truncated-by-max-tokens"},
        [
            "gpt-oss burns all its tokens on thinking and is cut before the answer, vLLM, max_tokens 1000",
            "With a limit of 256 tokens the reply of gpt-oss is empty because thinking eats the budget",
            "Answers break off mid-sentence, finish_reason is length. gpt-oss on vLLM",
            "The generation hits the token limit while still in the analysis part (gpt-oss, vLLM)",
        ],
    ),
    (
        {"tool-parser-flags-missing"},
        [
            "gpt-oss on vLLM replies with a JSON blob in content where I expected tool_calls",
            "Tools passed in the request have no effect at all, gpt-oss-20b just chats. vllm",
            "My agent framework reports zero tool invocations with vLLM + gpt-oss, other backends are fine",
            "function_call stays null with gpt-oss served by vllm, the arguments are dumped into "
            "the message text",
            "The model narrates which tool it would use and never triggers it, gpt-oss-120b vLLM",
            "MCP tools are not picked up by gpt-oss when served through vLLM",
        ],
    ),
    (
        {"chat-stream-multi-channel-chunk"},
        [
            "With eagle3 speculative decoding parts of the reasoning show up in the answer, "
            "gpt-oss vLLM 0.12",
            "stream-interval 8 makes gpt-oss put the first sentence of the answer into "
            "reasoning_content (vLLM)",
            "Streaming mixes thinking text into content; non-streaming separates them correctly. "
            "gpt-oss, vLLM",
            "In stream mode no tool_calls arrive but with stream=false they do (gpt-oss-120b, vLLM)",
        ],
    ),
    (
        {"chat-stream-last-token-only", "chat-stream-multi-channel-chunk", "responses-stream-missing-tokens"},
        [
            "Streamed text from gpt-oss has gaps, whole words are swallowed. vLLM 0.10.2 with "
            "async scheduling",
            "When I stream, every second token is gone. gpt-oss-20b on vllm",
            "SSE chunks skip characters compared to the non-streamed output (vLLM, gpt-oss)",
        ],
    ),
    (
        {"stream-interval-tool-arguments"},
        [
            "The streamed function arguments start in the middle, the opening brace is missing. vLLM gpt-oss",
            "Arguments arrive as an empty object when streaming with speculative decoding, gpt-oss vllm",
        ],
    ),
    (
        {"analysis-channel-tool-call", "tool-parser-flags-missing"},
        [
            "gpt-oss emits its function call inside the thinking text and vLLM never executes it",
            "The call to my function ends up in reasoning_content instead of tool_calls (vllm, gpt-oss)",
        ],
    ),
    (
        {"control-tokens-in-content", "markers-shown-by-client"},
        [
            "Customers complain about weird <|channel|> strings in their replies from our gpt-oss "
            "server (vLLM)",
            "gpt-oss output contains raw harmony markup, nothing strips it. vllm",
            "Every reply starts with assistantfinal, gpt-oss-20b, vLLM",
        ],
    ),
    (
        {"tool-name-channel-leak"},
        [
            "The tool name arrives as get_user<|channel|>commentary so my dispatcher cannot find "
            "it (gpt-oss, vLLM)",
            "gpt-oss wants to call a function named commentary that I never defined, vllm",
        ],
    ),
    (
        {"structured-output-multi-turn", "structured-output-not-enforced"},
        [
            "response_format json_schema is simply disregarded by gpt-oss on vLLM, I get markdown",
            "guided_json does nothing with gpt-oss-120b in vLLM 0.11",
            "vLLM accepts my JSON schema for gpt-oss and then returns fields that violate it",
            "gpt-oss wraps the JSON in prose even though I set response_format in vLLM",
        ],
    ),
    (
        {"tool-choice-required-ignored"},
        [
            "tool_choice set to required makes no difference, gpt-oss on vllm still talks",
            "I force a specific function via tool_choice but gpt-oss answers in text (vLLM 0.20)",
        ],
    ),
    (
        {"parallel-calls-cut"},
        [
            "gpt-oss never issues more than a single tool call per turn in vLLM although it plans several",
            "Two tools are needed, vLLM gives me only the first call. gpt-oss-120b",
        ],
    ),
    (
        {"invalid-json-tool-arguments"},
        [
            "Tool arguments from gpt-oss are sometimes not parseable JSON, a quote is missing (vLLM)",
            "vLLM gpt-oss produces malformed function arguments with trailing commas",
        ],
    ),
    (
        {"reasoning-field-renamed", "reasoning-parser-missing"},
        [
            "After updating vLLM the thoughts of gpt-oss vanished from LibreChat",
            "Our frontend reads reasoning_content but vLLM now sends reasoning, so the thinking "
            "panel stays empty",
            "The chain of thought of gpt-oss is not visible in Open WebUI with vLLM",
        ],
    ),
    (
        {"reasoning-field-renamed", "reasoning-parser-missing"},
        [
            "gpt-oss on vLLM gives the answer but there is no reasoning anywhere in the response",
        ],
    ),
    (
        {"history-reasoning-not-restored", "stale-analysis-in-history"},
        [
            "gpt-oss keeps calling the same tool over and over in our agent loop, vLLM",
            "On the next turn the earlier reasoning is not passed to gpt-oss, so it starts from "
            "scratch (vLLM)",
            "gpt-oss ignores the tool result and calls the tool again, vllm chat completions",
        ],
    ),
    (
        {"stale-generation-config"},
        [
            "gpt-oss does not stop after a tool call and hallucinates the tool's answer (vLLM)",
            "Generation runs on past <|call|> until the limit, gpt-oss fine-tune on vLLM",
        ],
    ),
    (
        {"wrong-kernel-garbage"},
        [
            "gpt-oss-20b on an RTX 5090 with vLLM spits out random characters",
            "On MI300X the model output is complete nonsense, gpt-oss-120b, vLLM",
            "With tensor parallel 4 gpt-oss writes word salad, on one GPU it is fine (vllm)",
        ],
    ),
    (
        {"preamble-lost"},
        [
            "Intermediate commentary messages of gpt-oss get lost in vLLM's chat API",
        ],
    ),
    (
        {"reasoning-effort-unsupported"},
        [
            "Setting reasoning_effort to none has no effect on gpt-oss in vLLM, it still thinks",
            "I cannot turn off thinking for gpt-oss-20b (vllm)",
        ],
    ),
    (
        {"finish-reason-null"},
        [
            "The stream of vLLM gpt-oss ends and finish_reason was never sent",
        ],
    ),
    (
        {"responses-stream-events", "responses-stream-no-function-calls"},
        [
            "Responses API streaming with gpt-oss yields no function_call items on vLLM 0.10.1",
        ],
    ),
    (
        {"final-only-shown-as-reasoning"},
        [
            "vLLM puts the whole answer of gpt-oss into the reasoning field and leaves content null",
            "The real answer appears under reasoning_content, content is empty. gpt-oss fine-tune, vllm",
        ],
    ),
    (
        {"completions-without-template"},
        [
            "gpt-oss via /v1/completions scores 20 % on MMLU, far too low (vLLM)",
        ],
    ),
    (
        {"harmony-replayed-in-history"},
        [
            "When old replies with raw harmony tokens are sent back, gpt-oss fails on the second turn (vLLM)",
        ],
    ),
]

NO_SYMPTOM = [
    "gpt-oss on vLLM works great, reasoning and content arrive in separate fields",
    "We stream reasoning and answers of gpt-oss with vLLM, both complete",
    "Tool calls of gpt-oss are parsed by vLLM with --tool-call-parser openai",
    "How are tool calls of gpt-oss shown in Open WebUI with vLLM?",
    "The answer of gpt-oss contains no errors, vLLM is fast",
    "vLLM no longer drops tool calls of gpt-oss in 0.15",
    "Our gpt-oss server works great, content is never null, and the answer was not missing anything (vLLM)",
    "No problems with gpt-oss on vLLM: no missing answers, no leaks, no loops",
    "I want to hide the reasoning of gpt-oss in my app, vLLM",
]


@pytest.mark.parametrize(("right", "text"), texts(SAID))
def test_a_description_leads_to_its_entry(right: set[str], text: str) -> None:
    assert found(text) in right


@pytest.mark.parametrize("text", NO_SYMPTOM, ids=lambda text: text[:40])
def test_what_works_is_no_symptom(text: str) -> None:
    assert found(text) in {"nothing", "unknown"}
