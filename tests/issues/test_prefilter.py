import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.issues.catalogue.schema import needed_literal
from inspector.issues.catalogue.table import catalogue


@pytest.mark.parametrize(
    ("expression", "literal"),
    [
        (r"Unexpected token \d+ while expecting", "Unexpected token "),
        (r"Unexpected token (?:1|2) while", "Unexpected token "),
        (r"Tools should have a name!", "Tools should have a name!"),
        (r'"name\\?"\s*:\s*"<\|constrain\|>', '"<|constrain|>'),
        (r"colou?r of it", "r of it"),
        (r"abcdef{0,2}gh", "abcde"),
        (r"abcdef{2}xyz", "abcdef"),
        (r"abcdef+xyz", "abcdef"),
        (r"[abcdefgh]xyzw", "xyzw"),
        (r"[]abcd]efgh", "efgh"),
        (r"one long text|another", None),
        (r"(?i)one long text", None),
        (r"\d+ \w+", None),
        (r"(?:only inside brackets)", None),
    ],
)
def test_the_literal_is_the_longest_run_that_every_match_needs(expression: str, literal: str | None) -> None:
    assert needed_literal(expression) == literal


def test_every_pattern_of_the_catalogue_matches_only_lines_with_its_literal() -> None:
    examples = [example for issue in catalogue() for example in issue.examples]
    matches = [
        (issue.id, pattern.literal, example)
        for issue in catalogue()
        for pattern in (*issue.patterns, *issue.may_match)
        for example in examples
        if pattern.expression.search(example)
    ]
    assert len(matches) >= len(examples) / 2
    assert [match for match in matches if match[1] not in match[2]] == []


@given(
    st.from_regex(
        r"[a-d]{4,8}(?:\\d[+?*]?|[x-z][?*]|\[[a-c]+\][+*?]?|\(w\|v\)[?*]?)[a-d]{0,6}", fullmatch=True
    ),
    st.data(),
)
def test_a_match_always_contains_the_literal(expression: str, data: st.DataObject) -> None:
    literal = needed_literal(expression)
    matched = data.draw(st.from_regex(re.compile(expression, re.ASCII), fullmatch=True))
    assert literal is None or literal in matched
