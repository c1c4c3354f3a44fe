"""What a description answers about releases."""

import pytest

from inspector.protocol.engines import versions_in
from inspector.protocol.engines.vllm import VLLM


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


def test_a_line_may_tell_several_versions_or_none() -> None:
    assert list(versions_in("All is well.")) == []
    versions = list(versions_in("vLLM API server version 0.13.0, installed as vllm==0.12.0"))
    assert {version for version, _ in versions} == {"0.13.0", "0.12.0"}
