"""Causes of drift: each on facts, with a case beside it that is none."""

import json

import pytest
from openai_harmony import Conversation, Message, RenderConversationConfig, Role

from inspector.data.rollout import CAUSES, Cause, Drift, Turn, drifts
from inspector.protocol.harmony.vocab import encode, encode_plain, encoding
from tests.support.conversations import conversations
from tests.support.rollouts import (
    ANALYSIS,
    ANSWERED,
    ARGUMENTS,
    CALL,
    CALLED,
    DEVELOPER,
    FINAL,
    HISTORY,
    NEXT,
    OPEN,
    PROMPT,
    RESULT,
    SYSTEM,
    USER,
)


def compared(prompt: str, generated: str, following: str) -> list[Drift]:
    return drifts(Turn(prompt=encode(prompt), generated=encode(generated)), encode(following))


def causes(prompt: str, generated: str, following: str) -> list[Cause]:
    return [drift.cause for drift in compared(prompt, generated, following)]


def test_a_prompt_that_extends_the_tokens_has_no_drift() -> None:
    assert compared(PROMPT, CALLED, f"{PROMPT}{CALLED}{RESULT}{OPEN}") == []
    assert compared(PROMPT, ANSWERED, f"{PROMPT}{ANSWERED}{NEXT}{OPEN}") == []
    assert compared(PROMPT, "", f"{PROMPT}{ANSWERED}{NEXT}{OPEN}") == []


def test_what_the_template_does_after_a_final_answer_is_expected() -> None:
    dropped, replaced = compared(PROMPT, ANSWERED, HISTORY)
    assert [dropped.cause, replaced.cause] == [Cause.ANALYSIS_DROPPED, Cause.RETURN_REPLACED]
    assert {CAUSES[drift.cause].severity.value for drift in (dropped, replaced)} == {"warning"}
    assert dropped.token == dropped.next_token == len(encode(PROMPT)) + 1
    assert dropped.generated
    assert dropped.before.endswith("Paris?<|end|><|start|>assistant<|channel|>")
    assert (dropped.seen[:17], dropped.following[:14]) == ("analysis<|message", "final<|message")
    assert (replaced.seen, replaced.following[:14]) == ("<|return|>", "<|end|><|start")


def test_the_same_reasoning_is_lost_where_the_turn_is_not_finished() -> None:
    (lost,) = compared(PROMPT, CALLED, f"{PROMPT}{CALL}{RESULT}{OPEN}")
    assert (lost.cause, CAUSES[lost.cause].severity.value) == (Cause.ANALYSIS_LOST, "error")


def test_reasoning_of_an_earlier_turn_may_be_dropped_while_that_of_this_turn_is_lost() -> None:
    first = f"{PROMPT}{ANSWERED.replace('<|return|>', '<|end|>')}{NEXT}{OPEN}"
    drift_causes = causes(first, CALLED, f"{HISTORY}{CALL}{RESULT}{OPEN}")
    assert drift_causes == [Cause.ANALYSIS_DROPPED, Cause.ANALYSIS_LOST]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('{"city":"Paris","unit":"C"}', [Cause.ARGUMENTS_REWRITTEN]),
        ('{"unit": "C", "city": "Paris"}', [Cause.ARGUMENTS_REWRITTEN]),
        ('{"city": "Rome", "unit": "C"}', [Cause.MESSAGE_CHANGED]),
        ('{"city": "Paris"', [Cause.MESSAGE_TRUNCATED]),
        (ARGUMENTS, []),
    ],
)
def test_arguments_are_compared_as_json(arguments: str, expected: list[Cause]) -> None:
    call = CALL.replace(ARGUMENTS, arguments)
    assert causes(PROMPT, CALLED, f"{PROMPT}{ANALYSIS}{OPEN}{call}{RESULT}{OPEN}") == expected


