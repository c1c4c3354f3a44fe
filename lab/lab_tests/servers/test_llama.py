"""llama-server's parts that need no build of it: the model's file, the sampler, and what is refused."""

import json
import math
import shutil
import struct
import subprocess
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from harmony_lab.matrix import condition_targets, targets_of
from harmony_lab.model import make_model
from harmony_lab.paths import LabPaths
from harmony_lab.score import score
from harmony_lab.server import STANDALONE
from harmony_lab.servers import llama
from harmony_lab.servers.gguf import ALIGNMENT, make_gguf, tensors
from inspector.capture.capture import Endpoint
from inspector.capture.errors import LabError
from inspector.files.store import FIXTURES
from inspector.matrix.results import OTHER_SERVERS, MatrixRun, ScriptOutcome, captures_of, load_runs
from inspector.matrix.scripts import load
from inspector.protocol.harmony import vocab


class Gguf:
    """A GGUF file, read by its specification."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.magic, self.version, tensor_count, key_count = self._unpack("<4sIQQ")
        self.keys = {self._string(): self._value(self._number("<I")) for _ in range(key_count)}
        self.tensors = {self._string(): self._tensor() for _ in range(tensor_count)}
        self.data = -(-file.tell() // ALIGNMENT) * ALIGNMENT

    def _unpack(self, form: str) -> tuple[Any, ...]:
        return struct.unpack(form, self._file.read(struct.calcsize(form)))

    def _number(self, form: str) -> Any:
        return self._unpack(form)[0]

    def _string(self) -> str:
        return self._file.read(self._number("<Q")).decode()

    def _value(self, kind: int) -> Any:
        if kind == 8:
            return self._string()
        if kind == 9:
            item, count = self._unpack("<IQ")
            return [self._value(item) for _ in range(count)]
        return self._number({4: "<I", 5: "<i", 6: "<f", 7: "<?"}[kind])

    def _tensor(self) -> tuple[tuple[int, ...], int, int]:
        shape = self._unpack(f"<{self._number('<I')}Q")
        return (shape, *self._unpack("<IQ"))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_gguf(make_model(tmp_path_factory.mktemp("models"), llama_body=False))


def test_model_is_a_gguf_with_every_token_and_zero_weights(model: Path) -> None:
    content = model.read_bytes()
    gguf = Gguf(BytesIO(content))

    assert (gguf.magic, gguf.version) == (b"GGUF", 3)
    tokens = gguf.keys["tokenizer.ggml.tokens"]
    assert len(tokens) == len(gguf.keys["tokenizer.ggml.token_type"]) == vocab.VOCABULARY_SIZE
    assert [tokens[marker] for marker in vocab.Marker] == [marker.text for marker in vocab.Marker]
    assert "<|channel|>" in gguf.keys["tokenizer.chat_template"]  # by which llama.cpp takes its parser
    assert {name: (kind, shape) for name, (shape, kind, _) in gguf.tensors.items()} == dict(tensors())
    ends = [offset + math.prod(shape) * (4, 2)[kind] for shape, kind, offset in gguf.tensors.values()]
    starts = [offset for _, _, offset in gguf.tensors.values()]
    assert all(start % ALIGNMENT == 0 for start in starts)
    assert all(end <= start for end, start in zip(ends, starts[1:], strict=False))
    assert len(content) >= gguf.data + ends[-1]
    assert not any(content[gguf.data :])


def test_sampler_compiles_without_warnings(tmp_path: Path) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler is not None
    source = STANDALONE / "scripted_llama.c"
    command = [
        compiler,
        "-Wall",
        "-Wextra",
        "-Werror",
        "-shared",
        "-fPIC",
        "-o",
        str(tmp_path / "sampler.so"),
    ]
    compiled = subprocess.run([*command, str(source), "-ldl"], capture_output=True, text=True, check=False)
    assert compiled.returncode == 0, compiled.stderr


def test_missing_binary_names_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(llama.BINARY, str(tmp_path / "nowhere"))
    with pytest.raises(LabError, match=r"is no program; install llama\.cpp.*llama\.cpp-tools"):
        llama.install(LabPaths(tmp_path), "0.7.0", print)


def test_missing_compiler_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    binary = tmp_path / "llama-server"
    binary.write_text("#!/bin/sh\n", encoding="utf-8")
    binary.chmod(0o700)
    monkeypatch.setenv(llama.BINARY, str(binary))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LabError, match="no C compiler on PATH"):
        llama.install(LabPaths(tmp_path), "0.7.0", print)


def test_another_release_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    binary = tmp_path / "llama-server"
    binary.write_text("#!/bin/sh\necho 'version: 5640 (2e89f76b)' >&2\n", encoding="utf-8")
    binary.chmod(0o700)
    monkeypatch.setenv(llama.BINARY, str(binary))
    with pytest.raises(LabError, match=r"is llama\.cpp 5640, not 0\.7\.0; pass --server llama-server 5640"):
        llama.install(LabPaths(tmp_path), "0.7.0", print)


@pytest.fixture(scope="module")
def runs() -> list[MatrixRun]:
    folder = FIXTURES / "matrix" / OTHER_SERVERS
    return [run for run in load_runs(folder) if run.package == llama.NAME]


def test_every_suitable_script_is_there_with_the_score_of_its_capture(runs: list[MatrixRun]) -> None:
    scripts = {script.name: script for script in load()}
    for run in runs:
        targets = condition_targets(run.package, run.version, run.step, targets_of())
        assert set(run.scores) == {(target.endpoint, target.script.name) for target in targets}
        assert len(targets) == 90
        for endpoint, name, capture in captures_of(run):
            assert score(scripts[name], capture) == run.scores[endpoint, name], name


def test_cells_say_where_the_grammar_chose_the_tokens(runs: list[MatrixRun]) -> None:
    scripts = {script.name: script for script in load()}
    assert len(runs) == 2
    for run in runs:
        replaced = set()
        for endpoint, name, capture in captures_of(run):
            if capture.header.script != scripts[name].sampled:
                replaced.add(name)
            assert bool(run.scores[endpoint, name].sampler) == (name in replaced), name
        assert {"call_words", "call_then_final", "two_calls_by_end"} < replaced
        # Only a request with tools has a grammar.
        assert all(scripts[name].tools for name in replaced)


def test_replaced_tokens_are_no_loss(runs: list[MatrixRun]) -> None:
    scripts = {script.name: script for script in load()}
    for run in runs:
        for _, name, capture in captures_of(run, Endpoint.CHAT):
            if capture.header.script != scripts[name].sampled:
                assert score(scripts[name], capture).outcome is ScriptOutcome.COMPLETE, name


def test_every_id_is_in_an_unstreamed_response(runs: list[MatrixRun]) -> None:
    """The preloaded log against what the server itself says."""
    unstreamed = next(run for run in runs if not run.streamed)
    checked = 0
    for _, name, capture in captures_of(unstreamed):
        body = json.loads(capture.events[0].data)
        if capture.header.status == 200:
            assert tuple(body["__verbose"]["tokens"]) == capture.header.script, name
            checked += 1
    assert checked == 63
