"""A server that plays the built-in captures, for the tap and the canary to ask."""

from collections.abc import Iterator

import pytest
from starlette.applications import Starlette

from inspector.net.playback import PlaybackSettings, playback_routes
from tests.support.builtin import CAPTURES
from tests.support.listening import listening


@pytest.fixture(scope="module")
def playback() -> Iterator[str]:
    routes = playback_routes(lambda: CAPTURES, prefix="", settings=PlaybackSettings(speed=float("inf")))
    with listening(Starlette(routes=routes)) as at:
        yield at
