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
).map(lambda parts: [one for part in parts for one in part])


@given(IDS, IDS, IDS)
def test_the_first_drift_is_where_the_tokens_part(
    prompt: list[int], generated: list[int], following: list[int]
) -> None:
    seen = [*prompt, *generated]
    found = drifts(Turn(prompt=prompt, generated=generated), following)
    assert bool(found) == (following[: len(seen)] != seen)
    if found:
        first = found[0]
        assert first.token == first.next_token
        assert seen[: first.token] == following[: first.token]
        assert seen[first.token : first.token + 1] != following[first.token : first.token + 1]
    assert all(0 <= one.token <= len(seen) and 0 <= one.next_token <= len(following) for one in found)
