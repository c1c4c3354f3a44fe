"""The bound of results: any value fits, what is visible is kept, and what was cut is said."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from inspector.commands.agents.bounds import LIMIT, bounded, visible

TEXTS = st.text(max_size=30) | st.builds(
    lambda text, times: text * times, st.text(max_size=20), st.integers(0, 2000)
)
LEAVES = st.none() | st.booleans() | st.integers() | TEXTS
VALUES = st.recursive(
    LEAVES
    | st.builds(
        lambda item, times: [item] * times, st.integers() | st.text(max_size=50), st.integers(0, 2000)
    ),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(max_size=8), inner, max_size=8),
    max_leaves=12,
)
ROWS = st.dictionaries(st.sampled_from("abcdef"), VALUES)


@given(ROWS)
def test_any_value_fits_and_what_was_cut_is_said(row: dict[str, Any]) -> None:
    value, cut = bounded(row)
    assert len(json.dumps(value)) <= LIMIT
    assert value.keys() == row.keys()
    if not cut:
        assert value == _escaped(row)


@given(st.text())
def test_a_visible_text_has_nothing_invisible_but_line_feeds(text: str) -> None:
    assert all(char.isprintable() or char == "\n" for char in visible(text))
    assert visible(visible(text)) == visible(text)


def test_a_cut_names_its_place_and_how_much_is_left_out() -> None:
    value, cut = bounded({"texts": [{"body": "x" * 123_456}]})
    assert value["texts"][0]["body"] == "x" * 2000
    assert cut == ["texts[0].body: 2,000 of 123,456 characters"]
    value, cut = bounded({"rows": [{"text": "y" * 50}] * 3000})
    assert len(value["rows"]) > 100
    assert cut == [f"rows: {len(value['rows'])} of 3,000 items"]


def _escaped(value: Any) -> Any:
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, list):
        return [_escaped(item) for item in value]
    return {visible(key): _escaped(item) for key, item in value.items()} if isinstance(value, dict) else value
