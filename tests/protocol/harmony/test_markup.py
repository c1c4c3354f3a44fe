"""Harmony in text, and text that talks about it."""

from pathlib import Path
from random import Random

import pytest
from openai_harmony import Role

from inspector.protocol.harmony.markup import (
    MarkupForm,
    header_in_name,
    markup_in,
    parsed,
    stripped_answer,
)
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.vocab import encoding
from tests.support.random_scripts import parsed as parsed_by_reference
from tests.support.random_scripts import random_script

ROOT = Path(__file__).parents[3]
PROSE = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").glob("*.md")])
TRANSCRIPT, STRIPPED, TOKEN = MarkupForm


@pytest.mark.parametrize("path", PROSE, ids=lambda path: path.name)
def test_prose_about_harmony_is_none(path: Path) -> None:
    assert markup_in(path.read_text("utf-8")) is None


@pytest.mark.parametrize(
    "text",
    [
        "The token <|channel|> begins a header.",
        "Cut it at `<|end|>`, or at “<|return|>”.",
        "```\n<|start|>assistant<|channel|>final<|message|>Hi<|return|>\n```\nThat is a message.",
        "    <|start|>assistant<|channel|>final<|message|>Hi<|return|>",
        "> it wrote analysisWe need.assistantfinalHi",
        "消息以<|start|>开头。",
        "The analysis of assistant messages is final.",
        "",
    ],
)
def test_a_mention_is_none(text: str) -> None:
    assert markup_in(text) is None


@pytest.mark.parametrize(
    ("text", "form", "at"),
    [
        ("<|channel|>final<|message|>Hi", TRANSCRIPT, 0),
        ("\nanalysis<|message|>Hm.<|end|>", TRANSCRIPT, 1),
        (" to=functions.f<|channel|>commentary json<|message|>{}<|call|>", TRANSCRIPT, 1),
        ("analysisAdd.assistantfinal3", STRIPPED, 12),
        ('commentary to=functions.f json{"a":1}', STRIPPED, 0),
        ("It is 3.<|return|>", TOKEN, 8),
        ("<|channel|>final Hello", TOKEN, 0),
        ("完了<|end|><|start|>assistant", TOKEN, 2),
        ('As "x" says<|end|>', TOKEN, 11),
    ],
)
def test_what_a_server_left_is_found_at_its_place(text: str, form: MarkupForm, at: int) -> None:
    markup = markup_in(text)
    assert markup is not None
    assert (markup.form, markup.at) == (form, at)


def test_a_transcript_is_read_as_by_the_reference_parser() -> None:
    """Of random messages that both accept, all that are encoded again to the same tokens."""
    compared = 0
    for seed in range(300):
        ids = random_script(Random(seed))  # noqa: S311
        text = text_of(ids)
        if "\ufffd" in text or parsed_by_reference(ids).rejected or not text.startswith("<|channel|>"):
            continue
        messages = encoding().parse_messages_from_completion_tokens(
            encoding().encode(text, allowed_special="all"), Role.ASSISTANT
        )
        markup, transcript = markup_in(text), parsed(text)
        assert markup is not None
        assert transcript is not None
        assert markup.form is TRANSCRIPT
        assert len(transcript.transcript.messages) == len(messages)
        finals = [message for message in messages if message.channel == "final"]
        assert transcript.answer == "".join(part.text for last in finals[-1:] for part in last.content)
        in_body = any("<|" in part.text for message in messages for part in message.content)
        assert transcript.well_formed is not in_body
        compared += 1
    assert compared > 50


def test_the_absence_of_stop_tokens_proves_nothing() -> None:
    text = "<|channel|>analysis<|message|>Hm.<|start|>assistant<|channel|>final<|message|>Hi."
    without_stops, one_stop_missing = parsed(text), parsed(f"{text}<|return|>")
    assert without_stops is not None
    assert one_stop_missing is not None
    assert (without_stops.well_formed, without_stops.answer) == (True, "Hi.")
    assert not one_stop_missing.well_formed


def test_the_answer_of_a_stripped_transcript() -> None:
    assert stripped_answer("analysisAdd.assistantfinal3") == "3"
    assert stripped_answer("analysisAdd.assistantcommentary to=functions.f{}") is None


@pytest.mark.parametrize(
    ("name", "at"),
    [
        ("lookup", None),
        ("lookup<|channel|>commentary", 6),
        ("lookupjson", 6),
        ("lookup commentary", 7),
        ("json", None),
        ("otherjson", None),
        ("lookup_json", None),
    ],
)
def test_a_header_in_a_name(name: str, at: int | None) -> None:
    assert header_in_name(name, frozenset({"lookup", "json"})) == at


def test_of_a_long_text_nothing_is_parsed() -> None:
    assert markup_in("```\n" * 50_001 + "<|channel|>final<|message|>a<|end|> b") is None
    assert parsed("<|channel|>final<|message|>" + "a b " * 1_000_000) is None
