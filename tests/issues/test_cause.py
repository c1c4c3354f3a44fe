"""The cause of a finding: what it rests on, how sure it is, and what it cannot be told from."""

import pytest

from inspector.files.store import FIXTURES, load
from inspector.inspection.inspection import inspect
from inspector.issues.catalogue.issue import Confidence
from inspector.issues.catalogue.release_bounds import Bounds, release_bounds
from inspector.issues.catalogue.versions import Range
from inspector.issues.findings.cause import Cause
from tools.cause_rates import Mode, as_mode


def cause(name: str, mode: Mode = Mode.FULL) -> Cause:
    named = inspect(as_mode(load(FIXTURES / f"{name}.jsonl"), mode)).cause
    assert named is not None
    return named


def test_token_ids_outrank_the_words_of_an_error() -> None:
    named = cause("chat-unexpected-token-12606-vllm-0.13.0")
    assert named.id == "free-text-between-messages"
    assert named.sentence.startswith("Known issue: ")
    assert any("was rejected, and the open message ends in" in words for words in named.evidence) or any(
        "token" in words for words in named.evidence
    )


def test_a_loss_without_a_release_is_less_sure_than_with_one() -> None:
    order = [Confidence.LOW, Confidence.MEDIUM, Confidence.HIGH]
    named = cause("responses-dropped-tokens-vllm-0.13.0")
    blind = cause("responses-dropped-tokens-vllm-0.13.0", Mode.DUMP)
    assert named.id == blind.id == "responses-stream-missing-tokens"
    assert order.index(blind.confidence) <= order.index(named.confidence)


def test_what_looks_the_same_is_named_with_an_experiment() -> None:
    named = cause("chat-unexpected-token-200002-vllm-0.13.0")
    assert named.id == "return-after-end"
    assert all(alternative.experiment for alternative in named.alternatives)
    assert "llamafactory-end-return" in {alternative.id for alternative in named.alternatives}


@pytest.mark.parametrize(
    ("bounds", "affected", "inside"),
    [
        (Bounds("0.16.0", None), "<0.15.0", False),
        (Bounds("0.13.0", "0.16.0"), ">=0.11.1", True),
        (Bounds("0.13.0", "0.16.0"), "<0.15.0", None),
        (Bounds(), "<0.15.0", None),
    ],
)
def test_bounds_of_the_release_decide_only_where_all_between_agree(
    bounds: Bounds, affected: str, inside: bool | None
) -> None:
    assert bounds.within(Range(affected)) is inside


def test_a_stream_bounds_the_release_of_its_server() -> None:
    for path in sorted(FIXTURES.glob("*-vllm-*.jsonl")):
        inspection = inspect(load(path))
        bounds = release_bounds(inspection.reading)
        version = inspection.reading.server_version
        if version is not None and bounds.at_least is not None:
            assert version in Range(f">={bounds.at_least}"), path.name
        if version is not None and bounds.below is not None:
            assert version in Range(f"<{bounds.below}"), path.name
