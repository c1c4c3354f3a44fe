import pytest

from inspector.analysis.metrics import figures, quantile
from inspector.analysis.reading import read
from inspector.capture.capture import Capture, Endpoint, Event, Header
from tests.support.streams import CLEAN, chat


def test_times_and_counts_of_a_stream() -> None:
    metrics = figures(read(chat(CLEAN, gap_s=0.5)))
    assert metrics.tokens == 14
    assert metrics.events_with_tokens == 4
    assert metrics.first_token_s == pytest.approx(0.5)
    assert metrics.last_token_s == pytest.approx(2.0)
    assert metrics.tokens_per_s == pytest.approx(10 / 1.5)
    assert metrics.gap_p50_s == pytest.approx(0.5)
    assert metrics.tokens_per_event_max == 6
    assert metrics.tokens_per_event_mean == pytest.approx(14 / 4)


def test_channels_count_bodies_and_time_between_their_first_and_last_token() -> None:
    channels = {channel.channel: channel for channel in figures(read(chat(CLEAN, gap_s=0.5))).by_channel}
    assert {name: channel.tokens for name, channel in channels.items()} == {
        "analysis": 3,
        "final": 1,
        "framing": 10,
    }
    assert channels["analysis"].duration_s == pytest.approx(0.5)


def test_a_capture_without_times_has_counts_only() -> None:
    timed = chat(CLEAN)
    bare = Capture(header=timed.header, events=[Event(event.data) for event in timed.events])
    metrics = figures(read(bare))
    assert metrics.tokens == 14
    assert metrics.first_token_s is None
    assert metrics.gap_p50_s is None
    assert metrics.tokens_per_s is None


def test_events_of_one_network_read_tell_no_speed() -> None:
    metrics = figures(read(chat(CLEAN, gap_s=0.0001)))
    assert metrics.tokens_per_s is None
    assert metrics.last_token_s is not None


def test_nothing_received_is_no_error() -> None:
    metrics = figures(read(Capture(header=Header(endpoint=Endpoint.CHAT), events=[])))
    assert metrics.tokens == 0
    assert metrics.tokens_per_event_mean is None


def test_quantiles_lie_between_neighbours_by_proportion() -> None:
    assert quantile([4.0, 1.0, 3.0, 2.0], 0.5) == 2.5
    assert quantile([1.0], 0.95) == 1.0
