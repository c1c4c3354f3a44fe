"""Special tokens that are shown as text, in many words."""

import pytest

from tests.support.symptoms import found, texts

# The entries that are right for a group, then its texts.
SAID = [
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
        {"chat-template-missing"},
        [
            'vLLM gpt-oss fine-tune: "default chat template is no longer allowed, so you must '
            'provide a chat template"',
        ],
    ),
    (
        {"completions-without-template"},
        [
            "MMLU with lm_eval local-completions against vLLM gives 28 % for gpt-oss-120b",
            "/v1/completions with gpt-oss gives nonsense, chat works",
        ],
    ),
]


@pytest.mark.parametrize(("right", "text"), texts(SAID))
def test_a_symptom_leads_to_its_entry_however_it_is_said(right: set[str], text: str) -> None:
    assert found(text) in right
