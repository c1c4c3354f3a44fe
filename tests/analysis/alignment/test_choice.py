"""Which answers can be aligned, and with what of their request in mind."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from inspector.analysis.alignment import Alignment, align_choice
from inspector.analysis.alignment.cells import FateState
from inspector.analysis.reading import read
from inspector.capture.capture import Capture, Endpoint, Event, EventKind, Header
from inspector.protocol.harmony.vocab import encode
from tests.support.streams import CLEAN, CLOSED, Step, chat, completion

CALL = "<|channel|>commentary to=functions.{} <|constrain|>json<|message|>{}<|call|>"


def aligned(capture: Capture, truth: str | None = None) -> Alignment | None:
    reading = read(capture, truth=None if truth is None else encode(truth))
    return align_choice(reading, reading.choice)


def states(capture: Capture, truth: str | None = None) -> list[tuple[FateState, str | None, str]]:
    alignment = aligned(capture, truth)
    assert alignment is not None
    return [(fate.state, fate.delivered_in, fate.generated) for fate in alignment.fates]


def test_without_ids_or_deliveries_there_is_nothing_to_align() -> None:
    assert aligned(chat(CLEAN, with_ids=False)) is None
    assert (
        aligned(Capture(header=Header(endpoint=Endpoint.TOKENS), events=[Event("[200005, 17196]")])) is None
    )


def test_an_echoed_prompt_that_nobody_knows_hides_where_the_answer_begins() -> None:
    steps = [("<|channel|>final<|message|>Hi", "Say hiHi")]
    assert aligned(completion(steps, request={"echo": True})) is None
    # Asked for, known, and not there: what came is not that prompt and an answer.
    assert aligned(completion(steps, request={"echo": True, "prompt": "Other"})) is None


def test_a_prompt_that_was_not_asked_back_is_part_of_nothing() -> None:
    steps = [("Hi", "Hi"), (" there<|return|>", " there")]
    assert states(completion(steps, request={"prompt": "Say hi"})) == [(FateState.OK, "text", "Hi there")]


def test_events_that_bring_the_prompt_alone_deliver_nothing() -> None:
    steps = [("", "Say"), ("", " hi"), ("Hi", "Hi"), ("<|return|>", "")]
    request = {"echo": True, "prompt": "Say hi"}
    assert states(completion(steps, request=request)) == [(FateState.OK, "text", "Hi")]


def test_calls_that_nobody_generated_are_passed_over_when_calls_are_paired() -> None:
    steps: list[Step] = [
        (
            "<|channel|>analysis<|message|>Hm<|end|>",
            {"reasoning": "Hm", "tool_calls": [{"index": 0, "function": {"name": "g", "arguments": "[]"}}]},
        ),
        ("<|start|>assistant<|channel|>final<|message|>x<|end|>", {"content": "x"}),
        (
            "<|start|>assistant" + CALL.format("f", "{}"),
            {"tool_calls": [{"index": 1, "function": {"name": "f", "arguments": "{}"}}]},
        ),
    ]
    alignment = aligned(chat(steps))
    assert alignment is not None
    assert alignment.calls == [1]
    assert {fate.state for fate in alignment.fates} == {FateState.OK}
    assert [extra.text for extra in alignment.extras] == ["[]"]


def response(*items: Mapping[str, Any], kind: EventKind = EventKind.BODY) -> Capture:
    body = {"object": "response", "status": "completed", "output": list(items)}
    return Capture(
        header=Header(endpoint=Endpoint.RESPONSES, status=200),
        events=[Event(json.dumps(body), 0.1, "", kind)],
        end=CLOSED,
    )


def test_calls_of_the_servers_own_tools_are_looked_for_in_their_items() -> None:
    truth = (
        "<|channel|>analysis to=python code<|message|>print(1)<|call|>"
        "<|start|>assistant<|channel|>commentary to=files.read json<|message|>{}<|call|>"
        "<|start|>assistant<|channel|>final<|message|>1<|return|>"
    )
    items = (
        {"type": "code_interpreter_call", "code": "print(1)"},
        {"type": "mcp_call", "arguments": "{}"},
        {"type": "message", "content": [{"text": "1"}]},
    )
    assert states(response(*items), truth) == [
        (FateState.OK, "code_interpreter_call[0].code", "print(1)"),
        (FateState.OK, "mcp_call[0].arguments", "{}"),
        (FateState.OK, "content", "1"),
    ]
    # Without such an item their text is promised to nobody.
    assert states(response(items[2]), truth)[0] == (FateState.UNSERVED, None, "print(1)")


@pytest.mark.parametrize(
    ("arguments", "state"),
    [
        ('{ "a": 1 }', FateState.OK),  # written anew
        ('{"a": 2}', FateState.GARBLED),
        ('{"a": ', FateState.GARBLED),  # no JSON
        ("[" * 10_000, FateState.GARBLED),
    ],
)
def test_arguments_of_an_unstreamed_answer_may_be_written_anew(arguments: str, state: FateState) -> None:
    capture = response({"type": "function_call", "name": "f", "arguments": arguments})
    fate_states = {fate[0] for fate in states(capture, CALL.format("f", '{"a":1}'))}
    assert fate_states == {FateState.OK} if state is FateState.OK else state in fate_states


def test_an_end_inside_a_character_is_held_back_and_other_text_is_not() -> None:
    wave = encode("👋🏽")
    assert len(wave) > 2

    def cut(sent: str, ids: Sequence[int]) -> list[FateState]:
        data = json.dumps({"choices": [{"index": 0, "text": sent, "token_ids": [*encode("Hi "), *ids]}]})
        header = Header(endpoint=Endpoint.COMPLETIONS, request={"max_tokens": 3})
        alignment = aligned(Capture(header=header, events=[Event(data)], end=CLOSED))
        assert alignment is not None
        return [fate.state for fate in alignment.fates]

    assert cut("Hi ", wave[:1]) == [FateState.OK]
    assert cut("H", wave[:1]) == [FateState.GARBLED]
    assert FateState.DROPPED in cut("Hi", encode(" there"))
    # No character has six beginnings: what came is not all but its end.
    assert cut("H", wave[:1] * 6) == [FateState.GARBLED]


def test_replaced_text_without_times_stands_where_the_lost_tokens_stood() -> None:
    truth = "<|channel|>final<|message|>one two three<|return|>"
    events = [
        Event(json.dumps({"choices": [{"index": 0, "delta": {"content": content}}]}))
        for content in ("one", " ??", " three")
    ]
    capture = Capture(header=Header(endpoint=Endpoint.CHAT), events=events, end=CLOSED)
    assert (FateState.GARBLED, "content", " two") in states(capture, truth)
    added = replace(capture, events=[*events[:1], Event(events[0].data.replace("one", " two??")), events[2]])
    assert FateState.GARBLED not in {state for state, _, _ in states(added, truth)}


def test_lost_tokens_that_came_one_by_one_in_another_field_are_found_there() -> None:
    truth = "<|channel|>final<|message|> one two three four five<|return|>"
    deltas = [{"reasoning": " four"}, {"reasoning": " two"}, {"content": " one"}, {"content": " three five"}]
    events = [Event(json.dumps({"choices": [{"index": 0, "delta": delta}]})) for delta in deltas]
    fates = states(Capture(header=Header(endpoint=Endpoint.CHAT), events=events, end=CLOSED), truth)
    assert [(field, text) for state, field, text in fates if state is FateState.MISROUTED] == [
        ("reasoning", " two"),
        ("reasoning", " four"),
    ]
    assert FateState.DROPPED not in {state for state, _, _ in fates}


@pytest.mark.parametrize(("feeds", "extra"), [(1, []), (2, []), (3, ["\n"])])
def test_a_separator_more_than_there_are_messages_to_separate_is_text_from_nowhere(
    feeds: int, extra: list[str]
) -> None:
    think = "<|channel|>analysis<|message|>{}<|end|>"
    texts = [
        think.format("One."),
        *("<|start|>assistant" + think.format(word) for word in ("Two.", "Three.")),
    ]
    steps: list[Step] = [
        (text, {"reasoning": word}) for text, word in zip(texts, ("One.", "Two.", "Three."), strict=True)
    ]
    for place in range(feeds):
        steps.insert(2 * place + 1, ("", {"reasoning": "\n"}))
    capture = chat(steps)
    alignment = aligned(replace(capture, header=replace(capture.header, owned_by="vllm-frontend-rs")))
    assert alignment is not None
    assert [extra_text.text for extra_text in alignment.extras if not extra_text.separates] == extra
    assert sum(extra_text.separates for extra_text in alignment.extras) == min(feeds, 2)
    assert {fate.state for fate in alignment.fates} == {FateState.OK}


@pytest.mark.parametrize(
    ("words", "deltas"),
    [
        # The second message begins with a line feed: of the two, the server's is the first.
        (["One.", "\nTwo."], ["One.", "\n", "\nTwo."]),
        # A message of one line feed, between two separators.
        (["One.", "\n", "Two."], ["One.", "\n\n\n", "Two."]),
        # Two messages end and begin in one delta.
        (["One.", "Two.", "Three."], ["One.\nTwo.\nTh", "ree."]),
    ],
    ids=["text with a line feed", "line feed as text", "within a delta"],
)
def test_separators_are_told_from_the_line_feeds_of_the_text(
    words: Sequence[str], deltas: Sequence[str]
) -> None:
    think = "<|channel|>analysis<|message|>{}<|end|>"
    text = "<|start|>assistant".join(think.format(word) for word in words)
    steps: list[Step] = [
        (text, {"reasoning": deltas[0]}),
        *(("", {"reasoning": delta}) for delta in deltas[1:]),
    ]
    capture = chat(steps)
    alignment = aligned(replace(capture, header=replace(capture.header, owned_by="vllm-frontend-rs")))
    assert alignment is not None
    assert {fate.state for fate in alignment.fates} == {FateState.OK}
    assert [extra_text.text for extra_text in alignment.extras if not extra_text.separates] == []
    assert [extra_text.text for extra_text in alignment.extras] == ["\n"] * (len(words) - 1)


def test_two_separators_in_one_piece_are_two_also_where_other_text_is_lost() -> None:
    think = "<|channel|>analysis<|message|>{}<|end|>"
    steps: list[Step] = [
        (think.format("One fine"), {"reasoning": "One"}),
        (
            "<|start|>assistant" + think.format("\n") + "<|start|>assistant" + think.format("Three."),
            {"reasoning": "\n\n\nThree."},
        ),
    ]
    capture = chat(steps)
    alignment = aligned(replace(capture, header=replace(capture.header, owned_by="vllm-frontend-rs")))
    assert alignment is not None
    assert [extra_text.text for extra_text in alignment.extras if extra_text.separates] == ["\n", "\n"]
    assert [extra_text.text for extra_text in alignment.extras if not extra_text.separates] == []
    assert [fate.generated for fate in alignment.fates if fate.state is FateState.DROPPED] == [" fine"]


@pytest.mark.parametrize("owner", ["vllm-frontend-rs", "vllm"])
def test_a_stream_that_breaks_off_anywhere_has_no_loss_before_the_break(owner: str) -> None:
    think = "<|channel|>analysis<|message|>{}<|end|>"
    separator = "\n" if owner == "vllm-frontend-rs" else ""
    steps: list[Step] = [
        (think.format("One"), {"reasoning": "One"}),
        ("<|start|>assistant" + think.format("Two, and"), {"reasoning": f"{separator}Two, and"}),
        ("<|start|>assistant<|channel|>final<|message|>One", {"content": "One"}),
    ]
    whole = chat(steps, with_ids=False)
    whole = replace(whole, header=replace(whole.header, owned_by=owner))
    for size in range(len(steps) + 1):
        cut = replace(whole, events=whole.events[:size])
        alignment = aligned(cut, "".join(text for text, _ in steps))
        assert alignment is not None
        assert {fate.state for fate in alignment.fates} <= {FateState.OK, FateState.UNSENT}
        arrived = "".join(fate.generated for fate in alignment.fates if fate.state is FateState.OK)
        assert arrived == "".join(["One", "Two, and", "One"][:size])
        assert [extra.text for extra in alignment.extras] == [separator] * (separator != "" and size > 1)
