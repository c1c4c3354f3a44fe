"""Special tokens in a body: text where they were delivered as text, the end of the turn where not."""

import json

import pytest

from inspector.analysis.audit import Code, Kind, audit, explain
from inspector.analysis.reading import read
from inspector.files.store import loads
from tests.support.streams import completion


@pytest.mark.parametrize("reported", [False, True])
def test_a_special_token_that_ends_the_turn_is_one_in_the_body_only_where_it_was_delivered(
    reported: bool,
) -> None:
    steps = [("<|message|>Hi", "<|message|>Hi"), ("<|endoftext|>", "<|endoftext|>" if reported else "")]
    request = {"skip_special_tokens": False, "include_stop_str_in_output": reported}
    kinds = [finding.kind for finding in audit(read(completion(steps, request=request)))]
    assert kinds == [Kind.SPECIAL_TOKEN_IN_BODY] * reported


@pytest.mark.parametrize("ids", [[200005, 35644, 200008, 13, 999_999], [200005, 35644, 200008, 999_999, 13]])
def test_an_id_outside_the_vocabulary_is_named_with_its_place_also_at_the_end(ids: list[int]) -> None:
    capture = loads(json.dumps(ids).encode(), "ids.json")
    findings = audit(read(capture))
    place = ids.index(999_999)
    assert [explain(finding) for finding in findings if finding.code is Code.SPECIAL_TOKEN_IN_BODY] == [
        f"The token ID 999999 inside the body of a message on the analysis channel (token {place}) is not in "
        "the vocabulary and has no text."
    ]
