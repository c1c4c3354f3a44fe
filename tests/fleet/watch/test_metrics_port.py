"""The port of the metrics answers GET at its path, and nothing else."""

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from inspector.fleet.watch import Metrics, metrics_app
from tests.support.listening import listening


def test_only_the_metrics_are_served() -> None:
    with listening(metrics_app(Metrics())) as address:
        statuses = {
            (method, path): httpx.request(method, address + path).status_code
            for method in ("GET", "HEAD", "POST", "TRACE", "DELETE")
            for path in ("/metrics", "/", "/x", "/metrics/x")
        }
        for path in ("/metrics", "/"):
            with pytest.raises(InvalidStatus) as refused, connect(address.replace("http", "ws") + path):
                pass
            assert refused.value.response.status_code in {403, 404}
    assert {asked for asked, status in statuses.items() if status == 200} == {
        ("GET", "/metrics"),
        ("HEAD", "/metrics"),
    }
    assert {status for (_, path), status in statuses.items() if path != "/metrics"} == {404}
    assert {status for (_, path), status in statuses.items() if path == "/metrics"} == {200, 405}
