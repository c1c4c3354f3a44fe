from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from openai_harmony import Conversation, HarmonyError, Message, Role, StreamableParser

from inspector.protocol.harmony import tracker
from inspector.protocol.harmony.events import (
    BodyAdded,
    HarmonyEvent,
    HeaderClosed,
    HeaderOpened,
    MessageClosed,
    MessageHeader,
    TokenRejected,
)
from inspector.protocol.harmony.states import State
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.tracker import HarmonyTracker
from inspector.protocol.harmony.transcript import Transcript
from inspector.protocol.harmony.vocab import VOCABULARY_SIZE, Marker, encode, encoding


def header(
    channel: str | None = None,
    recipient: str | None = None,
    content_type: str | None = None,
    *,
    constrained: bool = False,
    role: str = "assistant",
) -> MessageHeader:
    return MessageHeader(
        role=role, channel=channel, recipient=recipient, content_type=content_type, constrained=constrained
    )


def track(text: str, prompt: str | None = None) -> list[HarmonyEvent]:
    return HarmonyTracker(None if prompt is None else encode(prompt)).receive(encode(text))


def headers(text: str, prompt: str | None = None) -> list[MessageHeader]:
    return [event.header for event in track(text, prompt) if isinstance(event, HeaderClosed)]


def test_reasoning_and_answer() -> None:
    text = (
        "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Yes<|return|>"
    )
    assert track(text) == [
        HeaderOpened(at=-2),
        HeaderClosed(at=2, header=header("analysis")),
        BodyAdded(start=3, end=5),
        MessageClosed(at=5),
        HeaderOpened(at=6),
        HeaderClosed(at=10, header=header("final")),
        BodyAdded(start=11, end=12),
        MessageClosed(at=12),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<|message|>x", header()),
        ("<|channel|>commentary<|message|>x", header("commentary")),
        ("<|channel|>commentary to=functions.f<|message|>x", header("commentary", "functions.f")),
        (" to=functions.f<|channel|>commentary<|message|>x", header("commentary", "functions.f")),
        (
            "<|channel|>commentary to=functions.f json<|message|>x",
            header("commentary", "functions.f", "json"),
        ),
        (
            "<|channel|>commentary to=functions.f <|constrain|>json<|message|>x",
            header("commentary", "functions.f", "json", constrained=True),
        ),
        (
            " to=functions.f<|channel|>commentary <|constrain|>json<|message|>x",
            header("commentary", "functions.f", "json", constrained=True),
        ),
        ("<|channel|>analysis to=python code<|message|>x", header("analysis", "python", "code")),
        ("<|channel|>analysis to=functions.f<|message|>x", header("analysis", "functions.f")),
    ],
)
def test_a_header_is_read_in_every_order(text: str, expected: MessageHeader) -> None:
    assert headers(text) == [expected]


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("", "header: role"),
        (" to=functions.f", "header: role"),
        ("<|channel|>", "header: channel"),
        ("<|channel|>final", "header: channel"),
        ("<|constrain|>", "header: content type"),
        ("<|constrain|>json<|channel|>", "header: channel"),
        ("<|channel|>final <|constrain|>", "header: content type"),
        ("<|constrain|>json<|message|>", "body"),
        ("<|message|>", "body"),
        ("<|channel|>final<|message|>", "body"),
        ("<|channel|>final<|message|><|start|>", "body"),
        ("<|message|><|end|>", "between messages"),
        ("<|message|><|return|>", "between messages"),
        ("<|message|><|call|>", "between messages"),
        ("<|message|><|end|><|start|>", "header: role"),
        ("<|message|><|end|><|message|>", "refused"),
        ("<|message|><|end|>x<|end|><|message|>", "refused"),
        ("<|message|><|end|>x<|start|>", "header: role"),
    ],
)
def test_the_state_before_the_next_token(text: str, state: str) -> None:
    tracker = HarmonyTracker()
    tracker.receive(encode(text))
    assert tracker.state == state


@pytest.mark.parametrize("stop", ["<|end|>", "<|return|>", "<|call|>"])
def test_three_markers_close_a_body(stop: str) -> None:
    assert track(f"<|channel|>final<|message|>x{stop}")[-1] == MessageClosed(at=4)


