"""One stream a kind of finding, written as tables; what must be found stands beside it."""

import pytest

from inspector.analysis.audit import Finding, Kind, Severity, explain
from inspector.analysis.reading import read
from inspector.capture.capture import Capture, Endpoint, Event, Header
from inspector.protocol.harmony.vocab import encode
from tests.support.audits import ANALYSIS, GOOD, STOP, brief, changed, found, said
from tests.support.streams import CLOSED, Step, chat, chat_chunk


def places(finding: Finding) -> tuple[int | None, int | None, int | None, int | None]:
    return finding.token_start, finding.token_end, finding.event_start, finding.event_end


def test_a_whole_stream_has_no_finding() -> None:
    assert found(chat(GOOD, usage=15)) == []


def test_reasoning_under_two_names_is_one_delivery() -> None:
    assert read(chat(GOOD)).choice.delivered().reasoning == "Think hard."


def test_lost_text_is_dropped_at_its_tokens_and_events() -> None:
    (finding,) = found(chat(changed(_2={})))
    assert brief([finding]) == [(Kind.DROPPED, "reasoning", " hard.", "")]
    assert places(finding) == (4, 6, 2, 3)
    assert finding.severity is Severity.ERROR


def test_a_whole_lost_message_is_one_finding() -> None:
    (finding,) = found(chat(changed(_4={}, _5={})))
    assert brief([finding]) == [(Kind.DROPPED, "content", "Yes sir", "")]


def test_text_in_another_field_is_misrouted() -> None:
    (finding,) = found(chat(changed(_2={"content": " hard."})))
    assert brief([finding]) == [(Kind.MISROUTED, "reasoning", " hard.", " hard.")]
    assert (finding.delivered_in, places(finding)) == ("content", (4, 6, 2, 3))


def test_text_in_another_field_and_another_event_is_misrouted() -> None:
    (finding,) = found(chat(changed(_2={}, _3={"content": " hard."})))
    assert brief([finding]) == [(Kind.MISROUTED, "reasoning", " hard.", " hard.")]


def test_text_that_arrives_an_event_later_is_no_finding() -> None:
    steps = changed(_1={}, _2={"reasoning": "Think"}, _3={"reasoning": " hard."})
    assert found(chat(steps)) == []


def test_text_held_back_does_not_hide_a_loss() -> None:
    steps = [
        ANALYSIS,
        said("one"),
        said(" two", reasoning="one"),
        said(" three", reasoning=" two"),
        said(" four"),
        said(" five", reasoning=" four"),
        ("<|end|>", {"reasoning": " five"}),
    ]
    assert brief(found(chat(steps))) == [(Kind.DROPPED, "reasoning", " three", "")]


def test_text_held_back_is_told_from_equal_words_of_its_event() -> None:
    steps = [
        ANALYSIS,
        said(" the"),
        said(" cat the", reasoning=" the"),
        said(" dog", reasoning=" cat the"),
        said(" lost"),
        ("<|end|>", {"reasoning": " dog"}),
    ]
    assert brief(found(chat(steps))) == [(Kind.DROPPED, "reasoning", " lost", "")]


def test_equal_words_are_told_apart_by_the_event_that_carried_them() -> None:
    steps = [ANALYSIS, *(said(" the", reasoning=" the") for _ in range(5)), ("<|end|>", {})]
    steps[3] = (" the", {})
    (finding,) = found(chat(steps))
    assert places(finding) == (5, 6, 3, 4)


def test_of_equal_words_in_one_event_the_first_are_lost() -> None:
    steps: list[Step] = [ANALYSIS, (" the the the", {"reasoning": " the"}), ("<|end|>", {})]
    (finding,) = found(chat(steps))
    assert (finding.kind, finding.token_start, finding.token_end) == (Kind.DROPPED, 3, 5)


def test_of_equal_words_apart_in_one_event_the_first_are_lost() -> None:
    steps: list[Step] = [ANALYSIS, (" the cat the dog the", {"reasoning": " the the"}), ("<|end|>", {})]
    findings = found(chat(steps))
    assert [(finding.kind, finding.token_start, finding.token_end) for finding in findings] == [
        (Kind.DROPPED, 3, 5),
        (Kind.DROPPED, 6, 7),
    ]


