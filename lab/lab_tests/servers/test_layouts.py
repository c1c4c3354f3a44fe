"""The calls of SGLang's scheduler and of Dynamo's bindings, read from sources."""

from pathlib import Path

import pytest

from harmony_lab.servers.dynamo_layouts import CALLS, STUBS, check_dynamo
from harmony_lab.servers.sglang_layouts import CONFIG, REQUESTS, SAMPLING, SERVER, field, sglang_layouts
from inspector.capture.errors import LabError

SOURCES = {
    CONFIG: """
def build(ext):
    return ext.ServerArgs(
        model_path=1, limit_mm_data_per_request=list({}.items()), model_config=ext.ModelConfig(context_len=2)
    )
""",
    SERVER: """
class RustServer:
    def launch(cls, extension):
        return extension.Server(build(extension), cores=None, port_offset=0)

    def drain(self):
        self.server.wait_request(1)
        for request in self.server.recv_requests(8):
            request.header, request.buffers

    def push_generation(self, payload):
        # An older release had array("i", chain.from_iterable(output_ids)).
        flat_ids = b"".join(map(array.tobytes, output_ids))
        header_cols = [rids, finish_reasons, prompt_tokens, tok_lens, payload.cached_tokens]
        self.server.push_decode_result_batch(header_cols, [flat_ids])

    def answer(self, rid):
        self.server.push_control_result(rid, b"")
""",
    REQUESTS: """
class BaseReq:
    rid: str

class TokenizedGenerateReqInput(BaseReq):
    sampling_params: object
    return_logprob: bool
    stream: bool
""",
    SAMPLING: """
class SamplingParams:
    max_new_tokens: int
    stop_token_ids: set
    ignore_eos: bool
""",
}

OLDER = {
    "list({}.items())": "{}",
    ", port_offset=0": "",
    "request.header, request.buffers": "self.headers, self.data, self.lengths",
    'b"".join(map(array.tobytes, output_ids))': 'array("i", chain.from_iterable(output_ids))',
    ", payload.cached_tokens": "",
}


def written(folder: Path, changes: dict[str, str]) -> Path:
    for name, text in SOURCES.items():
        for old, new in changes.items():
            text = text.replace(old, new)  # noqa: PLW2901
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_layouts_of_both_generations(tmp_path: Path) -> None:
    newer = sglang_layouts(written(tmp_path / "newer", {}), release="0.5.23")
    assert (newer.columns, newer.wide_ids, newer.buffers) == (5, True, True)
    assert (newer.pairs, newer.port_offset) == (True, True)
    assert newer.server_args == ("model_path", "limit_mm_data_per_request", "model_config")
    assert field(["a", {}, True], newer.request, "stream", "absent") == "absent"
    older = sglang_layouts(written(tmp_path / "older", OLDER), release="0.5.19")
    assert (older.columns, older.wide_ids, older.buffers) == (4, False, False)
    assert (older.pairs, older.port_offset) == (False, False)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("ext.ServerArgs(", "ext.Arguments(", r"ServerArgs\(\.\.\.\) is not called with keywords"),
        ("push_generation", "push_steps", "push_generation is missing"),
        ('b"".join(map(array.tobytes, output_ids))', "pack(output_ids)", "width of the token IDs"),
        ("rids, finish_reasons", "finish_reasons, rids", "header has the columns finish_reasons, rids"),
        ("    ignore_eos: bool\n", "", "SamplingParams has no field ignore_eos"),
        ('self.server.push_control_result(rid, b"")', "pass", "does not call push_control_result"),
        ("request.header, request.buffers", "request", "neither with buffers nor as one batch"),
        ("class BaseReq", "class class", "cannot be read"),
    ],
)
def test_an_unknown_release_is_refused(tmp_path: Path, old: str, new: str, reason: str) -> None:
    with pytest.raises(LabError, match=rf"SGLang 9\.9: .*{reason}"):
        sglang_layouts(written(tmp_path, {old: new}), release="9.9")


def test_a_release_without_the_server_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LabError, match=r"SGLang 0\.5\.18: sglang/srt/rust_server/config\.py cannot be read"):
        sglang_layouts(tmp_path, release="0.5.18")


def test_dynamo_calls(tmp_path: Path) -> None:
    lines: list[str] = []
    for call, names in CALLS.items():
        owner, _, name = call.rpartition(".")
        definition = f"def {name}({'self, ' if owner else ''}{', '.join(names)}): ..."
        lines += [f"class {owner}:", f"    {definition}"] if owner else [definition]
    stubs = tmp_path / STUBS
    stubs.parent.mkdir()
    stubs.write_text("\n".join(lines), encoding="utf-8")
    check_dynamo(tmp_path, release="1.6.1")
    stubs.write_text("\n".join(lines).replace("worker_type, ", ""), encoding="utf-8")
    with pytest.raises(LabError, match=r"Dynamo 9\.9: register_model has no argument worker_type"):
        check_dynamo(tmp_path, release="9.9")