@pytest.mark.parametrize("marker", ["<|start|>", "<|channel|>", "<|message|>", "<|constrain|>"])
def test_other_markers_in_a_body_are_its_text(marker: str) -> None:
    assert track(f"<|channel|>final<|message|>x{marker}y<|end|>")[2:] == [
        BodyAdded(start=3, end=6),
        MessageClosed(at=6),
    ]


@pytest.mark.parametrize("marker", ["<|end|>", "<|return|>", "<|call|>"])
def test_stop_markers_in_a_header_are_its_text_and_close_nothing(marker: str) -> None:
    tracker = HarmonyTracker()
    assert tracker.receive(encode(f"<|channel|>fi{marker}")) == [HeaderOpened(at=-2)]
    assert tracker.state is State.CHANNEL


def test_return_after_end_is_refused_in_the_servers_words() -> None:
    events = track("<|channel|>analysis<|message|>x<|end|><|return|>")
    assert events[-1] == TokenRejected(
        at=5, state=State.BETWEEN, words="Unexpected token 200002 while expecting start token 200006"
    )


@pytest.mark.parametrize(
    ("head", "words"),
    [
        ("<|start|>assistantary<|channel|>final", "Unknown role: assistantary"),
        (
            "<|start|>assistant<|channel|>final to=functions.f json more words",
            "unexpected tokens remaining in message header",
        ),
        ("<|start|>assistant<|channel|>", "channel marker present but no channel value found in header"),
    ],
)
def test_a_bad_header_is_refused_at_its_message_marker(head: str, words: str) -> None:
    ids = encode(f"<|channel|>final<|message|>x<|end|>{head}<|message|>Hi<|end|>")
    refused = [event for event in HarmonyTracker().receive(ids) if isinstance(event, TokenRejected)]
    at = len(encode(f"<|channel|>final<|message|>x<|end|>{head}"))
    assert [(rejection.at, rejection.state in {State.ROLE, State.CHANNEL}) for rejection in refused] == [
        (at, True)
    ]
    assert refused[0].words.startswith(words)


def test_after_a_refusal_it_goes_on_at_the_next_start() -> None:
    refused = "<|channel|>analysis<|message|>x<|end|>oops<|message|>y"
    valid = "<|start|>assistant<|channel|>final<|message|>Hi<|return|>"
    after = [event for event in track(refused + valid) if not isinstance(event, TokenRejected)][4:]
    assert after == [
        HeaderOpened(at=8),
        HeaderClosed(at=12, header=header("final")),
        BodyAdded(start=13, end=14),
        MessageClosed(at=14),
    ]


@pytest.mark.parametrize("invalid_id", [-1, 2**31, 2**32, 2**80, 201088, 300000])
def test_an_id_that_is_no_token_is_refused_where_it_stands(invalid_id: int) -> None:
    tracker = HarmonyTracker()
    tracker.receive(encode("<|channel|>final<|message|>x<|end|>"))
    (refused,) = tracker.receive([invalid_id])
    assert isinstance(refused, TokenRejected)
    assert refused.at == 5
    assert str(invalid_id) in refused.words


def test_the_role_comes_from_the_stream_when_the_prompt_does_not_give_it() -> None:
    assert headers("<|start|>user<|message|>x", prompt="") == [header(role="user")]


def test_a_prompt_that_ends_in_a_header_or_a_body_is_continued() -> None:
    assert headers("nal<|message|>x", prompt="<|start|>assistant<|channel|>fi") == [header("final")]
    events = track("more<|return|>", prompt="<|start|>assistant<|channel|>final<|message|>Some ")
    assert events[-2:] == [BodyAdded(start=0, end=1), MessageClosed(at=1)]


def test_of_a_prompt_only_what_follows_its_last_start_matters() -> None:
    prompt = "<|start|>user<|message|>hi<|end|><|start|>assistant"
    assert headers("<|channel|>final<|message|>x", prompt=prompt) == [header("final")]


def test_a_prompt_that_ends_between_messages_expects_a_start() -> None:
    refused = track("x", prompt="<|start|>user<|message|>hi<|end|>")[-1]
    assert isinstance(refused, TokenRejected)
    assert refused.at == 0


