"""The pause of the garbage collector in several threads."""

import gc
import sys
from collections.abc import Iterator
from threading import Thread

import pytest

from inspector.capture.collector import collector_paused


@pytest.fixture
def switching() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)
    gc.enable()


@pytest.mark.slow
@pytest.mark.usefixtures("switching")
def test_the_collector_runs_once_no_thread_pauses_it() -> None:
    """Each page of the dashboard pauses it in a thread of its own."""

    def pause() -> None:
        for _ in range(20_000):
            with collector_paused():
                pass

    for _ in range(3):
        threads = [Thread(target=pause) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert gc.isenabled()


def test_a_pause_inside_another_one_does_not_end_it() -> None:
    with collector_paused():
        with collector_paused():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