def test_text_sent_twice_is_duplicated_and_names_the_tokens_that_it_repeats() -> None:
    (finding,) = found(chat(changed(_5={"content": " sir sir"}), counted=True))
    assert brief([finding]) == [(Kind.DUPLICATED, "content", None, " sir")]
    assert (finding.token_start, finding.token_end) == (13, 14)


def test_text_from_nowhere_is_duplicated_without_tokens() -> None:
    (finding,) = found(chat(changed(_6={"content": "Bye!"}), counted=True))
    assert brief([finding]) == [(Kind.DUPLICATED, "content", None, "Bye!")]
    assert finding.token_start is None


def test_swapped_text_is_reordered() -> None:
    (finding,) = found(chat(changed(_4={"content": " sir"}, _5={"content": "Yes"})))
    assert finding.kind is Kind.REORDERED
    assert finding.generated in {"Yes", " sir"}


@pytest.mark.parametrize(("sent", "generated"), [("es sir", "Yes"), ("sir", "Yes sir")])
def test_text_that_begins_inside_a_token_is_garbled(sent: str, generated: str) -> None:
    (finding,) = found(chat([*GOOD[:4], said("Yes sir", content=sent), STOP]))
    assert brief([finding]) == [(Kind.GARBLED, "content", generated, sent.removesuffix(" sir"))]


def test_a_character_sent_in_halves_is_garbled() -> None:
    hand = encode(" 👋")
    assert len(hand) == 2
    data = [
        chat_chunk(encode("<|channel|>final<|message|>"), {}),
        chat_chunk(hand[:1], {"content": " \ufffd"}),
        chat_chunk(hand[1:], {"content": "\ufffd"}),
        chat_chunk(encode("<|return|>"), {}, finish="stop"),
        "[DONE]",
    ]
    (finding,) = found(
        Capture(
            header=Header(endpoint=Endpoint.CHAT), events=[Event(payload) for payload in data], end=CLOSED
        )
    )
    assert brief([finding]) == [(Kind.GARBLED, "content", "👋", "\ufffd\ufffd")]
    assert (finding.token_start, finding.token_end) == (4, 5)


def test_a_character_held_back_to_its_last_token_is_no_finding() -> None:
    hand = encode(" 👋")
    data = [
        chat_chunk(encode("<|channel|>final<|message|>"), {}),
        chat_chunk(hand[:1], {"content": " "}),
        chat_chunk(hand[1:], {"content": "👋"}),
        chat_chunk(encode("<|return|>"), {}, finish="stop"),
        "[DONE]",
    ]
    assert (
        found(
            Capture(
                header=Header(endpoint=Endpoint.CHAT), events=[Event(payload) for payload in data], end=CLOSED
            )
        )
        == []
    )


@pytest.mark.parametrize("sent", [" ", " \ufffd"])
def test_a_character_that_the_end_cuts_off_may_come_or_not(sent: str) -> None:
    data = [
        chat_chunk(encode("<|channel|>final<|message|>Hi"), {"content": "Hi"}),
        chat_chunk(encode(" 👋")[:1], {"content": sent}, finish="length"),
        "[DONE]",
    ]
    findings = found(
        Capture(
            header=Header(endpoint=Endpoint.CHAT), events=[Event(payload) for payload in data], end=CLOSED
        )
    )
    assert [finding.kind for finding in findings] == [Kind.TRUNCATED]


def test_explanations_stay_short_and_texts_stay_exact() -> None:
    long = " word" * 5000
    (finding,) = found(chat([ANALYSIS, (long, {}), ("<|end|>", {})]))
    assert len(explain(finding)) < 300
    assert finding.generated == long


def test_an_answer_with_a_content_type_is_promised_to_the_answer() -> None:
    steps = [("<|channel|>final <|constrain|>json<|message|>", {}), ("{}", {"content": "{}"}), STOP]
    assert found(chat(steps)) == []
    assert brief(found(chat([steps[0], ("{}", {}), STOP]))) == [(Kind.DROPPED, "content", "{}", "")]
