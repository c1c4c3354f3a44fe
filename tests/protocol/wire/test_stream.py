from typing import Any

import pytest

from inspector.protocol.wire.stream import ServerError, Stream, brief, error_in, token_ids


@pytest.mark.parametrize(
    ("payload", "status", "expected"),
    [
        (
            {"error": {"message": "m", "type": "t", "code": 4}},
            None,
            ServerError(event=3, message="m", type="t", code=4),
        ),
        ({"error": "m"}, 500, ServerError(event=3, message="m", code=500)),
        ({"object": "error", "message": "m", "code": 4}, None, ServerError(event=3, message="m", code=4)),
        ({"detail": "Not Found"}, 404, ServerError(event=3, message="Not Found", code=404)),
        ({"message": "m"}, 400, ServerError(event=3, message="m", code=400)),
        ({"message": "m"}, 200, None),
        ({"error": None}, None, None),
        ({"error": False}, None, None),
        ([], 500, None),
    ],
)
def test_an_error_is_told_in_many_forms(
    payload: object, status: int | None, expected: ServerError | None
) -> None:
    assert error_in(payload, 3, status) == expected


def test_the_same_notice_again_only_counts() -> None:
    stream = Stream()
    for event in (3, 5, 8):
        stream.notice("odd", event, f"detail of {event}", "content")
    (notice,) = stream.notices.values()
    assert (notice.event, notice.last, notice.times, notice.detail) == (3, 8, 3, "detail of 3")


@pytest.mark.parametrize(
    ("value", "expected"),
    [([1, 2], [1, 2]), ([7], [7]), ([True], []), ([1, "2", 3.0, None, 4], [1, 4]), ("12", []), (None, [])],
)
def test_only_whole_numbers_are_ids(value: object, expected: list[int]) -> None:
    assert token_ids(value) == expected


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        ({"completion_tokens": 0}, 0),
        ({"output_tokens": 7}, 7),
        ({"completion_tokens": -1}, None),
        ({"output_tokens": -(2**63)}, None),
        ({"output_tokens": True}, None),
        ({"output_tokens": [7]}, None),
        ({"prompt_tokens": 7}, None),
        (None, None),
    ],
)
def test_a_count_is_a_whole_number_from_0(usage: dict[str, Any] | None, counted: int | None) -> None:
    assert Stream(usage=usage).counted == counted


def test_a_value_from_outside_is_told_briefly() -> None:
    deep: list[object] = []
    for _ in range(5000):
        deep = [deep]
    assert (brief(deep), brief({}), brief("x" * 99), brief(None)) == ("a list", "an object", "x" * 40, "None")


def test_an_error_message_that_nests_without_end_is_told_briefly() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    error = error_in({"error": {"message": deep, "code": [deep]}}, 3, 500)
    assert error == ServerError(event=3, message="a list", code=500)
    assert error_in({"error": {"message": {"a": "é"}}}, 3) == ServerError(event=3, message='{"a": "é"}')