PIECES = st.lists(
    st.sampled_from(
        [
            *(
                "<|start|>",
                "<|end|>",
                "<|message|>",
                "<|channel|>",
                "<|constrain|>",
                "<|return|>",
                "<|call|>",
            ),
            *(
                "assistant",
                "analysis",
                "final",
                "commentary",
                " to=functions.f",
                " json",
                "x",
                "assistantary",
            ),
            *(" hello", "👩‍🚀", "<|start|>assistant<|channel|>final<|message|>"),
        ]
    ),
    max_size=40,
)


def first_message_of_the_parser(ids: Sequence[int]) -> tuple[int, str] | None:
    parser = StreamableParser(encoding(), role=Role.ASSISTANT)
    for place, token_id in enumerate(ids):
        try:
            parser.process(token_id)
        except HarmonyError as error:
            return place, str(error)
    return None


@given(PIECES)
def test_the_first_rejection_has_the_first_message_of_the_parser(pieces: list[str]) -> None:
    ids = encode("".join(pieces))
    refused = [event for event in HarmonyTracker().receive(ids) if isinstance(event, TokenRejected)]
    assert first_message_of_the_parser(ids) == ((refused[0].at, refused[0].words) if refused else None)


HALF = encode("👩\u200d🚀")[:1]
"""A token that only begins a character."""
ENDLESS = [encode("<|start|>assistant"), [200_013], [201_088]]
REPEATED = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "<|start|>assistant<|channel|>final<|message|>",
                "<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>",
                "<|start|>assistantary<|channel|>final<|message|>",
                "<|start|>functions.f to=assistant<|channel|>commentary<|message|>",
            ]
        ).map(encode),
        st.lists(st.sampled_from([encode(" hello"), HALF, encode("👋"), *ENDLESS]), max_size=3),
        st.sampled_from([*map(encode, ("<|end|>", "<|call|>", "<|return|>")), []]),
    ),
    min_size=2,
    max_size=8,
)


@given(REPEATED)
def test_a_header_that_comes_again_changes_nothing(
    messages: list[tuple[list[int], list[list[int]], list[int]]],
) -> None:
    ids = [*encode("<|channel|>final<|message|>Hi<|end|>")]
    for head, bodies, stop in messages:
        ids += [*head, *(token for body in bodies for token in body), *stop]
    at_once, single = HarmonyTracker(), HarmonyTracker()
    events = at_once.receive(ids)
    refused = [event for event in events if isinstance(event, TokenRejected)]
    assert first_message_of_the_parser(ids) == ((refused[0].at, refused[0].words) if refused else None)
    # Token by token no header is ever known as a whole, and the reference parser is fed each.
    token_by_token = [event for token in ids for event in single.receive([token])]
    assert [event for event in events if not isinstance(event, BodyAdded)] == [
        event for event in token_by_token if not isinstance(event, BodyAdded)
    ]
    assert at_once.state is single.state


@pytest.mark.parametrize(("size", "is_read"), [(4096, True), (4097, False)])
def test_a_header_is_read_up_to_a_bound(size: int, is_read: bool) -> None:
    head, word, tail = encode(" to=functions."), encode(" a")[-1:], encode("<|message|>")
    header = head + word * (size - len(head) - len(tail)) + tail
    last = HarmonyTracker().receive(header)[-1]
    assert isinstance(last, TokenRejected)  # either as too long, or for its words
    assert (last.at, "4,096" in last.words) == (size - 1, not is_read)


@pytest.mark.slow
def test_the_cache_of_headers_is_bounded_and_the_others_are_read_as_well() -> None:
    names = [f"f{number}" for number in range(5000)]
    ids = encode("<|channel|>final<|message|>Hi<|end|>")
    for name in names:
        ids += encode(f"<|start|>assistant<|channel|>commentary to=functions.{name}<|message|>{{}}<|call|>")
    events = HarmonyTracker().receive(ids)
    read = [event.header.recipient for event in events if isinstance(event, HeaderClosed)]
    assert read == [None, *(f"functions.{name}" for name in names)]
    assert len(tracker._accepted) <= 4096


def test_the_reference_parser_is_fed_neither_bodies_nor_cached_headers() -> None:
    call = encode("<|start|>assistant<|channel|>commentary to=functions.f<|message|>{}<|call|>")
    tracker = HarmonyTracker()
    tracker.receive(call[2:] + call * 100)
    assert len(tracker._parser.tokens) < 3 * len(call), "it takes fifty times as long for a header as we do"


