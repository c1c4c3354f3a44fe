from hypothesis import given
from hypothesis import strategies as st

from inspector.issues.diagnosis import Count, Timeline


def test_events_are_added_up_by_minute_name_and_version() -> None:
    timeline = Timeline()
    for minute, name in (("11-20 22:47", "a"), ("11-20 22:47", "a"), ("11-20 22:48", "a"), ("", "b")):
        timeline.add(minute, name, "0.13.0")
    assert list(timeline) == [
        Count("", "b", "0.13.0", 1),
        Count("11-20 22:47", "a", "0.13.0", 2),
        Count("11-20 22:48", "a", "0.13.0", 1),
    ]


def test_too_many_minutes_become_ten_minutes_then_hours_then_days() -> None:
    def after(minutes: int, limit: int) -> set[str]:
        timeline = Timeline(limit)
        for number in range(minutes):
            timeline.add(f"11-{1 + number // 1440:02} {number // 60 % 24:02}:{number % 60:02}", "a", "")
        assert sum(count.times for count in timeline) == minutes
        return {count.time for count in timeline}

    assert after(60, 20) == {f"11-01 00:{ten}x" for ten in range(6)}
    assert after(360, 20) == {f"11-01 0{hour}h" for hour in range(6)}
    assert after(2880, 20) == {"11-01", "11-02"}


@given(st.lists(st.tuples(st.dates(), st.times(), st.sampled_from("ab")), max_size=200))
def test_no_event_is_lost_and_there_are_never_too_many_counts(
    events: list[tuple[object, object, str]],
) -> None:
    timeline = Timeline(most=10)
    for date, time, name in events:
        timeline.add(f"{date} {str(time)[:5]}", name, "")
        assert len(list(timeline)) <= 10
    assert sum(count.times for count in timeline) == len(events)
