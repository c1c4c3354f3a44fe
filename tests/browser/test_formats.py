"""Times and counts read the same in the browser as in Python, by the cases of tests/formats.json."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import UI
from tests.test_formats import CASES

pytestmark = pytest.mark.browser


def test_the_browser_formats_as_python_does(open_page: Callable[..., Page]) -> None:
    # A module's exports are no part of a function's body.
    source = (UI / "text.js").read_text(encoding="utf-8").replace("export ", "")
    found = open_page().evaluate(
        """([source, cases]) => {
            const { duration, count } = new Function(source + "; return { duration, count };")();
            return {
                duration: cases.duration.map(([seconds]) => [seconds, duration(seconds)]),
                count: cases.count.map(([n, one, many]) => [n, one, many, count(n, one, many)]),
            };
        }""",
        [source, CASES],
    )
    assert found == CASES
