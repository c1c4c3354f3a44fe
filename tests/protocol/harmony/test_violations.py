"""The table of violations: complete, and in agreement with the reference parser."""

from openai_harmony import HarmonyError, Role, StreamableParser

from inspector.protocol.harmony.tracker import HarmonyTracker
from inspector.protocol.harmony.violations import (
    EXPECTED,
    TABLE,
    Place,
    TokenKind,
    Violation,
    between,
    kind_of,
    of_body,
    of_header,
)
from inspector.protocol.harmony.vocab import ASSISTANT, VOCABULARY_SIZE, Marker, encode, encoding

EXAMPLES = {
    TokenKind.ENDOFTEXT: 199999,
    TokenKind.ROLE: ASSISTANT,
    TokenKind.TO: encode(" to")[0],
    TokenKind.TEXT: encode("x")[0],
    TokenKind.OTHER: 200004,
    **{TokenKind(marker.text): int(marker) for marker in Marker},
}
BEFORE = {
    Place.OPENING: "",
    Place.ROLE: "<|channel|>final<|message|>a<|end|><|start|>",
    Place.NAMED_ROLE: "<|channel|>final<|message|>a<|end|><|start|>assistant",
    Place.CHANNEL: "<|channel|>",
    Place.NAMED_CHANNEL: "<|channel|>final",
    Place.CONTENT_TYPE: "<|channel|>final<|constrain|>",
    Place.BODY: "<|channel|>final<|message|>",
    Place.AFTER_END: "<|channel|>final<|message|>a<|end|>",
    Place.AFTER_RETURN: "<|channel|>final<|message|>a<|return|>",
    Place.AFTER_CALL: "<|channel|>final<|message|>a<|call|>",
}
"""A completion of `<|start|>assistant` that stops at each place."""
AFTER = (Place.AFTER_END, Place.AFTER_RETURN, Place.AFTER_CALL)


def rejected(ids: list[int]) -> bool:
    parser = StreamableParser(encoding(), role=Role.ASSISTANT)
    try:
        for token_id in ids:
            parser.process(token_id)
    except HarmonyError:
        return True
    return False


def test_table_has_an_entry_for_every_place_and_kind() -> None:
    assert set(TABLE) == set(Place) == set(EXPECTED) == set(BEFORE)
    assert all(set(row) == set(TokenKind) for row in TABLE.values())
    assert set(EXAMPLES) == set(TokenKind)


def test_kind_of_a_token_is_that_of_its_text() -> None:
    assert {kind: kind_of(token_id) for kind, token_id in EXAMPLES.items()} == {
        kind: kind for kind in TokenKind
    }
    assert kind_of(VOCABULARY_SIZE) is TokenKind.OTHER
    assert kind_of(-1) is TokenKind.OTHER


def test_between_messages_the_table_takes_what_the_reference_parser_takes() -> None:
    for place in AFTER:
        for kind, token_id in EXAMPLES.items():
            ids = [*encode(BEFORE[place]), token_id]
            violated = between(ids, len(ids) - 1)
            assert rejected(ids) is (violated is not None), (place, kind)
            assert violated is None or violated.place is place


def test_a_body_has_text_up_to_a_stop_token() -> None:
    for kind, token_id in EXAMPLES.items():
        ids = [*encode(BEFORE[Place.BODY]), token_id]
        accepted = isinstance(TABLE[Place.BODY][kind], Place)
        in_body = isinstance(TABLE[Place.BODY][kind], Violation) or TABLE[Place.BODY][kind] is Place.BODY
        assert (of_body(ids, 3, 4) is None) is accepted or not in_body, kind


def test_of_a_header_the_token_that_its_place_cannot_take_is_named() -> None:
    headers = [place for place in Place if place is not Place.BODY and place not in AFTER]
    for place in headers:
        for kind, token_id in EXAMPLES.items():
            before = encode(BEFORE[place])
            start = max((at for at, token_id in enumerate(before) if token_id == Marker.START), default=0)
            ids = [*before, token_id, *encode("x<|message|>")]
            violated = of_header(ids, start, len(ids), in_prompt=start == 0)
            outcome = TABLE[place][kind]
            if outcome is Violation.PROMPT_REPEATED:  # of another role it is no repetition
                outcome = Violation.SECOND_START
            if isinstance(outcome, Violation):
                assert violated is not None
                assert (violated.violation, violated.place, violated.at) == (outcome, place, len(before))
            else:
                assert violated is None or violated.at != len(before), (place, kind)


def test_every_rejected_header_has_a_violation() -> None:
    words = (
        "",
        "x",
        " to=functions.f",
        " to=a to=b",
        "ary",
        "assistant",
        " json",
        " json json",
        "\u00e9"[:1],
    )
    for place in (
        Place.OPENING,
        Place.ROLE,
        Place.NAMED_ROLE,
        Place.CHANNEL,
        Place.NAMED_CHANNEL,
        Place.CONTENT_TYPE,
    ):
        for text in words:
            ids = encode(f"{BEFORE[place]}{text}<|message|>")
            assert not rejected(ids) or HarmonyTracker().receive(ids)
            if rejected(ids):
                start = max((at for at, token_id in enumerate(ids) if token_id == Marker.START), default=0)
                assert of_header(ids, start, len(ids), in_prompt=start == 0) is not None, (place, text)


def test_a_channels_name_behind_another_special_token_alone_is_a_swapped_one() -> None:
    header = {
        "<|constrain|>final<|message|>": Violation.SWAPPED_CHANNEL,
        " <|constrain|> analysis<|message|>": Violation.SWAPPED_CHANNEL,
        "<|start|>commentary<|message|>": Violation.SWAPPED_CHANNEL,
        "<|constrain|>json<|message|>": None,
        "<|channel|>commentary <|constrain|>final<|message|>": None,
        " <|channel|>final<|message|>": None,
        "No <|constrain|>final<|message|>": Violation.NO_HEADER,
        "  ": Violation.NO_HEADER,
    }
    for text, violation in header.items():
        ids = encode(text)
        violated = of_header(ids, 0, len(ids), accepted=True, in_prompt=True)
        assert (violated and violated.violation) is violation, text
