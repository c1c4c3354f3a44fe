"""Chunks that came in one read are recorded together."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from inspector.net.tap.arrivals import Arrival, together


@given(st.lists(st.tuples(st.binary(min_size=1, max_size=4), st.integers(0, 3))))
def test_joining_keeps_bytes_and_times(rows: list[tuple[bytes, int]]) -> None:
    now_s, arrivals = 0.0, []
    for chunk, step in rows:
        now_s += step * 0.0004
        arrivals.append(Arrival(chunk, now_s))
    joined = together(arrivals)
    assert b"".join(one.chunk for one in joined) == b"".join(chunk for chunk, _ in rows)
    assert [one.at_s for one in joined] == sorted(one.at_s for one in joined)
    assert {one.at_s for one in joined} <= {one.at_s for one in arrivals}
    for earlier, later in pairwise(joined):
        assert later.at_s - earlier.at_s > 0.0005
