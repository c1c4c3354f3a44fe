"""Files are read packed or not, within bounds, and written whole or not at all."""

import gzip
import json
import os
import random
import subprocess
import sys
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import zstandard

from inspector.capture.capture import Capture, End, Endpoint, Event, Header, render
from inspector.capture.errors import CaptureError, InspectorError, StoreError
from inspector.files.importers import FORMATS
from inspector.files.store import (
    FIXTURES,
    LIMIT_BYTES,
    Builtin,
    CaptureWriter,
    builtin,
    load,
    load_all,
    loads,
    loads_all,
    open_writer,
    replacing,
    save,
)
from inspector.inspection.inspection import inspect

CAPTURE = Capture(
    header=Header(endpoint=Endpoint.CHAT, model="m"),
    events=[Event('{"object":"chat.completion.chunk"}', 0.5), Event("[DONE]", 0.75)],
    end=End(at_s=0.75, cut=False),
)
TEXT = "".join(f"{line}\n" for line in render(CAPTURE)).encode()
HEADER = CAPTURE.header


def refusal(content: bytes, *, limit_bytes: int = LIMIT_BYTES) -> str:
    with pytest.raises(CaptureError) as refused:
        loads_all(content, "f", limit_bytes=limit_bytes)
    return str(refused.value)


# --- reading


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.jsonl.zst"])
def test_what_is_saved_loads_whatever_its_packing(tmp_path: Path, name: str) -> None:
    save(CAPTURE, tmp_path / name)
    assert load_all(tmp_path / name) == [CAPTURE]
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_packing_goes_by_the_bytes_not_by_the_name(tmp_path: Path) -> None:
    save(CAPTURE, tmp_path / "a.jsonl.gz")
    (tmp_path / "a.jsonl.gz").rename(tmp_path / "a.txt")
    assert load_all(str(tmp_path / "a.txt")) == [CAPTURE]
    (tmp_path / "b.gz").write_bytes(TEXT)
    assert load_all(tmp_path / "b.gz") == [CAPTURE]


def test_the_same_capture_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.jsonl.gz", "b.jsonl.gz"):
        save(CAPTURE, tmp_path / name)
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()


