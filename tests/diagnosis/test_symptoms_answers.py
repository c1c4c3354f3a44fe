"""Answers and reasoning that are missing, cut off or garbled, in many words."""

import pytest

from tests.support.symptoms import found, texts

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
        {"ended-without-final", "truncated-by-max-tokens"},
        [
            "gpt-oss runs out of tokens while reasoning so the answer never comes",
            "Output cut right after analysis; gpt-oss-120b",
            "max_tokens=1024: gpt-oss spends everything on thinking and gives no answer",
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
        {"chat-stream-multi-channel-chunk"},
        [
            "The reasoning text is mixed into the content for gpt-oss, vllm 0.12, stream-interval 10",
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
        {"wrong-kernel-garbage"},
        [
            "gpt-oss-120b on our B200 outputs only exclamation marks with vLLM",
            "After a while gpt-oss-20b (vLLM on RTX 5090) produces repeating garbage tokens",
            "gpt-oss-20b responds with gibbish on our TPU, and the same vLLM is fine on a GPU",
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
        {"history-reasoning-not-restored"},
        [
            "gpt-oss agent on vLLM repeats the same tool call forever, it forgets what it did",
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
        {"truncated-by-max-tokens"},
        [
            "With gpt-oss some questions exceed the token budget, and the final answer is never reached",
        ],
    ),
    (
        {"reasoning-field-renamed"},
        [
            "The provider reads reasoning_content alone, so the reasoning text of vLLM is omitted in streams",
            "Our router uses reasoning_content and is incompatible with recent vLLM",
            "vLLM 返回的 reasoning_content 字段被丢弃",
        ],
    ),
    (
        {"reasoning-parser-missing"},
        [
            "vllm gpt-oss: the reasoning text is missing",
        ],
    ),
    (
        {"ended-without-final"},
        [
            "Using gpt-oss:20b with VLLM the answer is empty",
        ],
    ),
    (
        {"nothing"},
        [
            "vLLM appears to parse the reasoning of gpt-oss by itself; a flag for its content would help",
            "The thoughts of the assistant are shown to users, but they should see the final message alone",
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
]


@pytest.mark.parametrize(("right", "text"), texts(SAID))
def test_a_symptom_leads_to_its_entry_however_it_is_said(right: set[str], text: str) -> None:
    assert found(text) in right