def test_the_reference_parser_accepts_every_id_of_the_vocabulary_in_a_body() -> None:
    parser = StreamableParser(encoding(), role=Role.ASSISTANT)
    for token_id in encode("<|channel|>final<|message|>"):
        parser.process(token_id)
    for token_id in set(range(VOCABULARY_SIZE)) - {Marker.END, Marker.RETURN, Marker.CALL}:
        parser.process(token_id)


@given(st.lists(st.sampled_from([*encode("🙂👩\u200d🚀é"), 200, 220, 2**32 - 1]), max_size=8))
def test_the_reference_parser_closes_every_body_also_within_a_character(body: list[int]) -> None:
    parser = StreamableParser(encoding(), role=Role.ASSISTANT)
    ids = [*encode("<|channel|>final<|message|>"), *body, *encode("<|end|><|start|>assistant<|message|>")]
    for token_id in ids:
        parser.process(token_id)
    assert parser.current_channel is None


@given(
    PIECES,
    st.lists(st.tuples(st.integers(0, 80), st.sampled_from([-1, 2**32, 2**70])), max_size=2),
    st.lists(st.integers(0, 80), max_size=8),
)
@example(["<|message|>", "<|start|>", "<|end|>"], [(1, -1)], [2])
def test_the_transcript_does_not_depend_on_how_tokens_are_cut(
    pieces: list[str], outside: list[tuple[int, int]], cuts: list[int]
) -> None:
    ids = encode("".join(pieces))
    for place, number in outside:
        ids.insert(place, number)
    transcript = Transcript()
    transcript.receive(HarmonyTracker().receive(ids), len(ids))
    parts, tracker = Transcript(), HarmonyTracker()
    edges = [0, *sorted(min(cut, len(ids)) for cut in cuts), len(ids)]
    for start, end in pairwise(edges):
        parts.receive(tracker.receive(ids[start:end]), end)
    assert (parts.messages, parts.rejected_runs) == (transcript.messages, transcript.rejected_runs)


WORDS = st.text(st.characters(codec="utf-8", exclude_characters="<"), min_size=1, max_size=30)
MESSAGES = st.lists(
    st.tuples(
        st.sampled_from(["analysis", "commentary", "final"]),
        st.sampled_from([None, "functions.get_weather", "functions.f", "python", "browser.search"]),
        st.sampled_from([None, "json", "code"]),
        WORDS,
    ),
    min_size=1,
    max_size=4,
)


@given(MESSAGES)
def test_rendered_conversations_are_read_as_the_reference_parser_reads_them(
    parts: list[tuple[str, str | None, str | None, str]],
) -> None:
    messages = []
    for channel, recipient, content_type, text in parts:
        message = Message.from_role_and_content(Role.ASSISTANT, text).with_channel(channel)
        if recipient is not None:
            message = message.with_recipient(recipient)
        if content_type is not None:
            message = message.with_content_type(content_type)
        messages.append(message)
    ids = encoding().render_conversation(Conversation.from_messages(messages))[2:]
    transcript = Transcript()
    transcript.receive(HarmonyTracker().receive(ids), len(ids))
    parsed = encoding().parse_messages_from_completion_tokens(ids, Role.ASSISTANT)
    assert parsed
    assert not transcript.rejected_runs
    assert all(message.complete for message in transcript.messages)
    assert [
        (
            message.header.channel,
            message.header.recipient,
            message.header.content_type,
            text_of(ids[message.body : message.body_end]),
        )
        for message in transcript.messages
    ] == [
        (
            message.channel,
            message.recipient,
            (message.content_type or "").removeprefix("<|constrain|>") or None,
            "".join(part.text for part in message.content),
        )
        for message in parsed
    ]


@pytest.mark.parametrize("invalid_id", [2**40, -1])
def test_an_id_that_no_parser_takes_is_refused_where_it_stands(invalid_id: int) -> None:
    events = HarmonyTracker().receive([*encode("<|channel|>final<|message|>a"), invalid_id, *encode("b")])
    (refused,) = [event for event in events if isinstance(event, TokenRejected)]
    assert (refused.at, refused.state) == (4, State.BODY)