def test_the_same_text_in_other_tokens() -> None:
    prompt, following = encode(PROMPT), encode(f"{PROMPT}{ANALYSIS}{OPEN}{CALL}{RESULT}{OPEN}")
    head, tail = encode("<|channel|>analysis<|message|>"), encode(f"<|end|>{OPEN}{CALL}")
    split = [*encode_plain("Nee"), *encode_plain("d the wea"), *encode_plain("ther.")]
    (drift,) = drifts(Turn(prompt=prompt, generated=[*head, *split, *tail]), following)
    assert drift.cause is Cause.RETOKENIZED
    assert drift.token == len(prompt) + len(head)
    assert drift.note == f"{len(split)} tokens became {len(encode_plain('Need the weather.'))}."
    assert drift.seen.startswith("Need the weather.<|end|>")
    assert drift.following.startswith("Need the weather.<|end|>")


def test_the_same_text_in_other_tokens_outside_harmony() -> None:
    parts = encode_plain("The wea"), encode_plain("ther is")
    following = encode_plain("The weather is fine.")
    (retokenized,) = drifts(Turn(prompt=parts[0], generated=parts[1]), following)
    assert retokenized.cause is Cause.RETOKENIZED
    (changed,) = drifts(Turn(prompt=parts[0], generated=encode_plain("ther was")), following)
    assert changed.cause is Cause.MESSAGE_CHANGED


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("2025-08-05", "2025-08-06", Cause.DATE_CHANGED),
        ("Reasoning: medium", "Reasoning: high", Cause.SYSTEM_CHANGED),
        ("Be brief.", "Be brief.\n\n# Tools", Cause.DEVELOPER_CHANGED),
        ("What is the weather in Paris?", "What is the weather", Cause.MESSAGE_TRUNCATED),
        ("What is the weather in Paris?", "How is the weather in Paris?", Cause.MESSAGE_CHANGED),
        (DEVELOPER, "", Cause.DEVELOPER_CHANGED),
        (USER, f"<|start|>user<|message|>Hi.<|end|>{USER}", Cause.MESSAGE_ADDED),
        (" <|constrain|>json", " json", Cause.HEADER_REWRITTEN),
        (
            "<|channel|>commentary to=functions.get",
            " to=functions.get<|channel|>commentary",
            Cause.HEADER_REWRITTEN,
        ),
        ("<|call|>", "<|end|>", Cause.TERMINATOR_CHANGED),
        ("Need the weather.", "Need the weather", Cause.MESSAGE_TRUNCATED),
    ],
)
def test_what_changed_between_the_turns(old: str, new: str, expected: Cause) -> None:
    next_prompt = f"{PROMPT}{CALLED}{RESULT}{OPEN}"
    (drift,) = compared(PROMPT, CALLED, next_prompt.replace(old, new, 1))
    assert drift.cause is expected
    turn_ids, following = encode(PROMPT + CALLED), encode(next_prompt.replace(old, new, 1))
    assert turn_ids[: drift.token] == following[: drift.next_token]
    assert turn_ids[drift.token] != following[drift.next_token]
    assert drift.generated == (old not in PROMPT)


def test_white_space_that_was_stripped_is_said() -> None:
    (drift,) = compared(PROMPT, ANSWERED.replace("Paris.", "Paris. \n"), f"{PROMPT}{ANSWERED}{NEXT}{OPEN}")
    assert (drift.cause, drift.note) == (Cause.MESSAGE_TRUNCATED, "Only white space differs.")


def test_the_oldest_messages_are_gone() -> None:
    last = f"{NEXT}{OPEN}{FINAL.replace('<|return|>', '<|end|>')}"
    prompt = f"{SYSTEM}{USER}{last}{NEXT}{OPEN}"
    (drift,) = compared(prompt, FINAL, f"{SYSTEM}{last}{NEXT}{OPEN}{FINAL}{NEXT}{OPEN}")
    assert (drift.cause, drift.generated) == (Cause.HISTORY_TRUNCATED, False)


