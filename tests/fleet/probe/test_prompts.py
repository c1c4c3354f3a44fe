"""Prompts of files: every form, and one sentence for what is none."""

from pathlib import Path

import pytest

from inspector.capture.errors import InspectorError
from inspector.fleet.probe import prompts_of_file, prompts_of_text


def test_a_text_has_a_prompt_per_line() -> None:
    assert [prompt.text for prompt in prompts_of_text("First\n\n  Second  \n")] == ["First", "Second"]


def test_lines_of_jsonl_are_texts_messages_and_requests(tmp_path: Path) -> None:
    path = tmp_path / "prompts.jsonl"
    path.write_text(
        '"Text"\n'
        '{"prompt": "Object", "temperature": 1}\n'
        '[{"role": "user", "content": "List"}]\n'
        '{"model": "m", "stream": true, "messages": [{"role": "user", "content": "Request"}],'
        ' "tools": [{"name": "f"}], "tool_choice": "auto", "max_tokens": 5}\n'
    )
    text, json_object, listed, request = prompts_of_file(path)
    assert (text.text, json_object.text, dict(json_object.extra)) == ("Text", "Object", {"temperature": 1})
    assert [dict(message) for message in listed.messages] == [{"role": "user", "content": "List"}]
    assert request.tools[0]["function"] == {"name": "f"}
    assert (request.tool_choice, dict(request.extra)) == ("auto", {"max_tokens": 5})


def test_a_json_file_is_one_prompt() -> None:
    [prompt] = prompts_of_text('[{"role": "user", "content": "Hi"}]', ".json")
    assert prompt.messages[0]["content"] == "Hi"


@pytest.mark.parametrize(
    ("text", "form", "words"),
    [
        ("\n", ".txt", "no prompts"),
        ("{", ".jsonl", "invalid JSON in line 1"),
        ("\n7", ".jsonl", "line 2 is not a prompt"),
        ('{"input": "x"}', ".jsonl", "line 1 is not a prompt"),
        ('[{"content": "x"}]', ".jsonl", "line 1: messages must be"),
        ("[" * 100_000, ".json", "invalid JSON in the file"),
        ("x\n" * 10_001, ".txt", "more than 10,000 prompts"),
    ],
)
def test_what_is_no_prompt_is_said_with_its_line(text: str, form: str, words: str) -> None:
    with pytest.raises(InspectorError, match=words):
        prompts_of_text(text, form)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InspectorError, match=r"none\.txt: cannot be read"):
        prompts_of_file(tmp_path / "none.txt")
    (tmp_path / "bad.jsonl").write_text("7")
    with pytest.raises(InspectorError, match=r"bad\.jsonl: line 1 is not a prompt"):
        prompts_of_file(tmp_path / "bad.jsonl")
