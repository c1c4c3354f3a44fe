"""Chunks that came in one read are recorded together."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from inspector.net.tap.upstream import Arrival, together


@given(st.lists(st.tuples(st.binary(min_size=1, max_size=4), st.integers(0, 3))))
def test_joining_keeps_bytes_and_times(rows: list[tuple[bytes, int]]) -> None:
    now_s, arrivals = 0.0, []
    for chunk, step in rows:
        now_s += step * 0.0004
        arrivals.append(Arrival(chunk, now_s))
    joined = together(arrivals)
    assert b"".join(arrival.chunk for arrival in joined) == b"".join(chunk for chunk, _ in rows)
    assert [arrival.at_s for arrival in joined] == sorted(arrival.at_s for arrival in joined)
    assert {arrival.at_s for arrival in joined} <= {arrival.at_s for arrival in arrivals}
    for earlier, later in pairwise(joined):
        assert later.at_s - earlier.at_s > 0.0005