def test_the_last_response_is_missing() -> None:
    assert causes(PROMPT, FINAL, f"{SYSTEM}{DEVELOPER}{USER}{NEXT}{OPEN}") == [Cause.MESSAGE_MISSING]


def test_the_same_prompt_is_another_sample() -> None:
    assert causes(PROMPT, FINAL, PROMPT) == [Cause.RESAMPLED]


def test_several_drifts_are_told_in_token_order() -> None:
    following = HISTORY.replace("2025-08-05", "2025-08-06")
    assert causes(PROMPT, ANSWERED, following) == [
        Cause.DATE_CHANGED,
        Cause.ANALYSIS_DROPPED,
        Cause.RETURN_REPLACED,
    ]


def opened(messages: list[Message]) -> list[int]:
    """The prompt of a history as the chat template makes it: without reasoning before the last answer."""
    finals = [place for place, message in enumerate(messages) if message.channel == "final"]
    last = max(finals, default=-1)
    remaining = [
        message for place, message in enumerate(messages) if place > last or message.channel != "analysis"
    ]
    config = RenderConversationConfig(auto_drop_analysis=False)
    return list(
        encoding().render_conversation_for_completion(
            Conversation.from_messages(remaining), Role.ASSISTANT, config
        )
    )


def test_rollouts_rendered_by_the_reference_library_drift_only_as_expected() -> None:
    compared_turns = 0
    for conversation in conversations(70, seed=7):
        before: Turn | None = None
        messages = list(conversation.messages)
        for place, message in enumerate(messages):
            if (
                message.author.role is Role.ASSISTANT
                and messages[place - 1].author.role is not Role.ASSISTANT
            ):
                prompt = opened(messages[:place])
                if before is not None:
                    drift_causes = {drift.cause for drift in drifts(before, prompt)}
                    finished = messages[place - 1].author.role is Role.USER
                    assert drift_causes <= (
                        {Cause.ANALYSIS_DROPPED, Cause.RETURN_REPLACED} if finished else set()
                    )
                    assert (Cause.RETURN_REPLACED in drift_causes) == finished
                    compared_turns += 1
                before = Turn(prompt=prompt, generated=generated(messages[place:]))
    assert compared_turns > 150


def generated(messages: list[Message]) -> list[int]:
    """What the model samples for the first turn of some messages, after `<|start|>assistant`."""
    ids: list[int] = []
    for message in messages:
        ids += encoding().render(message)
        if message.channel == "final":
            return [*ids[2:-1], 200002]
        if message.recipient is not None:
            return ids[2:]
    raise AssertionError("a turn ends in an answer or a call")


def test_the_library_brings_reasoning_back_within_a_later_turn() -> None:
    """It drops reasoning only where the last message of the assistant is an answer."""

    def message(channel: str, text: str) -> Message:
        return Message.from_role_and_content(Role.ASSISTANT, text).with_channel(channel)

    call = message("commentary", "{}").with_recipient("functions.f").with_content_type("json")
    history = [
        Message.from_role_and_content(Role.USER, "Hi"),
        message("analysis", "Greet."),
        message("final", "Hello."),
        Message.from_role_and_content(Role.USER, "Weather?"),
    ]
    render = encoding().render_conversation_for_completion
    first = render(Conversation.from_messages(history), Role.ASSISTANT)
    second = render(Conversation.from_messages([*history, call]), Role.ASSISTANT)
    (drift,) = drifts(Turn(prompt=first, generated=list(encoding().render(call))[2:]), second)
    assert (drift.cause, drift.message) == (Cause.MESSAGE_ADDED, "assistant, analysis")


def test_every_cause_has_a_row_and_rows_are_json() -> None:
    assert set(CAUSES) == set(Cause)
    (row, _) = [drift.as_row for drift in compared(PROMPT, ANSWERED, HISTORY)]
    assert json.loads(json.dumps(row)) == row
    assert (row["cause"], row["expected"], row["message"]) == (
        "analysis_dropped",
        True,
        "assistant, analysis",
    )
