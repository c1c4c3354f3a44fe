"""More descriptions in words, by an author who had not seen the phrases; right entries, then texts."""

import pytest

from tests.support.symptoms import found

SAID = """
chat-stream-last-token-only chat-stream-multi-channel-chunk
- With vllm 0.12 and --stream-interval 4 our gpt-oss chat stream is missing the first few words of every
  reply.
- gpt-oss 20b on vllm: the first words of each answer are swallowed when I use stream interval 10
chat-stream-multi-channel-chunk
- gpt-oss served by vLLM 0.14.1, EAGLE draft model on: part of the chain of thought is printed inside the
  answer.
chat-tool-tail-next-index
- On vLLM 0.21 streamed tool calls of gpt-oss have a second bogus entry with no name that only holds the
  closing brace.
silent-loss-0-32
- Since moving to vLLM 0.33 some gpt-oss replies are just empty. Nothing in the server log, status 200.
- We upgraded our gpt-oss-120b deployment to vLLM 0.32 and now roughly one in two hundred chats comes back
  blank, HTTP status is fine.
ended-without-final silent-loss-0-32
- vllm 0.32.0 gpt-oss-20b: about 0.5% of the evaluation samples have no answer and no exception was raised
500-without-reason ignore-eos
- Running guidellm against gpt-oss-120b on vLLM, a share of requests fail with internal server error;
  ignore_eos is on
ended-without-final llamafactory-end-return
- My LoRA of gpt-oss never produces a final message; every reply ends after thinking. vLLM 0.30.
truncated-by-max-tokens
- content is None and reasoning_content is full of text, finish_reason=length, gpt-oss with max_tokens=256
  in vllm
- gpt-oss on vLLM stops in the midst of its thoughts when max_tokens is 500
tool-parser-flags-missing
- Tool calls come back as plain text in message.content: {"name": ...}. vllm serve openai/gpt-oss-20b
  without extra flags.
- vLLM gpt-oss ignores tools, tool_calls is always empty; I did not pass --enable-auto-tool-choice
- gpt-oss in vLLM never calls my tools, it just describes what it would do. I pass tools with tool_choice
  auto.
tool-choice-required-ignored
- tool_choice='required' does nothing with gpt-oss-120b on vLLM 0.19, the model answers with prose
parallel-calls-cut
- gpt-oss in vLLM returns only one tool call even though the trace shows that the model asked for three
tool-name-channel-leak
- The tool name my agent receives is `search<|channel|>commentary` (vLLM, gpt-oss)
constrain-garbage tool-name-channel-leak
- gpt-oss vllm: function name has json appended after a channel token and the agent cannot find the tool
structured-output-not-enforced
- response_format json_schema is not respected by gpt-oss on vllm 0.18, output is free text
structured-output-multi-turn
- Structured output works for the first message but for the second turn I get an empty string (gpt-oss,
  vllm 0.14)
reasoning-field-renamed
- After an update of vLLM my code that reads delta.reasoning_content of gpt-oss sees nothing any more
- The langchain client shows no thinking for gpt-oss served with vLLM 0.17, the field seems to have
  another name
reasoning-parser-missing
- vllm 0.26 gpt-oss: no reasoning in the reply at all, just content; no reasoning parser was set
wrong-kernel-garbage
- gpt-oss on an older GPU writes random characters and never an answer in vLLM
- gpt-oss-20b on vLLM outputs nonsense like !!!!!!!! from the first token
responses-stream-cross-channel responses-stream-missing-tokens
- In the Responses stream of vLLM the deltas miss some tokens, but the final response has the complete
  text (gpt-oss, stream interval 5)
responses-stream-events
- vLLM /v1/responses streaming for gpt-oss never sends response.output_text.done
preamble-lost
- gpt-oss: what the model says before it calls the function never reaches the client with vllm 0.11
final-only-shown-as-reasoning
- vllm 0.11 returns the whole answer of gpt-oss in reasoning_content when I set reasoning effort low,
  content is empty
vocab-download
- Air-gapped cluster: gpt-oss on vllm cannot start since it wants to fetch o200k_base.tiktoken
markers-shown-by-client
- The UI prints <|start|>assistant<|channel|>final at the beginning of replies, backend is vLLM with
  gpt-oss
completions-without-template
- Scores of gpt-oss on GSM8K through vllm /v1/completions are far too low compared with the paper
completions-without-template markers-shown-by-client raw-harmony-scored
- assistantfinal shows up in the text lm-eval scores for gpt-oss on vLLM
stale-generation-config
- After generating a tool call the model keeps going and the request dies, gpt-oss fine-tuned checkpoint
  in vLLM
ignore-eos
- Benchmarking gpt-oss with ignore-eos on vllm serve yields 500s for about 3% of requests
ended-without-final
- After a fine-tune with LoRA gpt-oss stops right after the analysis, nothing in content
"""

NOTHING = """
- How many GPUs do I need for gpt-oss-120b with vLLM?
- vLLM serves gpt-oss-20b at 3000 tokens per second on an H100, reasoning and tools work.
- Is there a way to turn off thinking for gpt-oss in vllm?
- What is the difference between gpt-oss harmony format and ChatML?
- vllm 0.33.0 with gpt-oss: please add support for logit_bias in responses
- Qwen3 on vLLM returns empty content when thinking is enabled
- Throughput of gpt-oss on vLLM drops when I enable prefix caching
- gpt-oss works in vLLM, but the first request takes a minute to compile
"""


def _said() -> list[tuple[frozenset[str], str]]:
    cases: list[tuple[frozenset[str], str]] = []
    right: frozenset[str] = frozenset()
    for line in SAID.strip().splitlines():
        if line.startswith("- "):
            cases.append((right, line[2:]))
        elif line.startswith("  "):
            cases[-1] = (right, f"{cases[-1][1]} {line.strip()}")
        else:
            right = frozenset(line.split())
    return cases


@pytest.mark.parametrize(("right", "text"), _said())
def test_a_description_leads_to_its_entry(right: frozenset[str], text: str) -> None:
    assert found(text) in right


@pytest.mark.parametrize("text", NOTHING.replace("\n  ", " ").strip().removeprefix("- ").split("\n- "))
def test_what_is_asked_or_praised_is_no_symptom(text: str) -> None:
    assert found(text) in {"nothing", "unknown"}
