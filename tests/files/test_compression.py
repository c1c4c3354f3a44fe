import gzip
import io
from pathlib import Path

import pytest
import zstandard

from inspector.capture.errors import StoreError
from inspector.files.compression import decompress

LOG = gzip.decompress((Path(__file__).parents[2] / "fixtures" / "logs" / "vllm-0.13.0.log.gz").read_bytes())


def zstd(content: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(content)


def read(content: bytes) -> bytes:
    # A small buffer, so that what is looked at ahead is not all there is.
    return decompress(io.BufferedReader(io.BytesIO(content), 512), "x.log").read()


@pytest.mark.parametrize(
    "packed",
    [
        LOG,
        gzip.compress(LOG),
        zstd(LOG),
        gzip.compress(LOG[:1000]) + gzip.compress(LOG[1000:]),
        zstd(LOG[:1000]) + zstd(LOG[1000:]),
        gzip.compress(zstd(LOG)),
    ],
    ids=["plain", "gzip", "zstd", "two gzip members", "two zstd frames", "one in the other"],
)
def test_a_log_is_read_whatever_it_is_packed_in(packed: bytes) -> None:
    assert read(packed) == LOG


def test_nothing_is_read_as_nothing() -> None:
    assert read(b"") == b""


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_a_damaged_file_is_told_with_its_name(pack: object) -> None:
    assert callable(pack)
    content = bytearray(pack(LOG))
    content[len(content) // 2] ^= 255
    with pytest.raises(StoreError, match=r"x\.log: the (gzip|zstd) file is damaged"):
        read(bytes(content))


def test_a_gzip_file_that_was_cut_is_told() -> None:
    with pytest.raises(StoreError, match="the gzip file is damaged"):
        read(gzip.compress(LOG)[:-20])
