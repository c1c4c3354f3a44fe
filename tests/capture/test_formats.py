import json
from pathlib import Path
from typing import Any

import pytest

from inspector.capture.formats import (
    clip,
    clip_counted,
    count,
    duration,
    figure,
    fine_duration,
    listed,
    number,
)

CASES: dict[str, list[list[Any]]] = json.loads(
    Path(__file__).with_name("formats.json").read_text(encoding="utf-8")
)
"""The cases that tests/pages/ui/numbers.test.js puts to the browser's copy."""


def test_times_and_counts_read_as_the_shared_table_says() -> None:
    assert [[seconds, duration(seconds)] for seconds, _ in CASES["duration"]] == CASES["duration"]
    assert [[*arguments, count(*arguments)] for *arguments, _ in CASES["count"]] == CASES["count"]


def test_times_to_compare_keep_their_tenths() -> None:
    assert [fine_duration(duration_s) for duration_s in (0.0384, 1.23456, 12.04, 5436)] == [
        "38.4 ms",
        "1,234.6 ms",
        "12.0 s",
        "91 min",
    ]


def test_what_is_unknown_says_so() -> None:
    assert duration(None) == fine_duration(None) == figure(None) == "unknown"
    assert duration(None, "–") == "–"


def test_figures_are_times_or_numbers() -> None:
    assert figure(0.5, "s") == "500.0 ms"
    assert figure(12345.67, "1/s") == "12,345.7"
    assert figure(12345) == "12,345"
    assert number(2.5, 2) == "2.50"


@pytest.mark.parametrize(("limit", "shown"), [(5, "abcde"), (4, "abc…"), (1, "…")])
def test_a_cut_text_keeps_its_limit(limit: int, shown: str) -> None:
    assert clip("abcde", limit) == shown
    assert len(shown) <= limit


def test_a_cut_text_may_say_how_long_it_is() -> None:
    assert clip_counted("abcde", 5) == "abcde"
    assert clip_counted("a" * 1500, 3) == "aaa … (1,500 characters)"


def test_lists_end_in_and() -> None:
    assert [listed(["a", "b", "c"][:size]) for size in range(4)] == ["", "a", "a and b", "a, b and c"]
    assert listed(["a", "b"], "or") == "a or b"
