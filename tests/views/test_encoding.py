"""JSON for the browser: the same values, whatever a model's text holds."""

import json

from hypothesis import given
from hypothesis import strategies as st

from inspector.views.encoding import json_bytes

TEXT = st.text(st.characters(), max_size=6)
"""With lone surrogates."""
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_json_bytes_are_read_back(value: object) -> None:
    written = json_bytes(value)
    assert json.loads(written) == value
    assert b"\n" not in written, "one line of a stream of events"
