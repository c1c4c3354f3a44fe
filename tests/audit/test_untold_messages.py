"""Why a response that was not streamed stays unknown after a turn with a server-side tool."""

import pytest

from inspector.inspection import inspect
from inspector.lab.results import captures_of, load_runs
from inspector.store import FIXTURES


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("turn_browser_unstreamed", "its web_search_call item does not have the text"),
        ("turn_commentary_answer_unstreamed", "the items are not the same messages in the same order"),
    ],
)
def test_what_is_missing_and_what_would_settle_it_is_said(script: str, why: str) -> None:
    run = next(one for one in load_runs(FIXTURES / "matrix") if (one.version, one.step) == ("0.14.1", "1"))
    [capture] = [capture for _, name, capture in captures_of(run) if name == script]
    said = inspect(capture).verdict.why
    assert why in said
    assert said.endswith("To find out, send the request with `stream: true`.")
