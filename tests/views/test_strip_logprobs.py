"""Log probabilities of the strip: matched to cells by text, bounded, absent where nothing is told."""

import json
from typing import Any

import pytest

import inspector
from inspector.capture.capture import Capture, Endpoint, Event, Header
from inspector.files.store import builtin
from inspector.views.strip import strip


def entry(text: str, logprob: float, **alternatives: float) -> dict[str, Any]:
    top = [{"token": name, "logprob": value} for name, value in {text: logprob, **alternatives}.items()]
    return {"token": text, "logprob": logprob, "bytes": None, "top_logprobs": top}


def chat(*chunks: tuple[list[int], str, list[dict[str, Any]] | None]) -> Capture:
    events = []
    for place, (ids, text, logprobs) in enumerate(chunks):
        content = None if logprobs is None else {"content": logprobs}
        choice = {
            "index": 0,
            "delta": {"content": text} if text else {},
            "token_ids": ids,
            "logprobs": content,
        }
        events.append(Event(data=json.dumps({"choices": [choice]}), at_s=place / 10))
    return Capture(header=Header(endpoint=Endpoint.CHAT), events=events)


def logprobs_of(capture: Capture) -> Any:
    return strip(inspector.inspect(capture), key="x").get("logprobs")


def test_logprobs_are_matched_to_their_tokens() -> None:
    columns = logprobs_of(
        chat(
            ([200005, 17196, 200008], "", None),
            ([12194, 1354], "Hi there", [entry("Hi", -0.1, Hey=-2.5), entry(" there", -0.5)]),
            ([200002], "", None),
        )
    )
    assert columns["values"] == [None, None, None, -0.1, -0.5, None]
    assert columns["top"] == {"3": [("Hey", -2.5)]}


def test_logprobs_of_omitted_tokens_are_none() -> None:
    ids, text = [200005, 17196, 200008, 12194, 1354], "Hi there"
    columns = logprobs_of(
        chat((ids, text, [entry("nothing", -3.0), entry("Hi", -0.1), entry(" there", -0.5)]))
    )
    assert columns["values"] == [None, None, None, -0.1, -0.5]


def test_logprobs_of_tokens_named_by_id() -> None:
    columns = logprobs_of(chat(([200005, 17196, 200008, 12194], "Hi", [entry("token_id:12194", -0.25)])))
    assert columns["values"][3] == -0.25
    assert columns["top"] == {}


def test_logprobs_of_completions() -> None:
    row = {"tokens": ["Hi", " there"], "token_logprobs": [None, -0.5], "top_logprobs": [None, {" you": -1.5}]}
    choice = {"index": 0, "text": "Hi there", "token_ids": [12194, 1354], "logprobs": row}
    event = Event(data=json.dumps({"choices": [choice]}), at_s=0.1)
    columns = logprobs_of(Capture(header=Header(endpoint=Endpoint.COMPLETIONS), events=[event]))
    assert columns == {"values": [None, -0.5], "top": {"1": [(" you", -1.5)]}}


@pytest.mark.parametrize(
    "logprobs",
    [
        None,
        [],
        [{"token": "Hi", "logprob": "high"}],
        [{"token": 3, "logprob": -1}],
        [{"token": "Hi", "logprob": True}],
        [{"token": "Hi", "logprob": 0.5}],
        ["Hi"],
    ],
)
def test_invalid_logprobs_are_none(logprobs: list[Any] | None) -> None:
    assert logprobs_of(chat(([200005, 17196, 200008, 12194], "Hi", logprobs))) is None


def test_logprob_alternatives_are_bounded() -> None:
    alternatives = {f"{'w' * 100}{n}": -1.0 - n for n in range(20)}
    columns = logprobs_of(chat(([200005, 17196, 200008, 12194], "Hi", [entry("Hi", -0.1, **alternatives)])))
    [row] = columns["top"].values()
    assert [value for _, value in row] == [-1.0, -2.0, -3.0, -4.0, -5.0]
    assert {len(text) for text, _ in row} == {64}


def test_built_in_captures_have_no_logprobs() -> None:
    for row in builtin()[:3]:
        assert logprobs_of(inspector.load(row.path)) is None
