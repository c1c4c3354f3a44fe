"""What a text reports: conditions, wishes, plans and what is made sure of are no symptoms."""

import pytest

from inspector.diagnosis.reports import proposes, statements
from inspector.diagnosis.text import diagnose_text
from tools.score_diagnose import answer_code

SUPPOSED = [
    "If content were null, the gpt-oss client would have to read the reasoning instead.",
    "If content were null gpt-oss on vLLM would be useless.",
    "Suppose gpt-oss on vLLM returned an empty answer; what would the client do?",
    "What happens if gpt-oss on vLLM returns null content?",
    "Imagine that the tool calls of gpt-oss are lost in vLLM.",
    "Our client should retry if vLLM returns an empty answer for gpt-oss.",
    "Our agent retries the request if vLLM returns an empty answer for gpt-oss.",
    "Check whether content is null before you parse the answer of gpt-oss.",
    "It would be nice if tool calls of gpt-oss were streamed by vLLM.",
    "In case the tool call is missing, the agent for gpt-oss asks again.",
    "I hope that the content of gpt-oss is not empty with vLLM 0.33.",
    "A test makes sure that gpt-oss never returns null content.",
    "We want to avoid that the reasoning of gpt-oss leaks into the content.",
    "Had the content been empty, gpt-oss would have been asked again.",
    "Should content be null, the client falls back to the reasoning of gpt-oss.",
    "gpt-oss: unless content is null, show it.",
    "The answer of gpt-oss could be truncated by max_tokens in theory.",
    "If gpt-oss repeats the same tool call three times, the agent ends the run.",
    "Our parser must handle null content from gpt-oss.",
    "The reasoning of gpt-oss is not intended to be shown to end users.",
    "Use the harmony format for gpt-oss, otherwise the answer could be empty.",
    "The agent for gpt-oss on vLLM asks the user again, but only if\nthe answer is empty.",
]
REPORTED = [
    "If I enable streaming, the tool calls of gpt-oss are missing on vLLM.",
    "If tools are given, content is null for gpt-oss on vLLM.",
    "gpt-oss on vLLM returns null content if I set max_tokens to 100.",
    "When streaming, gpt-oss returns an empty answer.",
    "I would expect an answer, but gpt-oss on vLLM returns null content.",
    "It would be nice to know why gpt-oss on vLLM returns empty content.",
    "I wonder if this is a bug: gpt-oss in vLLM returns null content.",
    "Not sure if it is vLLM or the model, but the tool calls of gpt-oss are empty.",
    "Sometimes the model would just stop after reasoning and content is null (gpt-oss, vLLM).",
    "If the request has tools then gpt-oss leaks <|channel|> into the tool name.",
    "Even if max_tokens is large the content of gpt-oss is empty.",
    "Could it be that vLLM drops the tool calls of gpt-oss? They are missing.",
    "The client crashes if content is null, which gpt-oss returns on vLLM.",
    "If the answer is long, it is cut off in the middle (gpt-oss-120b, vLLM).",
    "gpt-oss on vLLM should return a tool call but content is empty and tool_calls is [].",
    "What should I do? gpt-oss on vLLM returns null content.",
    "We have to work around the fact that gpt-oss on vLLM returns null content.",
    "I wish gpt-oss on vLLM would stop leaking its reasoning into the content.",
    "What can I do if gpt-oss on vLLM returns an empty answer?",
]
PROPOSED = [
    "[RFC]: Should the parser of gpt-oss use harmony? It only detects the end of the reasoning.",
    "Update llm.py: added gpt-oss to be used via ollama",
    "Supported gpt-oss. Adds an abstraction for conversation parsing.",
    "feat: a streaming parser for harmony. The bar: no leaked markup, no dropped or duplicated calls.",
    "Add support for tool calling in vLLM. generate() does not support tool calling, only chat() does.",
    "[Feature]: GPT-OSS support for another accelerator",
    "[Roadmap] Tool calling in the next half year: one parser for gpt-oss and all endpoints",
]


@pytest.mark.parametrize("text", SUPPOSED)
def test_what_is_only_supposed_is_no_symptom(text: str) -> None:
    found = diagnose_text(text)
    assert (found.answers, found.sides, found.route) == ((), (), None)
    assert answer_code(found) == "nothing"


@pytest.mark.parametrize("text", REPORTED)
def test_what_happens_under_a_condition_is_a_symptom(text: str) -> None:
    assert diagnose_text(text).answers


@pytest.mark.parametrize("text", PROPOSED)
def test_a_plan_is_no_symptom(text: str) -> None:
    found = diagnose_text(text)
    assert proposes([text])
    assert (found.answers, found.sides, found.route) == ((), (), None)


@pytest.mark.parametrize(
    "text",
    [
        "Support both reasoning fields. vLLM renamed reasoning_content, so the reasoning is not available.",
        "[Feature] gpt-oss on vLLM loses its past reasoning, which breaks tool calls",
    ],
)
def test_a_plan_that_names_trouble_is_read(text: str) -> None:
    assert not proposes([text])


def test_lines_stay_lines() -> None:
    lines = ["The tool call is missing", "in the answer. Retry if", "content is null, as we do."]
    assert statements(lines) == ["The tool call is missing", "in the answer. Retry ", " , as we do."]


def test_an_engine_that_dies_is_no_refused_request() -> None:
    refused = "ValueError: Sampled token IDs exceed the max model length"
    log = "ERROR 07-11 12:33:55 [core.py:588] EngineCore encountered a fatal error."
    assert answer_code(diagnose_text(refused)) == "context-length-exceeded"
    assert answer_code(diagnose_text(f"{refused}\n{log}")) == "routed:startup"


def test_the_failure_of_a_parser_is_none_of_the_start() -> None:
    text = "vllm serve a\nWith the parser the server dies\nJSONDecodeError: Expecting value"
    assert answer_code(diagnose_text(text)) == "routed:startup"
    assert answer_code(diagnose_text(f"mistral_tool_parser.py\n{text}")) != "routed:startup"
