import pytest

from inspector.analysis.audit.words import field_words


@pytest.mark.parametrize(
    ("field", "words"),
    [
        (None, "no field"),
        ("reasoning", "the reasoning"),
        ("content", "the answer (content)"),
        ("text", "the text"),
        ("tool_calls[1].name", "the name of tool call 2"),
        ("tool_calls[0].arguments", "the arguments of tool call 1"),
        ("mcp_call[0].arguments", "mcp_call[0].arguments"),
    ],
)
def test_a_field_is_called_as_a_sentence_calls_it(field: str | None, words: str) -> None:
    assert field_words(field) == words
