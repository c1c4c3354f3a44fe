"""One stream a kind of finding, written as tables; what must be found stands beside it."""

import pytest

from inspector.analysis.audit import Finding, Kind, Severity, explain
from inspector.analysis.reading import read
from inspector.capture.capture import Capture, Endpoint, Event, Header
from inspector.protocol.harmony.vocab import encode
from tests.support.audits import ANALYSIS, CLEAN, STOP, brief, changed, findings_of, text_step
from tests.support.streams import CLOSED, Step, chat, chat_chunk


def places(finding: Finding) -> tuple[int | None, int | None, int | None, int | None]:
    return finding.token_start, finding.token_end, finding.event_start, finding.event_end


def test_a_whole_stream_has_no_finding() -> None:
    assert findings_of(chat(CLEAN, usage=15)) == []


def test_reasoning_under_two_names_is_one_delivery() -> None:
    assert read(chat(CLEAN)).choice.delivered().reasoning == "Think hard."


def test_lost_text_is_dropped_at_its_tokens_and_events() -> None:
    (finding,) = findings_of(chat(changed(_2={})))
    assert brief([finding]) == [(Kind.DROPPED, "reasoning", " hard.", "")]
    assert places(finding) == (4, 6, 2, 3)
    assert finding.severity is Severity.ERROR


def test_a_whole_lost_message_is_one_finding() -> None:
    (finding,) = findings_of(chat(changed(_4={}, _5={})))
    assert brief([finding]) == [(Kind.DROPPED, "content", "Yes sir", "")]


def test_text_in_another_field_is_misrouted() -> None:
    (finding,) = findings_of(chat(changed(_2={"content": " hard."})))
    assert brief([finding]) == [(Kind.MISROUTED, "reasoning", " hard.", " hard.")]
    assert (finding.delivered_in, places(finding)) == ("content", (4, 6, 2, 3))


def test_text_in_another_field_and_another_event_is_misrouted() -> None:
    (finding,) = findings_of(chat(changed(_2={}, _3={"content": " hard."})))
    assert brief([finding]) == [(Kind.MISROUTED, "reasoning", " hard.", " hard.")]


def test_text_that_arrives_an_event_later_is_no_finding() -> None:
    steps = changed(_1={}, _2={"reasoning": "Think"}, _3={"reasoning": " hard."})
    assert findings_of(chat(steps)) == []


def test_text_held_back_does_not_hide_a_loss() -> None:
    steps = [
        ANALYSIS,
        text_step("one"),
        text_step(" two", reasoning="one"),
        text_step(" three", reasoning=" two"),
        text_step(" four"),
        text_step(" five", reasoning=" four"),
        ("<|end|>", {"reasoning": " five"}),
    ]
    assert brief(findings_of(chat(steps))) == [(Kind.DROPPED, "reasoning", " three", "")]


def test_text_held_back_is_told_from_equal_words_of_its_event() -> None:
    steps = [
        ANALYSIS,
        text_step(" the"),
        text_step(" cat the", reasoning=" the"),
        text_step(" dog", reasoning=" cat the"),
        text_step(" lost"),
        ("<|end|>", {"reasoning": " dog"}),
    ]
    assert brief(findings_of(chat(steps))) == [(Kind.DROPPED, "reasoning", " lost", "")]


def test_equal_words_are_told_apart_by_the_event_that_carried_them() -> None:
    steps = [ANALYSIS, *(text_step(" the", reasoning=" the") for _ in range(5)), ("<|end|>", {})]
    steps[3] = (" the", {})
    (finding,) = findings_of(chat(steps))
    assert places(finding) == (5, 6, 3, 4)


def test_of_equal_words_in_one_event_the_first_are_lost() -> None:
    steps: list[Step] = [ANALYSIS, (" the the the", {"reasoning": " the"}), ("<|end|>", {})]
    (finding,) = findings_of(chat(steps))
    assert (finding.kind, finding.token_start, finding.token_end) == (Kind.DROPPED, 3, 5)


def test_of_equal_words_apart_in_one_event_the_first_are_lost() -> None:
    steps: list[Step] = [ANALYSIS, (" the cat the dog the", {"reasoning": " the the"}), ("<|end|>", {})]
    findings = findings_of(chat(steps))
    assert [(finding.kind, finding.token_start, finding.token_end) for finding in findings] == [
        (Kind.DROPPED, 3, 5),
        (Kind.DROPPED, 6, 7),
    ]


def test_text_sent_twice_is_duplicated_and_names_the_tokens_that_it_repeats() -> None:
    (finding,) = findings_of(chat(changed(_5={"content": " sir sir"}), counted=True))
    assert brief([finding]) == [(Kind.DUPLICATED, "content", None, " sir")]
    assert (finding.token_start, finding.token_end) == (13, 14)


def test_text_from_nowhere_is_duplicated_without_tokens() -> None:
    (finding,) = findings_of(chat(changed(_6={"content": "Bye!"}), counted=True))
    assert brief([finding]) == [(Kind.DUPLICATED, "content", None, "Bye!")]
    assert finding.token_start is None


def test_swapped_text_is_reordered() -> None:
    (finding,) = findings_of(chat(changed(_4={"content": " sir"}, _5={"content": "Yes"})))
    assert finding.kind is Kind.REORDERED
    assert finding.generated in {"Yes", " sir"}


@pytest.mark.parametrize(("sent", "generated"), [("es sir", "Yes"), ("sir", "Yes sir")])
def test_text_that_begins_inside_a_token_is_garbled(sent: str, generated: str) -> None:
    (finding,) = findings_of(chat([*CLEAN[:4], text_step("Yes sir", content=sent), STOP]))
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
    (finding,) = findings_of(
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
        findings_of(
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
    findings = findings_of(
        Capture(
            header=Header(endpoint=Endpoint.CHAT), events=[Event(payload) for payload in data], end=CLOSED
        )
    )
    assert [finding.kind for finding in findings] == [Kind.TRUNCATED]


def test_explanations_stay_short_and_texts_stay_exact() -> None:
    long = " word" * 5000
    (finding,) = findings_of(chat([ANALYSIS, (long, {}), ("<|end|>", {})]))
    assert len(explain(finding)) < 300
    assert finding.generated == long


def test_an_answer_with_a_content_type_is_promised_to_the_answer() -> None:
    steps = [("<|channel|>final <|constrain|>json<|message|>", {}), ("{}", {"content": "{}"}), STOP]
    assert findings_of(chat(steps)) == []
    assert brief(findings_of(chat([steps[0], ("{}", {}), STOP]))) == [(Kind.DROPPED, "content", "{}", "")]
