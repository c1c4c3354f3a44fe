"""Shrinking on a server: a miniature of a release stands for the real one, which docs/lab.md shows."""

from collections.abc import Sequence

import pytest

from inspector.analysis.audit import Kind
from inspector.capture.capture import Capture
from inspector.capture.errors import LabError
from inspector.lab.shrink import shrink, wanted
from inspector.protocol.harmony.vocab import encode
from tests.support.servers import serve

STREAM = encode(
    "<|channel|>analysis<|message|>Need weather.<|end|><|start|>assistant"
    '<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"city":"Paris"}<|call|>'
)


class Server:
    """Serves as one release does, and counts."""

    def __init__(self, habit: str, at_once: int = 3) -> None:
        self.habit, self.at_once = habit, at_once
        self.asked: list[tuple[int, ...]] = []

    def __call__(self, ids: Sequence[int]) -> Capture:
        self.asked.append(tuple(ids))
        return serve(self.habit, ids, self.at_once).capture


def test_what_is_left_still_fails_and_no_token_can_be_left_out() -> None:
    server = Server("0.13")
    capture = server(STREAM)
    found = shrink(capture, STREAM, server, say=lambda _: None)
    assert found.minimal
    assert (found.failed, found.asked) == (3, 3)
    assert found.finding.kind is wanted(capture).kind is Kind.DROPPED
    assert len(found.ids) < 8 < found.whole == len(STREAM)
    for place in range(len(found.ids)):
        rest = found.ids[:place] + found.ids[place + 1 :]
        if rest:
            shorter = serve("0.13", [*rest, 200002], 3).capture
            try:
                other = wanted(shorter)
            except LabError:
                continue
            assert (other.kind, other.field) != (found.finding.kind, found.finding.field)


def test_no_list_is_asked_twice_but_to_confirm_and_all_end_in_a_stop_token() -> None:
    server = Server("0.13")
    capture = server(STREAM)
    server.asked.clear()
    found = shrink(capture, STREAM, server, say=lambda _: None)
    assert len(server.asked) == found.tries
    assert len(set(server.asked)) == found.tries - found.asked
    assert all(ids[-1] in {200002, 200012} for ids in server.asked)


def test_requests_are_bounded_and_the_result_says_so() -> None:
    server = Server("0.13")
    found = shrink(server(STREAM), STREAM, server, tries=3, say=lambda _: None)
    assert not found.minimal
    assert found.tries == 3 + found.asked
    assert found.failed == 3


def test_a_server_that_does_not_do_it_is_said() -> None:
    with pytest.raises(LabError, match="the server does not reproduce the failure"):
        shrink(Server("0.13")(STREAM), STREAM, Server("0.32"), say=lambda _: None)


def test_a_capture_without_an_error_of_the_server_is_refused() -> None:
    with pytest.raises(LabError, match="no server error"):
        wanted(serve("0.32", STREAM, 3).capture)
