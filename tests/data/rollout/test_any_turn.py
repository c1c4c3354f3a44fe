"""Whatever two turns hold, a drift is found exactly where the tokens part."""

from hypothesis import given
from hypothesis import strategies as st

from inspector.data.rollout import Turn, drifts
from inspector.protocol.harmony.vocab import encode
from tests.support.rollouts import ANALYSIS, CALL, FINAL, HISTORY, NEXT, OPEN, PROMPT, RESULT, SYSTEM

TEXTS = (SYSTEM, PROMPT, ANALYSIS, OPEN, CALL, RESULT, FINAL, NEXT, HISTORY, "x", "<|end|>")
PIECES = [encode(text) for text in TEXTS]
IDS = st.lists(
    st.one_of(st.sampled_from(PIECES), st.lists(st.integers(0, 201087), max_size=3)), max_size=6
).map(lambda parts: [token_id for part in parts for token_id in part])


@given(IDS, IDS, IDS)
def test_the_first_drift_is_where_the_tokens_part(
    prompt: list[int], generated: list[int], following: list[int]
) -> None:
    turn_ids = [*prompt, *generated]
    turn_drifts = drifts(Turn(prompt=prompt, generated=generated), following)
    assert bool(turn_drifts) == (following[: len(turn_ids)] != turn_ids)
    if turn_drifts:
        first = turn_drifts[0]
        assert first.token == first.next_token
        assert turn_ids[: first.token] == following[: first.token]
        assert turn_ids[first.token : first.token + 1] != following[first.token : first.token + 1]
    assert all(
        0 <= drift.token <= len(turn_ids) and 0 <= drift.next_token <= len(following) for drift in turn_drifts
    )
