import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.capture.capture import Event, EventKind
from inspector.net.runs.event_log import PackedEvents

EVENTS = st.builds(
    Event,
    st.text(st.characters(), max_size=40),
    st.none() | st.floats(0, 1e6),
    st.sampled_from(["", "response.completed"]),
    st.sampled_from(EventKind),
)


@given(st.lists(EVENTS, max_size=300), st.integers(1, 40))
def test_packed_events_come_out_as_they_went_in(events: list[Event], piece: int) -> None:
    packed = PackedEvents()
    for start in range(0, len(events), piece):
        packed.extend(events[start : start + piece])
    assert list(packed) == events
    assert [packed[place] for place in range(len(events))] == events
    assert packed[-5:] == events[-5:]
    assert [packed.at_s(place) for place in range(len(events))] == [event.at_s for event in events]


def test_events_of_exactly_full_blocks_end() -> None:
    packed = PackedEvents()
    packed.extend([Event("x", 0.0)] * 256)
    assert len(list(packed)) == 256


def test_what_came_cannot_change() -> None:
    packed = PackedEvents()
    packed.append(Event("x"))
    with pytest.raises(TypeError):
        packed[0] = Event("y")
    with pytest.raises(TypeError):
        del packed[0]
    with pytest.raises(IndexError):
        packed[1]
