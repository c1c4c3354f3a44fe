"""Special tokens in a body: text where they were delivered as text, the end of the turn where not."""

import pytest

from inspector.audit import Kind, audit
from inspector.reading import read
from tests.support.streams import completion


@pytest.mark.parametrize("told", [False, True])
def test_a_special_token_that_ends_the_turn_is_one_in_the_body_only_where_it_was_delivered(
    told: bool,
) -> None:
    steps = [("<|message|>Hi", "<|message|>Hi"), ("<|endoftext|>", "<|endoftext|>" if told else "")]
    request = {"skip_special_tokens": False, "include_stop_str_in_output": told}
    kinds = [one.kind for one in audit(read(completion(steps, request=request)))]
    assert kinds == [Kind.SPECIAL_TOKEN_IN_BODY] * told
