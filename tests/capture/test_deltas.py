from inspector.capture.deltas import Delta, Texts, ToolText, texts_of

FIELDS = (
    "reasoning",
    "content",
    "text",
    "tool_calls[1].name",
    "tool_calls[1].arguments",
    "mcp_call[0].arguments",
)


def test_each_field_has_its_place() -> None:
    deltas = {field: [Delta(0, field, f"{field}, "), Delta(1, field, "twice")] for field in FIELDS}
    reasoning, content, text, name, arguments, other_text = (f"{field}, twice" for field in FIELDS)
    call = ToolText(name, arguments)
    assert texts_of(deltas) == Texts(
        reasoning=reasoning, content=content, text=text, tool_calls=(call,), other={FIELDS[-1]: other_text}
    )
