"""What a description answers about releases."""

import pytest

from inspector.engines.vllm import VLLM


@pytest.mark.parametrize(
    ("version", "keeps"),
    [
        ("0.23.0", False),
        ("0.10.2", False),
        ("0.24.0", True),
        ("0.32.0+cpu", True),
        ("1.0", True),
        (None, True),
        ("", True),
        ("0", True),
        ("0.x", True),
        ("v0.23", False),
    ],
)
def test_releases_from_0_24_on_send_chunks_of_logprobs_alone(version: str | None, keeps: bool) -> None:
    assert VLLM.keeps_logprobs(version) is keeps