def test_files_in_several_parts_read_as_one() -> None:
    assert loads_all(
        gzip.compress(TEXT[:100]) + gzip.compress(b"") + gzip.compress(TEXT[100:]) + b"\0" * 9, "f"
    ) == [CAPTURE]
    assert loads_all(zstandard.compress(TEXT[:100]) + zstandard.compress(TEXT[100:]), "f") == [CAPTURE]


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_a_packed_file_cut_off_keeps_what_it_held(kind: str) -> None:
    lines = [json.dumps({"data": random.Random(at).randbytes(4000).hex()}) for at in range(200)]  # noqa: S311
    text = "\n".join(['{"harmony_capture": 1, "endpoint": "chat"}', *lines]).encode()
    packed = gzip.compress(text) if kind == "gzip" else zstandard.compress(text)
    capture = loads(packed[: len(packed) // 2], "f")
    assert 0 < len(capture.events) < 200
    assert capture.events == [Event(json.loads(line)["data"]) for line in lines[: len(capture.events)]]
    assert capture.notes[-1] == f"The {kind} file is truncated; the content up to that point was read."


def test_bytes_after_a_packed_file_are_told() -> None:
    capture = loads(gzip.compress(TEXT) + b"trailing", "f")
    assert capture.notes == ("8 bytes after the gzip content were ignored.",)


def test_damaged_packed_files_are_refused() -> None:
    packed = bytearray(gzip.compress(TEXT))
    packed[-6] ^= 0xFF
    assert refusal(bytes(packed)).startswith("f: the gzip file is damaged (")
    packed = bytearray(zstandard.ZstdCompressor(write_checksum=True).compress(TEXT))
    packed[-1] ^= 0xFF
    assert refusal(bytes(packed)).startswith("f: the zstd file is damaged (")
    assert refusal(b"\x28\xb5\x2f\xfd" + b"\xff" * 100).startswith("f: the zstd file is damaged (")
    assert refusal(b"\x1f\x8b") == f"f: the file is empty; use {FORMATS}"


def bomb(blocks: int) -> bytes:
    """One gzip member of `blocks` times 16 MiB of zeros, from one block that can stand many times."""
    packer = zlib.compressobj(wbits=-15)
    block = packer.compress(bytes(16 * 2**20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return b"\x1f\x8b\x08" + bytes(7) + block * blocks


@pytest.mark.slow
def test_a_gzip_bomb_is_refused_at_the_limit() -> None:
    content = bomb(64)
    assert len(content) < 2 * 2**20
    assert refusal(content) == (
        f"f: larger than the limit of {300 * len(content) / 2**20:g} MiB when decompressed; "
        "keep only the request you need"
    )


def test_a_zstd_bomb_is_refused_at_the_limit() -> None:
    packer = zstandard.ZstdCompressor().compressobj()
    content = b"".join([packer.compress(bytes(2**20)) for _ in range(64)]) + packer.flush()
    assert refusal(content, limit_bytes=2**22) == (
        "f: larger than the limit of 4 MiB when decompressed; keep only the request you need"
    )
    assert refusal(b"\x28\xb5\x2f\xfd\x80\xff\xff\xff\xff\xff" + b"\x00" * 50).startswith(
        "f: the zstd file is damaged ("
    )


def test_a_file_of_endless_parts_is_refused() -> None:
    assert (
        refusal(gzip.compress(b"") * 20_000)
        == "f: has more than 16,384 compressed parts; decompress it first"
    )


@pytest.mark.slow
def test_two_hundred_megabytes_of_text_read() -> None:
    lines = [b'{"harmony_capture": 1, "endpoint": "chat"}', *[b'{"data": "%s"}' % (b"x" * 10**6)] * 200]
    content = b"\n".join(lines)
    assert len(content) > 200 * 10**6
    capture = loads(content, "f")
    assert len(capture.events) == 200


@pytest.mark.slow
def test_two_hundred_megabytes_of_anything_else_are_refused() -> None:
    for piece in (b"Dear diary, ", b"[", b'{"a": ', b"\xff\x00\x01\x02", b"1 2 x "):
        assert refusal(piece * (200 * 10**6 // len(piece))).startswith("f")


def test_a_file_over_the_limit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(TEXT)
    with pytest.raises(CaptureError) as refused:
        load_all(path, limit_bytes=len(TEXT) - 1)
    assert str(refused.value).startswith(f"{path}: larger than the limit of ")
    assert str(refused.value).endswith("MiB; keep only the request you need")
    assert load_all(path, limit_bytes=len(TEXT)) == [CAPTURE]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("gone.jsonl", "{}: no such file; check the name"),
        (".", "{}: is a folder; pass a file in it, or use `scan`"),
        ("a.jsonl/b", "{}: cannot be read (Not a directory); check the name and the disk"),
        ("\0", "{}: cannot be read (embedded null byte); check the name and the disk"),
        ("x" * 300, "{}: cannot be read (File name too long); check the name and the disk"),
    ],
)
def test_what_the_disk_refuses_is_told_with_the_path(tmp_path: Path, name: str, sentence: str) -> None:
    (tmp_path / "a.jsonl").write_bytes(TEXT)
    path = tmp_path / name
    with pytest.raises(StoreError) as refused:
        load_all(path)
    assert str(refused.value) == sentence.format(path)


# --- writing


def test_saving_replaces_a_file_only_when_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    save(CAPTURE, path)
    broken = Capture(header=HEADER, events=[Event("a"), Event(object())])  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        save(broken, path)
    assert load_all(path) == [CAPTURE]
    assert [file.name for file in tmp_path.iterdir()] == ["a.jsonl"]


@pytest.mark.parametrize("name", ["no/such/folder.jsonl", "", "\0.jsonl", "x" * 300])
def test_saving_where_the_disk_refuses_is_told(tmp_path: Path, name: str) -> None:
    with pytest.raises(
        StoreError, match=r"cannot be written \(.+\); choose another path or free disk space$"
    ):
        save(CAPTURE, f"{tmp_path}/{name}")
    assert list(tmp_path.iterdir()) == []


def test_a_replaced_file_keeps_its_mode_and_its_links(tmp_path: Path) -> None:
    path, link = tmp_path / "report.md", tmp_path / "latest.md"
    path.write_text("before")
    path.chmod(0o640)
    link.symlink_to(path)
    with replacing(link, private=False) as file:
        file.write(b"after")
    assert link.is_symlink()
    assert path.read_text() == "after"
    assert path.stat().st_mode & 0o777 == 0o640


def test_writers_of_one_path_do_not_mix_and_nothing_beside_it_is_touched(tmp_path: Path) -> None:
    path, link, part_file, precious = (
        tmp_path / name for name in ("a.jsonl", "l", "a.jsonl.part", "precious")
    )
    part_file.write_text("mine")
    precious.write_text("keep")
    link.symlink_to(precious)
    (tmp_path / "b.jsonl.part").symlink_to(precious)
    save(CAPTURE, tmp_path / "b.jsonl")
    with replacing(path) as first:
        first.write(b"first, ")
        with replacing(path) as second:
            second.write(b"second")
        assert path.read_bytes() == b"second"
        first.write(b"whole")
    assert path.read_bytes() == b"first, whole"
    assert (part_file.read_text(), precious.read_text()) == ("mine", "keep")
    assert not (tmp_path / "b.jsonl").is_symlink()
    assert {file.name for file in tmp_path.iterdir()} == {
        *("a.jsonl", "a.jsonl.part", "b.jsonl", "b.jsonl.part", "l", "precious")
    }


def test_a_pipe_is_written_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with replacing(path) as file:
        file.write(b"report")
    assert os.read(reader, 100) == b"report"
    os.close(reader)
    assert path.is_fifo()


def test_a_growing_capture_can_be_read_at_any_time(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with open_writer(path, HEADER) as writer:
        assert load_all(path) == [Capture(header=HEADER, events=[])]
        writer.write([])
        writer.write(CAPTURE.events[:1])
        assert load_all(path) == [Capture(header=HEADER, events=CAPTURE.events[:1])]
        writer.write(CAPTURE.events[1:])
        assert CAPTURE.end is not None
        writer.end(CAPTURE.end)
        with pytest.raises(StoreError, match="cannot be written"):
            writer.write(CAPTURE.events)
    assert path.read_bytes() == TEXT


def test_a_recording_never_writes_over_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("kept")
    with pytest.raises(StoreError) as refused:
        open_writer(path, HEADER)
    assert str(refused.value) == f"{path}: file already exists; choose another name"
    assert path.read_text() == "kept"


def test_a_growing_capture_is_not_packed_and_needs_its_folder(tmp_path: Path) -> None:
    with pytest.raises(
        StoreError, match=r"a recording cannot be compressed while it grows; use a name that ends in .jsonl$"
    ):
        open_writer(tmp_path / "a.jsonl.gz", HEADER)
    with pytest.raises(StoreError, match=r"cannot be written \(No such file or directory\)"):
        open_writer(tmp_path / "no" / "a.jsonl", HEADER)


def test_a_full_disk_is_told_in_one_sentence() -> None:
    path = Path("/dev/full")
    with path.open("wb", buffering=0) as file, pytest.raises(StoreError) as refused:
        CaptureWriter(file, path, HEADER)
    assert str(refused.value) == (
        "/dev/full: cannot be written (No space left on device); choose another path or free disk space"
    )


FILLS_UP = """
import resource, sys
from inspector.capture.capture import Endpoint, Event, Header
from inspector.capture.errors import StoreError
from inspector.files.store import open_writer
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
try:
    with open_writer(sys.argv[1], Header(endpoint=Endpoint.CHAT)) as writer:
        for number in range(10_000):
            writer.write([Event(f"event {number}", float(number))])
except StoreError as error:
    print(error)
"""


def test_a_disk_that_fills_up_keeps_the_whole_lines_written_before(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    printed = subprocess.run(
        [sys.executable, "-B", "-c", FILLS_UP, str(path)],
        capture_output=True,
        text=True,
        check=True,
        cwd=FIXTURES.parent,
    )
    assert (
        printed.stdout
        == f"{path}: cannot be written (File too large); choose another path or free disk space\n"
    )
    assert printed.stderr == ""
    capture = load(path)
    assert len(capture.events) > 100
    assert [event.data for event in capture.events] == [f"event {at}" for at in range(len(capture.events))]


# --- the built-in captures


def test_the_most_telling_captures_come_first() -> None:
    rows = builtin()
    assert [row.name for row in rows[:2]] == [
        "chat-tool-call-leak-vllm-0.14.1",
        "chat-unexpected-token-swallowed-vllm-0.32.0",
    ]
    files = sorted(path.name for path in FIXTURES.iterdir() if ".jsonl" in path.name)
    assert sorted(row.path.name for row in rows) == files


@pytest.mark.parametrize("row", builtin(), ids=lambda row: row.name)
def test_a_built_in_capture_is_what_its_row_says(row: Builtin) -> None:
    capture = load(row.path)
    assert capture.header.endpoint is row.endpoint
    assert capture.header.server_version == row.server_version
    assert row.name.endswith(f"-vllm-{row.server_version}")
    assert row.name.startswith(f"{row.endpoint}-")
    assert inspect(capture).verdict.level is row.verdict
    assert "\n" not in row.title + row.shows
    assert capture.notes == ()
    assert capture.end is not None
    times = [event.at_s for event in capture.events if event.at_s is not None]
    assert len(times) == len(capture.events)
    assert times == sorted(times)


@pytest.mark.parametrize("row", builtin(), ids=lambda row: row.name)
def test_the_tokens_of_a_built_in_capture_are_its_script_in_steps_of_its_row(row: Builtin) -> None:
    capture = load(row.path)
    steps = [
        choice["token_ids"]
        for event in capture.events
        if event.data != "[DONE]"
        for choice in json.loads(event.data).get("choices", [])
        if choice.get("token_ids")
    ]
    ids = [token for step in steps for token in step]
    script = capture.header.script
    if script is None:  # recorded by hand: nobody but the server says what was sampled
        assert capture.header.source == "live request"
    else:
        assert ids == list(script[: len(ids)])
    if steps:
        assert Counter(map(len, steps[:-1])).most_common(1)[0][0] in {1, row.tokens_per_step}
        assert max(map(len, steps[1:])) == row.tokens_per_step


def test_without_a_checkout_there_are_none_and_a_damaged_index_is_told(tmp_path: Path) -> None:
    assert builtin(tmp_path) == []
    for text in ("[[capture]]\nfile = 1", "what", "capture = 1", '[[capture]]\nfile = "a"'):
        (tmp_path / "index.toml").write_text(text)
        with pytest.raises(StoreError, match=r"index\.toml: .*; restore the index of .* from git"):
            builtin(tmp_path)


def test_nothing_of_the_machine_that_recorded_them_is_in_the_fixtures() -> None:
    for path in FIXTURES.rglob("*.jsonl*"):
        text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        assert b"/home/" not in text


def test_load_rejects_a_file_of_several_captures(tmp_path: Path) -> None:
    content = b'data: {"object": "chat.completion.chunk", "choices": []}\n\ndata: [DONE]\n\n' * 2
    path = tmp_path / "two.txt"
    path.write_bytes(content)
    assert len(load_all(path)) == len(loads_all(content, "two")) == 2
    with pytest.raises(CaptureError, match="holds 2 captures; use load_all"):
        load(path)
    with pytest.raises(CaptureError, match="holds 2 captures"):
        loads(content, "two")


@pytest.mark.parametrize(("call", "words"), [(load, "loads reads content"), (loads, "use json.dumps")])
def test_an_argument_of_another_type_is_one_sentence(call: Any, words: str) -> None:
    with pytest.raises(InspectorError, match=words):
        call({"a": 1})
