"""The built-in server, as fast as it can."""

from collections.abc import Iterator

import pytest
from starlette.applications import Starlette

from inspector.net.playback import PlaybackSettings, playback_routes
from tests.support.builtin import CAPTURES
from tests.support.listening import listening


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    routes = playback_routes(lambda: CAPTURES, settings=PlaybackSettings(speed=float("inf")))
    with listening(Starlette(routes=routes)) as at:
        yield f"{at}/playback"
