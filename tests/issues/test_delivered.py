"""A cause that the response itself disproves is not named."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

import pytest

from inspector.files.store import FIXTURES, load
from inspector.inspection.inspection import inspect
from inspector.issues.catalogue.issue import Side
from tests.support.faults import FaultPiece, FaultResponse, PieceFault, capture_of, faulty, responses
from tests.support.tiers import choose

RESPONSES = choose(40, 120)


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultCase:
    """A response with one fault, and the causes that are named for it."""

    right: FaultResponse
    wrong: FaultResponse
    fault: PieceFault
    streamed: bool
    version: str | None
    named: frozenset[str]
    accused: Side | None
    """The side of the first cause."""

    @property
    def answers(self) -> list[int]:
        """The messages of the content, in order."""
        return sorted({piece.message for piece in self.right.pieces if piece.field == "content"})

    def arrived(self, is_in: Callable[[FaultPiece], bool]) -> bool:
        """Whether some text arrived unchanged in its field."""
        pieces = set(self.right.pieces).intersection(self.wrong.pieces)
        return any(piece.text.strip() and is_in(piece) for piece in pieces)

    def arrived_of(self, channel: str, recipient: str | None) -> bool:
        """The same of messages with a header; the recipient is compared by its beginning."""
        return self.arrived(
            lambda piece: (
                piece.header[0] == channel
                and (piece.header[1] or "").startswith(recipient or "")
                and (piece.header[1] is None) is (recipient is None)
            )
        )


DISPROVED: Mapping[str, Callable[[FaultCase], bool]] = {
    # The deliverer names every call.
    "tool-parser-flags-missing": lambda case: bool(case.right.calls),
    "call-without-offered-tools": lambda case: bool(case.right.calls),
    "analysis-channel-tool-call": lambda case: bool(case.right.calls),
    "reasoning-parser-missing": lambda case: case.arrived(lambda piece: piece.field == "reasoning"),
    "preamble-lost": lambda case: case.arrived_of("commentary", None),
    "constrain-as-recipient": lambda case: case.arrived(
        lambda piece: (piece.header[1] or "").startswith("<|")
    ),
    "unstreamed-one-message": lambda case: (
        case.streamed
        or case.arrived(lambda piece: piece.message in case.answers[:-1])
        or not case.arrived(lambda piece: piece.message in case.answers[-1:])
    ),
    "chat-tool-tail-next-index": lambda case: not case.streamed or case.fault is not PieceFault.MISFILE,
    "chat-stream-multi-channel-chunk": lambda case: (
        not case.streamed or case.fault in {PieceFault.GARBLE, PieceFault.DUPLICATE}
    ),
    "stream-interval-tool-arguments": lambda case: (
        not case.streamed or case.fault in {PieceFault.GARBLE, PieceFault.DUPLICATE}
    ),
}
"""By issue, what shows that a server does not have it, by what was delivered here."""


@pytest.fixture(scope="module")
def cases() -> list[FaultCase]:
    """Each random response with each fault, streamed and not."""
    random = Random(11)  # noqa: S311 -- the same responses in every run
    stream, fault_cases = responses(random), []
    for _ in range(RESPONSES):
        right = next(stream)
        for fault in PieceFault:
            for streamed in (True, False):
                wrong, version = faulty(right, fault, random), random.choice([None, "0.33.0"])
                inspection = inspect(capture_of(wrong, random, streamed=streamed, version=version))
                answers = [ranked[0].issue for ranked in inspection.matches.answers if ranked]
                fault_cases.append(
                    FaultCase(
                        right=right,
                        wrong=wrong,
                        fault=fault,
                        streamed=streamed,
                        version=version,
                        named=frozenset(
                            name for finding in inspection.findings for name in finding.known_issues
                        ),
                        accused=answers[0].sides[0] if answers else None,
                    )
                )
    return fault_cases


def test_no_cause_is_named_that_the_response_disproves(cases: list[FaultCase]) -> None:
    wrong = [
        (name, str(case.fault), case.streamed, case.version)
        for case in cases
        for name in case.named & DISPROVED.keys()
        if DISPROVED[name](case)
    ]
    assert wrong == []


def test_no_fault_of_a_release_is_named_for_what_no_release_does(cases: list[FaultCase]) -> None:
    newest = [case for case in cases if case.version == "0.33.0"]
    assert all(case.accused is not Side.SERVER for case in newest)
    named = sum(bool(case.named) for case in cases)
    assert named < len(cases) / 25, named


@pytest.mark.parametrize(
    ("name", "issue"),
    [
        ("chat-reasoning-missing-vllm-0.32.0", "reasoning-parser-missing"),
        ("chat-tool-call-leak-vllm-0.14.1", "chat-stream-multi-channel-chunk"),
        ("chat-tool-call-dropped-vllm-0.13.0", "stream-interval-tool-arguments"),
    ],
)
def test_what_a_real_server_loses_every_time_is_named(name: str, issue: str) -> None:
    findings = inspect(load(FIXTURES / f"{name}.jsonl")).findings
    assert any(issue in finding.known_issues for finding in findings)
