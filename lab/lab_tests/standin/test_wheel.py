"""Unpacking an official wheel: kept files and hash checks."""

import base64
import hashlib
import zipfile
from datetime import date
from pathlib import Path

import pytest

from harmony_lab.install import parts_of, unpack
from harmony_lab.requirements import front_end_requirements
from inspector.capture.errors import LabError

FILES = {
    "vllm/__init__.py": b"1",
    "vllm/_C.abi3.so": b"large",
    "vllm/v1/engine/__init__.py": b"2",
    "vllm/third_party/kernel.cuh": b"large",
    "vllm-9.9.9.data/scripts/tool": b"3",
    "vllm/vllm-rs": b"binary",
    "vllm-9.9.9.dist-info/METADATA": b"Name: vllm\n",
    "../outside.py": b"4",
}


def wheel(folder: Path, **changed: str) -> Path:
    path = folder / "vllm-9.9.9-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in FILES.items():
            archive.writestr(zipfile.ZipInfo(name, (2026, 11, 2, 10, 0, 0)), data)
        rows = []
        for name, data in FILES.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            rows.append(f"{name},sha256={changed.get(name, digest)},{len(data)}")
        archive.writestr("vllm-9.9.9.dist-info/RECORD", "\n".join([*rows, "vllm-9.9.9.dist-info/RECORD,,"]))
    return path


def test_unpack_keeps_python_and_rust_only(tmp_path: Path) -> None:
    parts = unpack(wheel(tmp_path), tmp_path / "parts")
    names = sorted(str(path.relative_to(parts.folder)) for path in parts.folder.rglob("*") if path.is_file())
    assert names == [
        "site/vllm-9.9.9.dist-info/METADATA",
        "site/vllm-9.9.9.dist-info/RECORD",
        "site/vllm/__init__.py",
        "site/vllm/v1/engine/__init__.py",
        "vllm-rs",
    ]
    assert parts.rust.stat().st_mode & 0o111
    assert parts.layouts.read_bytes() == b"2"
    assert parts.built == date(2026, 11, 2)
    assert parts_of(tmp_path / "parts") == parts


def test_unpack_rejects_a_wrong_hash(tmp_path: Path) -> None:
    broken = wheel(tmp_path, **{"vllm/__init__.py": "other"})
    with pytest.raises(LabError, match=r"vllm/__init__\.py does not match the wheel's RECORD"):
        unpack(broken, tmp_path / "parts")
    assert parts_of(tmp_path / "parts") is None


def test_unpack_of_other_files(tmp_path: Path) -> None:
    (tmp_path / "a.whl").write_bytes(b"no archive")
    with pytest.raises(LabError, match="cannot be unpacked"):
        unpack(tmp_path / "a.whl", tmp_path / "parts")


def test_front_end_requirements_without_gpu_packages() -> None:
    requirements = [
        "regex",
        "torch==2.9.0",
        "nvidia-cudnn-frontend==1",
        "flashinfer-python==0.5",
        "ray[cgraph]>=2.48",
    ]
    distributions, left_out = front_end_requirements([*requirements, "openai>=1.99"], version="0.14.1")
    assert distributions == ["regex", "openai>=1.99,<3", "mcp<2"]
    assert {"flashinfer-python", "nvidia-cudnn-frontend", "ray", "triton", "torchvision"} <= set(left_out)
    assert "torch" not in left_out
