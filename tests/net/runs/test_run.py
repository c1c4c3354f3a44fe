import gc
import tracemalloc
from pathlib import Path

import pytest

from inspector.capture.capture import End, Event
from inspector.net.runs.registry import Registry
from inspector.net.runs.run import TAIL, Look
from inspector.protocol.harmony.vocab import encode
from tests.support.streams import chat, chat_chunk

ENVELOPE = '"id": "chatcmpl-8f8e7d6c5b4a39281706f5e4d3c2b1a0", "created": 1700000000, "object"'
CAPTURE = chat(
    [
        ("<|channel|>analysis<|message|>", {}),
        ("One", {"reasoning": "One"}),
        (" two", {"reasoning": " two"}),
        ("<|end|>", {}),
    ],
    gap_s=0.5,
)


@pytest.mark.slow
def test_a_token_costs_a_run_at_most_400_bytes() -> None:
    words = [(ids, f" w{number}") for number in range(20_000) if (ids := encode(f" {number % 1000}"))]
    registry = Registry(None)
    run = registry.opened(CAPTURE.header)
    live_run = registry.get(run)
    assert live_run is not None
    registry.event(run, CAPTURE.events[0])

    def receive(start: int, end: int) -> None:
        for number in range(start, end):
            ids, text = words[number]
            line = chat_chunk(ids, {"reasoning": text}).replace('"object"', ENVELOPE)
            registry.event(run, Event(line, number * 0.001))

    receive(0, 2_000)
    gc.collect()
    tracemalloc.start()
    tokens = live_run.pace().tokens
    receive(2_000, 20_000)
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    per_token = grown / (live_run.pace().tokens - tokens)
    assert per_token < 400, f"{per_token:.0f} bytes a token"


def test_figures_follow_the_arrivals() -> None:
    registry = Registry(None)
    run = registry.get(registry.opened(CAPTURE.header))
    assert run is not None
    for event in CAPTURE.events:
        registry.event(run.id, event)
    pace = run.pace()
    assert (pace.first_token_s, pace.last_token_s) == (0.5, 2.0)
    assert (pace.gap_p50_s, pace.gap_p95_s) == (0.5, 0.5)
    assert pace.tokens == 6
    assert pace.tokens_per_s == (6 - 3) / 1.5


def test_a_reading_does_not_change_while_the_run_grows() -> None:
    registry = Registry(None)
    run = registry.get(registry.opened(CAPTURE.header))
    assert run is not None
    registry.event(run.id, CAPTURE.events[0])
    before = run.reading()
    registry.event(run.id, CAPTURE.events[1])
    registry.ended(run.id, End(at_s=3.0, cut=False))
    assert len(before.choice.tokens) == 3
    assert not before.ended
    after = run.reading()
    assert len(after.choice.tokens) == 4
    assert after.ended


def test_texts_of_a_growing_run_are_those_of_its_reading_whatever_arrives_between_two_looks() -> None:
    capture = chat(
        [
            ("<|channel|>analysis<|message|>", {}),
            *((f" {number}", {"reasoning": f" {number}"}) for number in range(900)),
            ("<|end|><|start|>assistant<|channel|>final<|message|>", {}),
            ("Yes", {"content": "Yes"}),
        ]
    )
    for interval in (1, 7, 10_000):
        registry = Registry(None)
        run = registry.get(registry.opened(capture.header))
        assert run is not None
        for number, event in enumerate(capture.events):
            registry.event(run.id, event)
            if number % interval == 0:
                run.texts()
        texts = {text.field: (text.tail, text.length) for text in run.texts()}
        delivered = run.reading().choice.delivered().by_field()
        assert texts == {field: (text[-TAIL:], len(text)) for field, text in delivered.items() if text}
        assert max(length for _, length in texts.values()) > TAIL


def test_old_runs_are_forgotten_and_the_newest_stay() -> None:
    registry = Registry(None)
    run_ids = []
    for _ in range(110):
        run_ids.append(registry.opened(CAPTURE.header))
        registry.ended(run_ids[-1], End(at_s=1.0, cut=False))
    assert [run.id for run in registry.runs()] == run_ids[:9:-1]


def test_a_run_is_taken_from_the_list_once_it_has_ended_and_its_file_stays(tmp_path: Path) -> None:
    registry = Registry(tmp_path)
    run = registry.get(registry.opened(CAPTURE.header))
    assert run is not None
    assert run.path is not None
    registry.event(run.id, CAPTURE.events[0])
    registry.forget(run)
    assert registry.runs() == [run], "it is still streaming"
    registry.ended(run.id, End(at_s=1.0, cut=False))
    registry.forget(run)
    registry.forget(run)
    assert registry.runs() == []
    assert run.path.exists()


def test_a_run_that_is_forgotten_while_its_audit_runs_leaves_nothing() -> None:
    registry = Registry(None)
    run = registry.get(registry.opened(CAPTURE.header))
    assert run is not None
    registry.ended(run.id, End(at_s=1.0, cut=False))
    audit = run.audit

    def forgotten_meanwhile() -> Look:
        registry.forget(run)
        return audit()

    run.audit = forgotten_meanwhile  # type: ignore[method-assign]
    registry._audit(run)
    assert registry._auditing == {}


def test_calls_for_a_run_that_was_forgotten_do_nothing() -> None:
    registry = Registry(None)
    registry.event("none", CAPTURE.events[0])
    registry.ended("none", End(at_s=1.0, cut=False))
    assert registry.runs() == []
