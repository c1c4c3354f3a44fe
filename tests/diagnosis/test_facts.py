"""What sentences say: facts, whatever the order, the inflection and the synonyms."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest

from inspector.diagnosis.described import Description, best_told, facts_by_sentence
from inspector.diagnosis.facts import facts_of, is_fact_name
from inspector.diagnosis.phrases import lexicon, stem, words_of


def said(sentence: str) -> set[str]:
    return {fact.name for fact in facts_of(sentence)}


@pytest.mark.parametrize(
    ("fact", "sentences"),
    [
        (
            "answer missing",
            [
                "content is null",
                "no final answer",
                "vLLM never returns any content",
                "the final message does not arrive",
                "the server fails to produce an answer",
                "`content` = None",
                "there are thoughts instead of an answer",
                "the answer, sometimes, is completely empty",
                "it drops the final answer",
                "Reasoning is complete. The answer is missing.",
            ],
        ),
        (
            "call missing",
            ["tool_calls are lost", "neither text nor a tool call", "it never emits tool calls"],
        ),
        ("tool missing", ["opencode doesn't call the tools", "my functions are never executed"]),
        ("think in answer", ["the reasoning leaks into content", "content contains the reasoning"]),
        ("call in plain", ["tool calls come back as plain text", "the function call is printed as text"]),
        ("only think", ["just the reasoning", "reasoning only", "nothing but thoughts"]),
        ("args invalid", ["the tool arguments are malformed", "invalid JSON in function arguments"]),
        (
            "unstreamed",
            ["without streaming", "in non-streaming mode", "stream=False", "streaming is disabled"],
        ),
    ],
)
def test_many_ways_say_one_fact(fact: str, sentences: list[str]) -> None:
    assert [one for one in sentences if fact not in said(one)] == []


@pytest.mark.parametrize(
    ("fact", "sentence"),
    [
        ("answer missing", "vLLM no longer returns null content"),
        ("answer missing", "the content is not empty"),
        ("answer missing", "the answer contains no tool call"),
        ("think missing", "the answer without reasoning is faster"),
        ("think in answer", "the reasoning is not in content"),
        ("think in answer", "the reasoning should be in content"),
        ("reply missing", "messages whose channel is null"),
        ("unstreamed", "the call is not streamed"),
        ("call ignored", "Add support for tool calls that are ignored"),
    ],
)
def test_what_a_sentence_does_not_say(fact: str, sentence: str) -> None:
    assert fact not in said(sentence)


def test_a_clause_without_a_thing_is_about_the_one_before() -> None:
    assert "call missing" in said("tool calls are there without streaming but absent when streaming")
    assert "call missing" not in said("Tool calls work. Absent when streaming.")


def test_a_fact_keeps_the_words_that_say_it() -> None:
    facts = {fact.name: fact.said for fact in facts_of("On vLLM  the final\nanswer is always empty")}
    assert facts["answer"] == "answer"
    assert facts["answer missing"] == "answer is always empty"


@pytest.mark.parametrize("text", ["", ".", "not", "no", "instead", "call", "<|", "\x00", "not " * 500, "'s"])
def test_any_text_has_facts_or_none(text: str) -> None:
    list(facts_of(text))


class Work:
    """Instructions that were executed in `facts`."""

    count = 0

    def trace(self, frame: FrameType, event: str, _arg: Any) -> Any:
        if event == "call" and not frame.f_code.co_filename.endswith("facts.py"):
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        self.count += event == "opcode"
        return self.trace


@contextmanager
def counted() -> Iterator[Work]:
    work = Work()
    before = sys.gettrace()
    sys.settrace(work.trace)
    try:
        yield work
    finally:
        sys.settrace(before)


@pytest.mark.parametrize(
    "words", ["not answer null ", "the answer is null and ", "no no content = ", "word "]
)
def test_the_work_is_proportional_to_the_length_of_a_clause(words: str) -> None:
    needed = []
    for times in (200, 800):
        with counted() as work:
            list(facts_of(words * times))
        needed.append(work.count)
    assert needed[1] < 4.4 * needed[0]


def test_a_long_clause_says_what_its_parts_say() -> None:
    assert {"answer missing", "call missing"} <= said(
        f"content is null {'and so on ' * 300} tool_calls are lost"
    )


def test_inflections_have_one_stem() -> None:
    forms = ["drop drops dropped dropping", "lose loses lost losing", "write writes wrote written writing"]
    assert [len({stem(word) for word in some.split()}) for some in forms] == [1, 1, 1]


def test_phrases_of_the_file_are_found_as_they_stand() -> None:
    lost = [
        phrase
        for phrases in lexicon().phrases.values()
        for phrase, _ in phrases
        if not phrase or any(not word for word in phrase)
    ]
    assert lost == []
    assert [word.stem for word in words_of("the <|channel|> of to=functions.f")] == [
        "<marker>",
        "of",
        "<marker>",
    ]


def test_names_of_facts_are_checked() -> None:
    assert is_fact_name("answer missing")
    assert is_fact_name("call in plain")
    assert is_fact_name("only think")
    assert not any(map(is_fact_name, ["answer gone", "missing answer", "answer in schema", "", "a b c d"]))


def test_the_description_that_says_most_counts() -> None:
    facts = facts_by_sentence(["The content is null.", "Its reasoning is there."])
    weak = Description((("answer missing",),))
    strong = Description((("answer missing",),), more=("think",))
    excluded = Description((("answer missing",),), unless=("think",))
    told = best_told([weak, strong, excluded], facts)
    assert told is not None
    assert told == best_told([strong], facts)
    assert told.said == ("content is null",)
    assert best_told([excluded], facts) is None
    assert best_told([Description((("call missing", "tool missing"),))], facts) is None
