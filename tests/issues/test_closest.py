"""Where no message is known, three entries in similar words are shown; they claim nothing."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.issues.catalogue.table import catalogue, read_catalogue
from inspector.issues.diagnosis import DiagnosisOutcome
from inspector.issues.json_rows import diagnosis_row
from inspector.issues.texts.diagnose import closest, diagnose_text
from tests.support.entries import ENTRY, written

DESCRIPTION = "content is null and everything is in reasoning, finish_reason is length, gpt-oss on vLLM"


def test_words_of_an_entry_lead_close_to_it() -> None:
    assert "truncated-by-max-tokens" in [issue.id for issue in closest(DESCRIPTION)]


def test_inflections_do_not_matter() -> None:
    plain, inflected = closest("truncate response"), closest("truncated responses")
    assert plain == inflected


def test_a_title_is_closest_to_its_entry() -> None:
    astray = [issue.id for issue in catalogue() if issue not in closest(issue.title)]
    assert astray == []


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("My tool calls arrive with empty arguments", "stream-interval-tool-arguments"),
        ("the function arguments are empty", "stream-interval-tool-arguments"),
        ("reasoning leaks into content", "chat-stream-multi-channel-chunk"),
        ("the reasoning is empty", "reasoning-parser-missing"),
        ("response is cut off", "truncated-by-max-tokens"),
        ("special tokens in output", "harmony-not-parsed"),
    ],
)
def test_the_words_of_users_lead_first_to_the_entry(text: str, first: str) -> None:
    assert closest(text)[0].id == first


def test_a_symptom_is_closest_to_its_entry() -> None:
    astray = [
        (issue.id, words)
        for issue in catalogue()
        for words in issue.symptoms
        if closest(words)[:1] != (issue,)
    ]
    assert astray == []


def test_a_description_names_no_cause_and_blames_nobody() -> None:
    diagnosis = diagnose_text(DESCRIPTION)
    assert diagnosis.outcome is DiagnosisOutcome.NOTHING
    assert (diagnosis.answers, diagnosis.sides, diagnosis.failures) == ((), (), ())
    rows = diagnosis_row("text", diagnosis)["closest"]
    assert len(rows) == 3
    assert all(row["id"] and row["title"] and row["settle"] for row in rows)


def test_every_entry_has_one_thing_that_settles_it() -> None:
    diagnosis = diagnose_text(DESCRIPTION)
    assert [issue.id for issue in catalogue() if not diagnosis.settles(issue).strip()] == []


@pytest.mark.parametrize(
    "text",
    [
        "openai_harmony.HarmonyError: Unknown role: final",
        "ollama run gpt-oss:20b fails with tools",
        'INFO 11-20 22:47:28 [x.py:1] a\nINFO 11-20 22:47:29 [x.py:1] b "POST /v1/responses HTTP/1.1" 200 OK',
    ],
)
def test_where_an_answer_or_a_healthy_log_is_nothing_is_close(text: str) -> None:
    assert diagnose_text(text).closest == ()


HOSTILE = [
    *("", " ", "\0", '"', "title:x", "NEAR(a b)", "a* OR ^b", ") (", "NOT AND OR", "{cause}: -x"),
    *("'; DROP TABLE entries; --", "word " * 10_000, "\ud800", "ключ", "x" * 100_000),
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_query_is_only_words(text: str) -> None:
    assert len(closest(text)) <= 3
    assert len(closest("content null")) == 3


@given(st.text(max_size=200))
def test_any_text_is_a_query(text: str) -> None:
    assert len(closest(text)) <= 3


def test_another_catalogue_has_its_own_entries() -> None:
    issues = read_catalogue(written({**ENTRY, "title": "The moon is in the seventh house"}))
    assert closest("the seventh moon", issues) == issues
    assert closest("zebra", issues) == ()


def test_threads_share_the_index() -> None:
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(closest, [DESCRIPTION] * 64))
    assert answers == [closest(DESCRIPTION)] * 64


def test_without_fts5_nothing_is_close(monkeypatch: pytest.MonkeyPatch) -> None:
    class Without(sqlite3.Connection):
        def execute(self, *_: object) -> sqlite3.Cursor:
            raise sqlite3.OperationalError("no such module: fts5")

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, **k, factory=Without))
    assert closest(DESCRIPTION, list(catalogue())) == ()
