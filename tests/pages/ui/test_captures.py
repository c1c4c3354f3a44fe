"""Uploads in a session: names, several captures in a file, files that cannot be read."""

import json
from dataclasses import replace

import pytest

import inspector
from inspector import Kind
from inspector.capture.capture import render
from inspector.files.store import FIXTURES, builtin
from pages.ui.captures import chosen, first_selection, labels, names, open_file, summary, title
from pages.ui.state import Opened, Selection, Session
from tests.support.pages import as_file
from tests.support.streams import Step, chat

LEAK = "chat-tool-call-leak-vllm-0.14.1"
OPENING: Step = ("<|channel|>final<|message|>", {})
CLOSED: Step = ("<|return|>", {})


def content(text: str = "Hi") -> bytes:
    capture = chat([OPENING, (text, {"content": text}), CLOSED])
    return "".join(f"{line}\n" for line in render(capture)).encode()


def test_names_begin_with_uploads_newest_first() -> None:
    session = Session()
    assert open_file(session, "a.jsonl", content()) == ""
    assert open_file(session, "b.jsonl", content()) == ""
    assert names(session)[:3] == ["b.jsonl", "a.jsonl", LEAK]


def test_another_file_of_the_same_name_does_not_replace_the_first() -> None:
    session = Session()
    open_file(session, "a.jsonl", content("Hi"))
    open_file(session, "a.jsonl", content("Ho"))
    open_file(session, "a.jsonl", content("Hi"))
    assert len(session.opened) == 2


def test_a_file_cannot_take_the_name_of_a_built_in_capture() -> None:
    session = Session()
    open_file(session, LEAK, content())
    (name,) = session.opened
    assert name.startswith(f"{LEAK} (")


def test_a_file_with_several_captures_gives_each_a_number() -> None:
    entry = {
        "startedDateTime": "2026-01-01T00:00:00Z",
        "request": {"url": "http://localhost/v1/chat/completions", "method": "POST"},
        "response": {"status": 200, "content": {"mimeType": "text/event-stream", "text": "data: [DONE]\n\n"}},
    }
    session = Session()
    assert open_file(session, "two.har", json.dumps({"log": {"entries": [entry, entry]}}).encode()) == ""
    assert list(session.opened) == ["two.har #1", "two.har #2"]
    assert session.capture == "two.har #1"


def test_open_file_that_is_invalid_changes_nothing() -> None:
    session = Session()
    assert "PNG image" in open_file(session, "x.png", b"\x89PNG\r\n\x1a\n")
    assert (session.opened, session.capture) == ({}, None)


def test_title_describes_a_built_in_capture() -> None:
    assert title(Session(), LEAK).startswith(f"Reasoning leaked, tool call broken · {LEAK} · Two reasoning")


def test_a_capture_of_the_matrix_is_not_called_a_file_of_the_user() -> None:
    session, name = Session(), "vllm-0.23.0-si3/chat-tool_call"
    capture = chat([OPENING, ("Hi", {"content": "Hi"}), CLOSED])
    session.open([Opened(name=name, digest=f"matrix {name}", capture=capture)])
    assert title(session, name) == f"{name} · matrix"
    assert summary(session, name)["origin"] == "matrix"


def test_labels_have_the_verdicts_known_without_an_audit() -> None:
    session = Session()
    assert open_file(session, "mine.jsonl", as_file(chat([OPENING, ("Hi", {}), CLOSED]))) == ""
    label = labels(session)
    assert label("mine.jsonl") == "✕ mine.jsonl · your file"
    assert {label(row.name).partition(" ")[0] for row in builtin()} == {"✕", "!", "?", "✓"}
    assert label(LEAK).startswith("✕ Reasoning leaked")


@pytest.mark.slow
def test_a_long_capture_is_not_audited_for_its_label() -> None:
    session = Session()
    long = [("Hi", {"content": "Hi"})] * 20_001
    assert open_file(session, "long.jsonl", as_file(chat([OPENING, *long, CLOSED]))) == ""
    assert labels(session)("long.jsonl") == "long.jsonl · your file"


def test_the_first_selection_is_the_first_error_with_tokens() -> None:
    capture = inspector.load(next(row.path for row in builtin() if row.name == LEAK))
    assert first_selection(inspector.inspect(capture), 0) == Selection(4, 0)
    clean = inspector.inspect(chat([OPENING, ("Hi", {"content": "Hi"}), CLOSED]))
    assert first_selection(clean, 0) == Selection()
    lost = inspector.inspect(chat([OPENING, ("Hi", {}), CLOSED], done=False))
    assert lost.findings[first_selection(lost, 0).finding or 0].token_start == first_selection(lost, 0).token


def test_first_selection_prefers_a_cause_to_its_consequences() -> None:
    capture = inspector.load(next(row.path for row in builtin() if row.name == LEAK))
    inspection = inspector.inspect(capture)
    turned = replace(inspection, findings=list(reversed(inspection.findings)))
    assert turned.findings[0].kind is Kind.INVALID_TOOL_ARGUMENTS
    assert first_selection(turned, 0) == Selection(21, 1)
    alone = replace(inspection, findings=[turned.findings[0]])
    assert first_selection(alone, 0) == Selection(21, 0)


def test_a_long_capture_has_its_sign_once_it_was_audited() -> None:
    session = Session()
    opened = Opened(name="long", digest="long", capture=inspector.load(FIXTURES / f"{LEAK}.jsonl"))
    session.open([opened])  # as `take` does with more events than are audited at once
    assert labels(session)("long").startswith("long")
    assert chosen(session, "long") is not None
    assert labels(session)("long").startswith("✕ ")
