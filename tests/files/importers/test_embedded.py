"""A response in a text: an issue with fenced blocks, a terminal, a log."""

import json

import pytest

from inspector.files.importers import sniff_and_read
from inspector.inspection.inspection import inspect
from inspector.protocol.wire.excerpt import Excerpt
from tests.support.foreign import CHAT, known, read, refusal, sse
from tests.support.forms import BODY, COMPLETION, FORMS, IDS, STREAM

PRETTY = json.dumps(BODY, indent=2)
RAW = COMPLETION.removesuffix("<|return|>")


def events(text: str | bytes) -> list[str]:
    return [event.data for event in read(text).events]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("It fails.\n\n```json\n", "\n```\nWhy?\n"),
        ("~~~~\n", "\n~~~~\n"),
        ("See:\n```\n", ""),
        ("It fails:\n", "\nWhy?\n"),
        ("$ curl host | jq\n", ""),
    ],
)
def test_json_in_a_text_is_the_same_as_the_json_alone(before: str, after: str) -> None:
    capture = read(before + PRETTY + after)
    assert [json.loads(event.data) for event in capture.events] == [BODY]
    first = before.count("\n") + 1
    assert capture.notes == (f"Read from lines {first} to {first + PRETTY.count(chr(10))} of a text.",)
    assert inspect(capture).findings == inspect(read(PRETTY)).findings


def test_quoted_blocks_lose_their_quote() -> None:
    block = "\n".join(f"> {line}" for line in f"```json\n{PRETTY}\n```".splitlines())
    assert [json.loads(data) for data in events(f"He wrote:\n\n{block}\n")] == [BODY]


@pytest.mark.parametrize("prompt", ["", "$ curl -N host\n"])
def test_an_event_stream_in_a_fence_has_its_events(prompt: str) -> None:
    text = f"It leaks:\n\n```\n{prompt}{STREAM}```\nSee above...\n\n...\n"
    capture = read(text)
    assert [event.data for event in capture.events] == [event.data for event in known(CHAT).events]
    assert inspect(capture).reading.excerpt is None


def test_what_is_read_of_several_forms_is_said() -> None:
    request = json.dumps({"model": "m", "messages": []})
    text = (
        f"a\n```json\n{request}\n```\n```\nINFO start\n```\n```json\n{PRETTY}\n```\n```\n{COMPLETION}\n```\n"
    )
    first, second = sniff_and_read(text.encode(), "f")
    assert json.loads(first.events[0].data) == BODY
    assert json.loads(second.events[0].data) == IDS
    assert (
        second.notes[-1] == "Nothing else was read of it: line 3 and line 6 in a form that is not supported."
    )


def test_numbers_in_a_text_are_no_token_ids_without_a_special_token() -> None:
    assert "unrecognized format" in refusal("Port and size:\n```\n8000 16 32 64\n```\n")
    assert json.loads(events(f"The IDs:\n```\n{IDS}\n```\n")[0]) == IDS


def test_the_log_of_llama_server_has_the_last_text_and_proves_nothing_by_its_end() -> None:
    capture = read(FORMS["log of llama"])
    inspection = inspect(capture)
    assert json.loads(capture.events[0].data) == IDS[:-1]
    assert (inspection.findings, inspection.reading.excerpt) == ([], Excerpt.END)
    assert "broke off" not in inspection.verdict.sentence
    error = {"error": {"code": 500, "message": f"Failed to parse input at pos 9: {RAW}"}}
    for text in (
        f"srv operator(): {json.dumps(error)}\n",
        f"E Failed to parse input at pos 9: {RAW}\n",
    ):
        assert json.loads(events(text)[0]) == IDS[:-1]
        assert len(sniff_and_read(FORMS["log of llama"] + text.encode(), "f")) == 1


def test_a_log_that_begins_with_a_time_in_brackets_is_no_json() -> None:
    for line in (
        "[10/11/2026-01:02:03] [TRT-LLM] [E] failed",
        "[2026-10-11 01:02:03] INFO",
        "[INFO] started",
    ):
        assert refusal(f"{line}\n").startswith("f: unrecognized format")


def test_steps_that_a_program_prints_are_one_completion() -> None:
    for text in (
        FORMS["printed steps"].decode(),
        "".join(f"x token_ids={IDS[:stop]} y\n" for stop in (2, 5, len(IDS))),
    ):
        capture = read(text)
        assert json.loads(capture.events[0].data) == IDS
    printed = "".join(f"turn token_ids={IDS}!\n" for _ in range(2))
    assert [json.loads(capture.events[0].data) for capture in sniff_and_read(printed.encode(), "f")] == [
        IDS,
        IDS,
    ]


def test_prose_about_token_ids_holds_none() -> None:
    assert refusal("It prints `token_ids=[...]` and [1, 2].\n").startswith("f: unrecognized format")


def test_a_stream_below_a_terminals_lines_is_read() -> None:
    assert events(b"$ curl -N ...\n" + sse(known(CHAT))) == [event.data for event in known(CHAT).events]
