"""Reconstructed ids against the ids of the messages that they are made of."""

import dataclasses
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.analysis.alignment.cells import FIRST_SPECIAL
from inspector.protocol.harmony.reconstruction import Certainty, reconstruct
from inspector.protocol.harmony.spelling import _HALVES, _SPACED_HALVES, ReportedMessage, TurnEnd, has_unread
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.vocab import Marker, encode, encode_plain

THOUGHT = ReportedMessage(text="User greets.", channels=("analysis",))
ANSWER = ReportedMessage(text="Hello there!", channels=("final",))
CALL = ReportedMessage(
    text='{"city":"Paris"}',
    channels=("commentary",),
    recipient="functions.get_weather",
    content_types=(" <|constrain|>json", "<|constrain|>json"),
)
THINKING = "<|channel|>analysis<|message|>User greets.<|end|>"
FRAMED = f"{THINKING}<|start|>assistant<|channel|>final<|message|>Hello there!"
BODY = '<|message|>{"city":"Paris"}<|call|>'


def test_a_count_that_fits_one_spelling_confirms_the_ids() -> None:
    ids = encode(f"{FRAMED}<|return|>")
    reconstruction = reconstruct([[THOUGHT, ANSWER]], total=len(ids))
    assert reconstruction.certainty is Certainty.CONFIRMED
    assert list(reconstruction.ids) == ids
    assert reconstruction.uncertain == ()
    assert [span.start for span in reconstruction.spans] == [0, ids.index(Marker.START)]
    assert reconstruction.ids[reconstruction.spans[1].body : reconstruction.spans[1].body_end] == tuple(
        encode_plain("Hello there!")
    )


def test_spellings_of_one_length_leave_their_differences_uncertain() -> None:
    after = encode(f"<|channel|>commentary to=functions.get_weather <|constrain|>json{BODY}")
    before = encode(f" to=functions.get_weather<|channel|>commentary <|constrain|>json{BODY}")
    assert len(after) == len(before)
    reconstruction = reconstruct([[CALL]], total=len(after))
    assert reconstruction.certainty is Certainty.AMBIGUOUS
    assert list(reconstruction.ids) == after
    assert [place for place in range(len(after)) if not reconstruction.is_certain(place)] == list(
        range(before.index(Marker.CONSTRAIN) - 1)
    )


def test_a_shorter_count_chooses_the_shorter_spelling() -> None:
    ids = encode(f"<|channel|>commentary to=functions.get_weather<|constrain|>json{BODY}")
    reconstruction = reconstruct([[CALL]], total=len(ids))
    assert reconstruction.confirmed
    assert list(reconstruction.ids) == ids


HALVES = {
    "Wave  \ufffd": ("Wave ", [" \ufffd"]),
    "Wave\ufffd": ("Wave", ["\ufffd"]),
    "\ufffd": ("", ["\ufffd"]),
}


@pytest.mark.parametrize("text", HALVES)
def test_half_a_character_is_one_token_where_no_more_were_counted(text: str) -> None:
    before, halves = HALVES[text]
    header, stop = encode("<|channel|>final<|message|>"), [int(Marker.RETURN)]
    least = [*header, *encode_plain(before), *([0] * len(halves)), *stop]
    answer = ReportedMessage(text=text, channels=("final",))
    reconstruction = reconstruct([[answer]], total=len(least))
    assert reconstruction.certainty is Certainty.AMBIGUOUS
    assert [place for place in range(len(least)) if not reconstruction.is_certain(place)] == [len(least) - 2]
    assert [
        token_id for place, token_id in enumerate(reconstruction.ids) if reconstruction.is_certain(place)
    ] == [*least[:-2], *stop]
    assert text_of(reconstruction.ids[len(header) : -1]) == text
    # The character may have been longer, or another token may be lost.
    for surplus in (1, 2, 3):
        assert reconstruct([[answer]], total=len(least) + surplus).certainty is Certainty.UNKNOWN


def test_half_characters_that_cannot_be_counted_leave_the_ids_unknown() -> None:
    for text in ("\ufffd" * 5, "\u0430\ufffd", "\ufffd\u0430", "a-\ufffd", "\ufffdi", "<|end|>\ufffd"):
        for total in range(4, 30):
            reconstruction = reconstruct([[ReportedMessage(text=text, channels=("final",))]], total=total)
            assert reconstruction.certainty is Certainty.UNKNOWN


def test_only_a_space_shares_a_token_with_half_a_character_whose_tokens_are_counted() -> None:
    assert [text_of([token_id]) for token_id in (*_HALVES, *_SPACED_HALVES)] == ["\ufffd"] * 2 + [
        " \ufffd"
    ] * 2
    texts = (text_of([token_id]) for token_id in range(FIRST_SPECIAL))
    assert {text for text in texts if "\ufffd" in text and not has_unread(text)} == {"\ufffd", " \ufffd"}


def test_a_limit_cuts_off_no_more_than_a_header_begun() -> None:
    answer_size = len(encode("<|channel|>final<|message|>Hello there!<|end|>"))
    for surplus, fitting in ((1, ["<|start|>assistant"]), (3, [])):
        reconstruction = reconstruct([[ANSWER]], total=answer_size + surplus, ending=TurnEnd.CUT)
        assert (reconstruction.certainty, [fit.what for fit in reconstruction.fits]) == (
            Certainty.DIFFERS,
            fitting,
        )


