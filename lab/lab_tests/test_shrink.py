"""Shrinking on a server: a small simulated release; docs/lab.md shows a real one."""

from collections.abc import Sequence

import pytest

from harmony_lab.shrink import server_error_in, shrink
from inspector.analysis.audit import Kind
from inspector.capture.capture import Capture
from inspector.capture.errors import LabError
from inspector.protocol.harmony.vocab import encode
from tests.support.servers import serve

STREAM = encode(
    "<|channel|>analysis<|message|>Need weather.<|end|><|start|>assistant"
    '<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"city":"Paris"}<|call|>'
)


class Server:
    """Respond as a release does, and count requests."""

    def __init__(self, habit: str, at_once: int = 3) -> None:
        self.habit, self.at_once = habit, at_once
        self.repetitions: list[tuple[int, ...]] = []

    def __call__(self, ids: Sequence[int]) -> Capture:
        self.repetitions.append(tuple(ids))
        return serve(self.habit, ids, self.at_once).capture


def test_shrink_result_fails_and_is_minimal() -> None:
    server = Server("0.13")
    capture = server(STREAM)
    shrunk = shrink(capture, STREAM, server, say=lambda _: None)
    assert shrunk.minimal
    assert (shrunk.failures, shrunk.repetitions) == (3, 3)
    assert shrunk.finding.kind is server_error_in(capture).kind is Kind.DROPPED
    assert len(shrunk.ids) < 8 < shrunk.original_tokens == len(STREAM)
    for place in range(len(shrunk.ids)):
        rest = shrunk.ids[:place] + shrunk.ids[place + 1 :]
        if rest:
            shorter = serve("0.13", [*rest, 200002], 3).capture
            try:
                shorter_error = server_error_in(shorter)
            except LabError:
                continue
            assert (shorter_error.kind, shorter_error.field) != (shrunk.finding.kind, shrunk.finding.field)


def test_shrink_sends_each_list_once_except_repetitions() -> None:
    server = Server("0.13")
    capture = server(STREAM)
    server.repetitions.clear()
    shrunk = shrink(capture, STREAM, server, say=lambda _: None)
    assert len(server.repetitions) == shrunk.tries
    assert len(set(server.repetitions)) == shrunk.tries - shrunk.repetitions
    assert all(ids[-1] in {200002, 200012} for ids in server.repetitions)


def test_shrink_with_too_few_tries_is_not_minimal() -> None:
    server = Server("0.13")
    shrunk = shrink(server(STREAM), STREAM, server, tries=3, say=lambda _: None)
    assert not shrunk.minimal
    assert shrunk.tries == 3 + shrunk.repetitions
    assert shrunk.failures == 3


def test_shrink_of_a_failure_that_does_not_reproduce() -> None:
    with pytest.raises(LabError, match="the server does not reproduce the failure"):
        shrink(Server("0.13")(STREAM), STREAM, Server("0.32"), say=lambda _: None)


def test_shrink_rejects_a_capture_without_server_error() -> None:
    with pytest.raises(LabError, match="no server error"):
        server_error_in(serve("0.32", STREAM, 3).capture)
