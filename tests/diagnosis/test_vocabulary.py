"""The vocabulary of symptoms, and statements that only sound like one; see also `test_symptoms_*`."""

import pytest

from inspector.diagnosis.text import diagnose_text
from inspector.diagnosis.vocabulary import expanded

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
    "chore: add loop for built-in tool call for gpt-oss",
    "feat(ui): a panel that repeats the reasoning of gpt-oss for each turn",
    "Add thinking mode support for Ollama models and a section that shows the reasoning of gpt-oss",
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
    "Fix missing tool usage check for gpt-oss in vLLM",
    "Use harmony, otherwise they will not work. The reasoning of gpt-oss is not meant to be shown.",
]


@pytest.mark.parametrize("text", NO_SYMPTOM, ids=lambda text: text[:40])
def test_what_only_sounds_like_a_symptom_leads_to_none(text: str) -> None:
    found = diagnose_text(text)
    assert (found.answers, found.sides, found.route) == ((), (), None)


def test_an_unknown_word_of_the_vocabulary_is_a_mistake() -> None:
    assert "reasoning" in expanded("{think}")
    assert expanded("x{1,2}") == "x{1,2}"
    with pytest.raises(KeyError):
        expanded("{no-such-word}")