def test_missing_tokens_are_counted_and_what_fits_is_named() -> None:
    sampled = encode("<|channel|>final <|constrain|>json<|message|>Hello there!<|return|>")
    reconstruction = reconstruct([[ANSWER]], total=len(sampled))
    assert (reconstruction.certainty, reconstruction.missing) == (Certainty.DIFFERS, 3)
    assert [(fit.what, fit.message) for fit in reconstruction.fits] == [(" <|constrain|>json", 0)]
    opened = encode(f"{THINKING}<|start|>assistant<|channel|>final<|return|>")
    reconstruction = reconstruct([[THOUGHT]], total=len(opened))
    assert "<|start|>assistant<|channel|>final<|return|>" in [fit.what for fit in reconstruction.fits]


def test_fewer_tokens_than_the_texts_need_are_told_as_negative() -> None:
    reconstruction = reconstruct([[THOUGHT, ANSWER]], total=4)
    assert reconstruction.certainty is Certainty.DIFFERS
    assert reconstruction.missing == 4 - len(reconstruction.ids)
    assert reconstruction.fits == ()


def test_without_a_count_or_with_a_broken_character_nothing_is_confirmed() -> None:
    assert reconstruct([[ANSWER]], total=None).certainty is Certainty.UNKNOWN
    broken = ReportedMessage(text="half \ufffd", channels=("final",))
    assert reconstruct([[broken]], total=8).certainty is Certainty.UNKNOWN


def test_a_limit_leaves_the_stop_token_out() -> None:
    ids = encode(FRAMED)
    assert list(reconstruct([[THOUGHT, ANSWER]], total=len(ids), ending=TurnEnd.CUT).ids) == ids
    either_ending = reconstruct([[THOUGHT, ANSWER]], total=len(ids), ending=TurnEnd.EITHER)
    assert list(either_ending.ids) == ids
    assert reconstruct([[THOUGHT, ANSWER]], total=len(ids)).missing == -1


def test_turns_are_held_against_their_own_counts() -> None:
    first = encode("<|channel|>analysis to=python code<|message|>print(1)<|call|>")
    second = encode("<|channel|>final<|message|>Hello there!<|return|>")
    python = ReportedMessage(
        text="print(1)", channels=("analysis",), recipient="python", content_types=(" code",)
    )
    reconstruction = reconstruct(
        [[python], [ANSWER]], total=len(first) + len(second), per_turn=[len(first), len(second)]
    )
    assert list(reconstruction.ids) == first + second
    assert reconstruction.turns == (0, len(first))
    swapped = reconstruct(
        [[python], [ANSWER]], total=len(first) + len(second), per_turn=[len(second), len(first)]
    )
    assert swapped.certainty is Certainty.DIFFERS


def test_marker_text_in_a_body_is_read_as_the_count_says() -> None:
    reported = ReportedMessage(text="Thinking.<|start|>assistant", channels=("analysis",))
    sampled = encode("<|channel|>analysis<|message|>Thinking.<|start|>assistant<|return|>")
    assert list(reconstruct([[reported]], total=len(sampled)).ids) == sampled
    framed = encode("<|channel|>analysis<|message|>")
    spelled = [*framed, *encode_plain(reported.text), Marker.RETURN]
    assert list(reconstruct([[reported]], total=len(spelled)).ids) == spelled


TEXT = st.text(max_size=40).filter(lambda text: "\ufffd" not in text)
MESSAGES = st.lists(
    st.builds(
        ReportedMessage,
        text=TEXT,
        channels=st.sampled_from([("analysis",), ("final",), (None,), ("commentary", "final")]),
        recipient=st.none() | st.sampled_from(["functions.f", "python", "<|constrain|>json", "a b"]),
        content_types=st.sampled_from([("",), (" <|constrain|>json", "<|constrain|>json", " json", "")]),
    ),
    max_size=5,
)


@given(st.lists(MESSAGES, max_size=3), st.integers(-5, 300), st.sampled_from(TurnEnd))
def test_any_messages_and_any_count_give_an_answer(
    turns: list[list[ReportedMessage]], total: int, ending: TurnEnd
) -> None:
    reconstruction = reconstruct(turns, total=total, ending=ending)
    assert reconstruction.missing == total - len(reconstruction.ids)
    assert reconstruction.confirmed == (reconstruction.missing == 0)
    exact = reconstruct(turns, total=len(reconstruction.ids), ending=ending)
    assert exact.confirmed
    for start, end in reconstruction.uncertain:
        assert 0 <= start < end <= len(reconstruction.ids)
    places = [place for span in reconstruction.spans for place in (span.start, span.end)]
    assert places[1:-1:2] == places[2::2]
    assert not places or (places[0], places[-1]) == (0, len(reconstruction.ids))


@pytest.mark.slow
def test_the_work_grows_with_the_messages_not_faster() -> None:
    def cost(count: int) -> float:
        messages = [dataclasses.replace(CALL, text=f"a{place}") for place in range(count)]
        total = len(reconstruct([messages], total=None).ids)
        begin = time.process_time()
        assert reconstruct([messages], total=total - 3).confirmed
        return time.process_time() - begin

    cost(100)
    assert cost(2000) < 40 * max(cost(200), 0.005)
