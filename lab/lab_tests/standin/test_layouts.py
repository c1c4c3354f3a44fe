"""Field positions and defaults of vLLM's messages, parsed from source."""

import pytest

from harmony_lab.standin.layouts import layouts_of
from inspector.capture.errors import LabError
from lab_tests.support.scripts import SOURCE

READY = """
@dataclass
class EngineCoreReadyResponse:
    max_model_len: int
    vllm_version: str
    world_size: int
    supports_lora: bool
    kv_events: KVEventsConfig | None
    mamba_block_size: int | None = None
    enable_sleep_mode: bool = False
"""


def test_layout_value() -> None:
    request = layouts_of(SOURCE, release="0.14.1").request
    row = ["a", [1, 2], {"max_tokens": 3}, 200002]
    assert request.value(row, "eos_token_id") == 200002
    assert request.value(row, "client_index") == 0
    assert request.value(row, "no_such_field") is None
    assert request.value(["a"], "prompt_token_ids") is None


def test_layout_row() -> None:
    output = layouts_of(SOURCE, release="0.14.1").output
    assert output.row(request_id="a", new_token_ids=[1]) == ["a", [1]]
    assert output.row(request_id="a", new_token_ids=[1], stop_reason=None, finish_reason=0) == [
        "a",
        [1],
        None,
        0,
        None,
    ]


def test_ready_payload_by_release() -> None:
    assert layouts_of(SOURCE, release="0.14.1").ready_payload(max_model_len=1) == {}
    assert layouts_of(SOURCE + READY, release="0.33.0").ready_payload(
        max_model_len=4096, vllm_version="0.33.0"
    ) == {
        "max_model_len": 4096,
        "vllm_version": "0.33.0",
        "world_size": 0,
        "supports_lora": False,
        "kv_events": None,
        "mamba_block_size": None,
        "enable_sleep_mode": False,
    }


def test_ready_payload_without_empty_value() -> None:
    read = layouts_of(SOURCE + READY + "    pool: Pool\n", release="0.99.0")
    with pytest.raises(LabError, match=r"EngineCoreReadyResponse\.pool is a Pool"):
        read.ready_payload()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("class EngineCoreOutput(", "class EngineOutput(", "has no EngineCoreOutput.request_id"),
        ("    new_token_ids: list[int]\n", "", "has no EngineCoreOutput.new_token_ids"),
        ("request_id: str", "request_id str", "cannot be read"),
    ],
)
def test_layouts_of_an_unknown_protocol(old: str, new: str, words: str) -> None:
    with pytest.raises(LabError, match=rf"vLLM 0\.99\.0: .*{words}"):
        layouts_of(SOURCE.replace(old, new, 1), release="0.99.0")
